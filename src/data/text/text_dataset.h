#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_stamp.h"
#include "base/split.h"
#include "data/text/text_pool.h"

namespace l0gm {

// Texts with their classes and split: the result of every source (catalogue, own files, generator).
//   const TextData data = load_texts(options);
//   for (const int64_t row : data.rows(Split::train)) use(data.texts.view(row), data.labels[row]);
struct TextData {
  std::string name;   // for messages and the run's record: "imdb", "mails.csv"
  std::string label;  // what is predicted: the name of the label's column
  std::vector<std::string> class_names;
  TextPool texts;
  std::vector<int32_t> labels;                     // [texts], numbers of classes; -1: unknown
  std::array<std::vector<int64_t>, 3> split_rows;  // by Split: row numbers of `texts`, ascending
  std::string training_rows;                       // SHA-256 of which rows are trained on
  std::vector<FileStamp> files;
  std::vector<std::string> planted;  // made data: the words that carry signal; else empty
  double bayes_auc = 0;              // made data: what the best possible model scores; else 0
  double bayes_nll = 0;
  int64_t empty_texts = 0;    // without a single byte
  int64_t invalid_texts = 0;  // with bytes that are not UTF-8; they are kept, tokenisers read U+FFFD there

  std::vector<int64_t>& rows(Split split) { return split_rows[static_cast<size_t>(split)]; }
  const std::vector<int64_t>& rows(Split split) const { return split_rows[static_cast<size_t>(split)]; }
};

// Fills in what follows from the others: training_rows and the counts of empty and invalid texts.
void finish(TextData& data);

}  // namespace l0gm
