#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "data/options.h"
#include "data/table/options.h"
#include "data/table/table_dataset.h"
#include "encode/table/schema.h"

namespace l0gm {

// The table that `data.*` names: a catalogue dataset, a made one, or the user's own csv / tsv files.
// `seed` is the run's seed: it picks one of adult's fixed splits. Drawn splits and made rows follow data.split.seed.
TableDataset load_table(const DataOptions& options, int64_t seed);

// train.csv, valid.csv and test.csv for peers: first column `row`, the row's number in the dataset, then the table's columns.
void export_split(const TableDataset& dataset, const std::filesystem::path& folder);

// The same and split.json beside them: label, classes, and which columns are used as what. That is derived from the schema, which
// is fitted to the training rows as in a run, and returned.
Schema export_table(const TableDataset& dataset, const TableOptions& options,
                    const std::map<std::string, ColumnOptions>& column_options, const std::map<std::string, std::string>& types,
                    const std::filesystem::path& folder);

// The user's data.delimiter, or the default of the source.
char delimiter_of(const DataOptions& options);

}  // namespace l0gm
