#pragma once

#include <cstdint>
#include <filesystem>

#include "data/options.h"
#include "data/table/encode/schema.h"
#include "data/table/table.h"

namespace l0gm {

// The table that `data.*` names: a catalogue dataset, a made one, or the user's own csv / tsv files.
// `seed` is the run's seed: it picks one of adult's fixed splits. Drawn splits and made rows follow data.split.seed.
TableDataset load_table(const DataOptions& options, int64_t seed);

// train.csv, valid.csv and test.csv for peers: first column `row`, the row's number in the dataset, then the table's columns.
// split.json beside them says what the columns are; write_split_json() adds it.
void export_split(const TableDataset& dataset, const std::filesystem::path& folder);
void write_split_json(const Schema& schema, const std::filesystem::path& folder);

// The user's data.delimiter, or the source's own.
char delimiter_of(const DataOptions& options);

}  // namespace l0gm
