#include "compact/text/checked_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/container.h"

namespace l0gm {

namespace {

// In float64 and on a processor each text costs: fewer of them for a large encoder.
constexpr int64_t most_checked = 200, least_checked = 40;
constexpr double most_work = 1.2e12;

int64_t texts_to_check(const TextRun& run) {
  const double each = std::max(1.0, work_of_layers(run.text.encoder, run.text.mean_tokens));
  return static_cast<int64_t>(
      std::clamp(most_work / each, static_cast<double>(least_checked), static_cast<double>(most_checked)));
}

// Rows of the validation split from the shortest text to the longest, evenly.
std::vector<int64_t> spread_over_lengths(const TextDataset& dataset, int64_t wanted) {
  std::vector<int64_t> sorted = dataset.data.rows(Split::valid), some;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](int64_t a, int64_t b) { return dataset.tokens.length(a) < dataset.tokens.length(b); });
  const int64_t size = std::ssize(sorted), count = std::min(size, wanted);
  for (int64_t i = 0; i < count; ++i) some.push_back(sorted[static_cast<size_t>(count > 1 ? i * (size - 1) / (count - 1) : 0)]);
  return some;
}

std::vector<std::pair<std::string, std::string>> made_texts(int64_t max_tokens) {
  std::string long_text, long_word;
  for (int64_t i = 0; i < 4 * max_tokens; ++i) {
    long_text += fmt::format("word {} of many, ", i);
    long_word += "abcdefgh";
  }
  return {{"without a byte", ""},
          {"of blanks", " \t\r\n  "},
          {"longer than max_tokens", long_text},
          {"of one long word", long_word},
          {"of one letter", "a"},
          {"with accents and ligatures",
           "E\xCC\x81"
           "cole na\xC3\xAFve \xEF\xAC\x81ne stra\xC3\x9F"
           "e \xC4\xB0stanbul"},
          {"in several scripts",
           "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E \xD8\xA7\xD9\x84\xD8\xB9\xD8\xB1\xD8\xA8\xD9\x8A\xD8\xA9 "
           "\xE0\xA4\xB9\xE0\xA4\xBF\xE0\xA4\xA8\xE0\xA5\x8D\xE0\xA4\xA6\xE0\xA5\x80 \xED\x95\x9C\xEA\xB5\xAD"},
          {"with signs and joined emoji",
           "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x94\xAC \xE2\x82\xAC 5,00 \xE2\x80\x94 \xC2\xBDx\xC2\xB2"},
          {"with the names of special tokens", "[CLS] a [MASK] b [SEP] <s> c </s> [PAD]"},
          {"with control characters", std::string("a\0b\x01\x7F\xEF\xBB\xBF", 8)},
          {"that is not UTF-8", "caf\xE9 \xFF\xFE \xED\xA0\x80"}};
}

}  // namespace

double work_of_layers(const TransformerConfig& encoder, double tokens) {
  return tokens * static_cast<double>(encoder.parameters() - encoder.vocabulary * encoder.hidden);
}

CheckedTexts::CheckedTexts(TextRun& run) {
  const TextDataset& dataset = run.dataset();
  for (const int64_t row : spread_over_lengths(dataset, texts_to_check(run))) {
    texts_.add(dataset.data.texts.view(row));
    names_.push_back(fmt::format("validation text {}", row));
  }
  for (const auto& [name, text] : made_texts(run.text.max_tokens)) {
    texts_.add(text);
    names_.push_back(fmt::format("the made text {}", name));
  }
  tokens_ = tokenize(texts_, *run.text.tokenizer, run.text.max_tokens);
  rows_.resize(static_cast<size_t>(texts_.size()));
  std::iota(rows_.begin(), rows_.end(), int64_t{0});
}

std::string CheckedTexts::beginning(int64_t row) const { return fit_for_a_message(std::string(texts_.view(row).substr(0, 200))); }

}  // namespace l0gm
