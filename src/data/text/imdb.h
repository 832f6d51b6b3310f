#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/text/text_dataset.h"

// The Large Movie Review Dataset: 25,000 reviews to train on and 25,000 to test, neg or pos. Texts stay as they are, `<br />`
// too. Rows are ordered by class and the review's number, first those to train on: tsv and archive give the same row numbers.
//   const TextData data = load_imdb(options.dir);
namespace l0gm {

// From a data folder or, where none has it, from its public address. Validation rows are those of imdb/valid.rows; where that
// file is not there, a tenth of each class is drawn, always the same.
TextData load_imdb(const std::string& folder);

// Its steps. A file that is wrong is a UserError that names line or member.
struct ImdbFiles {
  std::filesystem::path train, test;                // `label<TAB>text`, label 0 or 1; both empty: `archive`
  std::filesystem::path archive;                    // aclImdb/{train,test}/{neg,pos}/NUMBER_SCORE.txt
  std::optional<std::filesystem::path> valid_rows;  // rows of train, from 0, one a line
  // `label<TAB>number<TAB>score` of each row that valid_rows counts; only read for the archive. Without it those rows are taken
  // to be in order of label and number.
  std::optional<std::filesystem::path> train_ids;
};
TextData read_imdb(const ImdbFiles& files);

}  // namespace l0gm
