#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "data/text/text_dataset.h"
#include "data/text/token_cache.h"

// Texts for other tools.
//   write_texts("texts.tsv", data);                            // `l0gm data make`
//   export_texts(data, "folder");                              // `l0gm data export`
//   export_perturbed_texts(data, tokens, *tokenizer, seed, "folder");
namespace l0gm {

// All texts as one tsv file (a name that ends in .csv: csv) with the columns text, label, split; quoted where a text holds
// delimiters or line ends. Read again by data.source = tsv, data.text = text, data.label = label, data.split.column = split.
void write_texts(const std::filesystem::path& path, const TextData& data);

// train.jsonl, valid.jsonl and test.jsonl: {"row": number in the dataset, "label": …, "text": …}, bytes that are not UTF-8 as
// U+FFFD; and split.json beside them: label and classes.
void export_texts(const TextData& data, const std::filesystem::path& folder);

// The test texts under each condition that changes tokens (data/text/perturb.h), as token ids:
// FOLDER/perturbed/test-<condition>.jsonl with {"row": …, "label": …, "masked": [positions], "ids": [with the mask token there]},
// and FOLDER/perturbed.json:
// {"seed": …, "tokenizer": its SHA-256, "mask": id, "conditions": {"missing-0.1": {"file": …, "sha256": …}, …}}, which is
// returned. Noise and quantisation act on embeddings and have no file.
nlohmann::json export_perturbed_texts(const TextData& data, const Tokens& tokens, const Tokenizer& tokenizer, uint64_t seed,
                                      const std::filesystem::path& folder);

}  // namespace l0gm
