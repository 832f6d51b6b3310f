#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "data/text/text_dataset.h"

namespace l0gm {

// A review of the archive; the lists below have those to train on first, each part ordered by class and number.
struct ImdbReview {
  bool train = false;
  int32_t label = 0;  // 1: pos
  int64_t number = 0;
};

// Appends texts and labels of every aclImdb/{train,test}/{neg,pos}/NUMBER_SCORE.txt; other members are ignored. UserError when
// a review is there twice or there is none in one of the four folders.
std::vector<ImdbReview> append_imdb_archive(TextData& data, const std::filesystem::path& path);

// Rows counted as in a file of `label<TAB>number<TAB>score`, one line for each training review, as rows of the archive.
std::vector<int64_t> rows_of_ids(const std::vector<ImdbReview>& reviews, const std::filesystem::path& ids,
                                 const std::vector<int64_t>& rows);

}  // namespace l0gm
