#include "data/text/imdb.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "base/line_reader.h"
#include "base/log.h"
#include "base/text.h"
#include "data/catalogue.h"
#include "data/fetch.h"
#include "data/splits.h"
#include "data/text/imdb_archive.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
constexpr int64_t reviews_a_part = 25000;

void stamp_file(TextData& data, const fs::path& path) { data.files.push_back({path, sha256_file(path)}); }

void append_imdb_lines(TextData& data, const fs::path& path) {
  LineReader reader(path);
  for (std::string_view line; reader.next(line);) {
    const bool labelled = line.size() >= 2 && (line[0] == '0' || line[0] == '1') && line[1] == '\t';
    if (!labelled) {
      throw UserError(fmt::format("{} line {}: found '{}', wanted a label 0 or 1, a tab and the review. Restore the file.",
                                  path.string(), reader.line(), line.substr(0, 20)));
    }
    data.texts.add(line.substr(2));
    data.labels.push_back(line[0] - '0');
  }
}

// The rows of valid.rows, each below `limit` and there once.
std::vector<int64_t> read_valid_rows(const fs::path& path, int64_t limit) {
  LineReader reader(path);
  std::vector<bool> taken(static_cast<size_t>(limit), false);
  std::vector<int64_t> rows;
  for (std::string_view line; reader.next(line);) {
    const std::optional<int64_t> row = parse_integer(trim(line));
    if (!row || *row < 0 || *row >= limit || taken[static_cast<size_t>(*row)]) {
      throw UserError(
          fmt::format("{} line {}: found '{}', wanted the number of a training review, 0 to {}, each once. Restore the file, or "
                      "remove it to have validation reviews drawn.",
                      path.string(), reader.line(), line.substr(0, 40), limit - 1));
    }
    taken[static_cast<size_t>(*row)] = true;
    rows.push_back(*row);
  }
  return rows;
}

void split_training_rows(TextData& data, int64_t train, const std::optional<std::vector<int64_t>>& valid) {
  std::vector<int64_t>& kept = data.rows(Split::train);
  if (!valid) {
    const std::vector<double> shares = {0.1};
    auto parts = stratified(std::span(data.labels).first(static_cast<size_t>(train)), shares, 0);
    kept = std::move(parts[0]);
    data.rows(Split::valid) = std::move(parts[1]);
    return;
  }
  std::vector<int64_t>& held_out = data.rows(Split::valid) = *valid;
  std::sort(held_out.begin(), held_out.end());
  std::vector<int64_t> all(static_cast<size_t>(train));
  std::iota(all.begin(), all.end(), 0);
  kept.clear();
  std::set_difference(all.begin(), all.end(), held_out.begin(), held_out.end(), std::back_inserter(kept));
}

fs::path found_file(const CatalogueEntry& entry, const std::string& path, const std::string& folder) {
  const auto found = obtain_file(catalogue_file(entry, path), folder, FetchOptions::from_environment());
  return found.value_or(fs::path());
}

void check_imdb_counts(const TextData& data) {
  const auto train = static_cast<int64_t>(data.rows(Split::train).size() + data.rows(Split::valid).size());
  const auto test = static_cast<int64_t>(data.rows(Split::test).size());
  if (train == reviews_a_part && test == reviews_a_part) return;
  throw UserError(fmt::format("imdb: found {} reviews to train on and {} to test, wanted {} of each. Fetch it again.", train,
                              test, reviews_a_part));
}

}  // namespace

TextData read_imdb(const ImdbFiles& files) {
  TextData data;
  data.name = "imdb";
  data.label = "sentiment";
  data.class_names = {"neg", "pos"};
  std::optional<std::vector<int64_t>> valid;
  int64_t train = 0;
  if (files.train.empty()) {
    const std::vector<ImdbReview> reviews = append_imdb_archive(data, files.archive);
    train = std::count_if(reviews.begin(), reviews.end(), [](const ImdbReview& review) { return review.train; });
    stamp_file(data, files.archive);
    if (files.valid_rows) valid = read_valid_rows(*files.valid_rows, train);
    if (valid && files.train_ids) {
      valid = rows_of_ids(reviews, *files.train_ids, *valid);
      stamp_file(data, *files.train_ids);
    }
  } else {
    append_imdb_lines(data, files.train);
    train = data.texts.size();
    append_imdb_lines(data, files.test);
    stamp_file(data, files.train);
    stamp_file(data, files.test);
    if (files.valid_rows) valid = read_valid_rows(*files.valid_rows, train);
  }
  if (files.valid_rows) stamp_file(data, *files.valid_rows);
  split_training_rows(data, train, valid);
  data.rows(Split::test).resize(static_cast<size_t>(data.texts.size() - train));
  std::iota(data.rows(Split::test).begin(), data.rows(Split::test).end(), train);
  if (!valid) {
    data.name = "imdb/drawn";
    log_info(
        fmt::format("imdb: the list of validation reviews (imdb/valid.rows) is not there; drew {}, stratified. Figures are not "
                    "comparable row by row with those of the list.",
                    data.rows(Split::valid).size()));
  }
  finish(data);
  return data;
}

TextData load_imdb(const std::string& folder) {
  const CatalogueEntry& entry = catalogue_entry("imdb");
  const CatalogueFile& archive = catalogue_file(entry, "imdb/aclImdb_v1.tar.gz");
  ImdbFiles files;
  if (is_replaced(entry, archive, folder)) {
    files.train = found_file(entry, "imdb/train.tsv", folder);
    files.test = found_file(entry, "imdb/test.tsv", folder);
  } else {
    files.archive = found_file(entry, archive.path, folder);
  }
  files.valid_rows = obtain_file(catalogue_file(entry, "imdb/valid.rows"), folder, {});
  files.train_ids = obtain_file(catalogue_file(entry, "imdb/train.ids.tsv"), folder, {});
  TextData data = read_imdb(files);
  check_imdb_counts(data);
  return data;
}

}  // namespace l0gm
