#pragma once

#include "data/options.h"
#include "data/text/text_dataset.h"

namespace l0gm {

// The user's own csv, tsv or jsonl files: data.train, data.text, data.label; split by shares (stratified), a column or files.
TextData load_own_texts(const DataOptions& options);

}  // namespace l0gm
