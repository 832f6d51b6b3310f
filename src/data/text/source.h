#pragma once

#include "data/options.h"
#include "data/text/text_dataset.h"

namespace l0gm {

// Whether `data.*` names texts: a catalogue dataset of texts, or csv, tsv, jsonl with data.text.
bool names_texts(const DataOptions& options);

// The texts that `data.*` names: a catalogue dataset, a made one, or the user's own csv, tsv, jsonl files. Drawn splits and made
// texts follow data.split.seed. There are training and validation rows, two classes at least, and no class that training lacks.
TextData load_texts(const DataOptions& options);

}  // namespace l0gm
