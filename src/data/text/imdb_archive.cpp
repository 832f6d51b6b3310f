#include "data/text/imdb_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/line_reader.h"
#include "base/text.h"
#include "data/text/tar.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr int64_t longest_review = 64 << 20, most_bytes = int64_t{1} << 32;  // of all reviews: fifty times the real ones

auto order_of(const ImdbReview& review) { return std::tuple(!review.train, review.label, review.number); }

std::optional<int64_t> digits(std::string_view text) {
  const bool plain = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
  return plain ? parse_integer(text) : std::nullopt;
}

// aclImdb/train/neg/12_3.txt; "./" before it is allowed. Nothing for any other name.
std::optional<ImdbReview> review_called(std::string_view name) {
  if (name.starts_with("./")) name.remove_prefix(2);
  constexpr std::string_view top = "aclImdb/", ending = ".txt";
  if (!name.starts_with(top) || !name.ends_with(ending)) return std::nullopt;
  name.remove_prefix(top.size());
  name.remove_suffix(ending.size());
  for (const auto& [folder, train, label] : {std::tuple("train/neg/", true, 0), std::tuple("train/pos/", true, 1),
                                             std::tuple("test/neg/", false, 0), std::tuple("test/pos/", false, 1)}) {
    if (!name.starts_with(folder)) continue;
    const std::string_view file = name.substr(std::string_view(folder).size());
    const size_t middle = file.find('_');
    if (middle == std::string_view::npos || !digits(file.substr(middle + 1))) return std::nullopt;
    const std::optional<int64_t> number = digits(file.substr(0, middle));
    return number ? std::optional(ImdbReview{train, label, *number}) : std::nullopt;
  }
  return std::nullopt;
}

void check_folders(const std::vector<ImdbReview>& reviews, const std::filesystem::path& path) {
  for (const bool train : {true, false}) {
    for (const int32_t label : {0, 1}) {
      const bool found = std::any_of(reviews.begin(), reviews.end(),
                                     [&](const ImdbReview& review) { return review.train == train && review.label == label; });
      if (found) continue;
      throw UserError(fmt::format("{} has no review aclImdb/{}/{}/NUMBER_SCORE.txt. Is it the Large Movie Review archive?",
                                  path.string(), train ? "train" : "test", label == 1 ? "pos" : "neg"));
    }
  }
}

}  // namespace

std::vector<ImdbReview> append_imdb_archive(TextData& data, const std::filesystem::path& path) {
  TarReader tar(path);
  TextPool read;
  std::vector<ImdbReview> found;
  while (tar.next()) {
    const std::optional<ImdbReview> review = review_called(tar.name());
    if (!review) continue;
    read.add(tar.content(longest_review));
    found.push_back(*review);
    if (read.bytes() > most_bytes)
      throw UserError(fmt::format("the reviews in {} have more than 4 GiB: it is not the real archive.", path.string()));
  }
  check_folders(found, path);
  std::vector<int64_t> order(found.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return order_of(found[static_cast<size_t>(a)]) < order_of(found[static_cast<size_t>(b)]);
  });
  std::vector<ImdbReview> reviews;
  data.texts.reserve(read.size(), read.bytes());
  for (const int64_t place : order) {
    const ImdbReview& review = found[static_cast<size_t>(place)];
    if (!reviews.empty() && order_of(reviews.back()) == order_of(review)) {
      throw UserError(fmt::format("{}: review {} of {}/{} is there twice. Fetch the archive again.", path.string(), review.number,
                                  review.train ? "train" : "test", review.label == 1 ? "pos" : "neg"));
    }
    reviews.push_back(review);
    data.texts.add(read.view(place));
    data.labels.push_back(review.label);
  }
  return reviews;
}

std::vector<int64_t> rows_of_ids(const std::vector<ImdbReview>& reviews, const std::filesystem::path& ids,
                                 const std::vector<int64_t>& rows) {
  LineReader reader(ids);
  std::vector<int64_t> row_of_line;
  for (std::string_view line; reader.next(line);) {
    const size_t tab = line.find('\t');
    const std::string_view rest = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
    const std::optional<int64_t> label = digits(line.substr(0, tab)), number = digits(rest.substr(0, rest.find('\t')));
    const ImdbReview wanted{true, label == 1 ? 1 : 0, number.value_or(-1)};
    const auto place = std::lower_bound(reviews.begin(), reviews.end(), wanted,
                                        [](const ImdbReview& a, const ImdbReview& b) { return order_of(a) < order_of(b); });
    if (!label || *label > 1 || place == reviews.end() || order_of(*place) != order_of(wanted)) {
      throw UserError(
          fmt::format("{} line {}: found '{}', wanted label (0 or 1), number and score of a training review of the "
                      "archive. Restore the file, or remove it.",
                      ids.string(), reader.line(), line.substr(0, 40)));
    }
    row_of_line.push_back(place - reviews.begin());
  }
  std::vector<int64_t> mapped;
  for (const int64_t row : rows) {
    if (row >= static_cast<int64_t>(row_of_line.size())) {
      throw UserError(fmt::format("{} has {} lines, and validation row {} is wanted. Restore the file, or remove it.",
                                  ids.string(), row_of_line.size(), row));
    }
    mapped.push_back(row_of_line[static_cast<size_t>(row)]);
  }
  std::sort(mapped.begin(), mapped.end());
  if (std::adjacent_find(mapped.begin(), mapped.end()) != mapped.end())
    throw UserError(fmt::format("{} names a review twice. Restore the file, or remove it.", ids.string()));
  return mapped;
}

}  // namespace l0gm
