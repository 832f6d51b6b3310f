#include "encode/text/word_counts.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/threads.h"
#include "encode/text/pipeline.h"
#include "encode/text/utf8.h"

namespace l0gm {
namespace {

constexpr int64_t longest_counted_word = 100;
using Counts = std::unordered_map<std::string, int64_t>;

// Gives each word a number instead of tokens: the tokenizer's own way through a text then yields the words.
class WordNumbers : public WordModel {
 public:
  explicit WordNumbers(std::vector<std::string>& words) : words_(words) {}
  void tokenize(std::string_view word, ModelWorkspace&, std::vector<int32_t>& ids) const override {
    const auto [found, is_new] = numbers_.try_emplace(std::string(word), static_cast<int32_t>(words_.size()));
    if (is_new) words_.push_back(found->first);
    ids.push_back(found->second);
  }

 private:
  std::vector<std::string>& words_;
  mutable std::unordered_map<std::string, int32_t> numbers_;  // used by one thread
};

void count_some(const std::vector<std::string_view>& texts, int64_t begin, int64_t end, Counts& counts, std::mutex& lock) {
  std::vector<std::string> words;
  TokenizerParts parts;
  parts.bert.emplace();
  parts.normalizer = std::make_unique<BertNormalizer>(*parts.bert);
  parts.splits.push_back(make_bert_split());
  parts.longest_word = longest_counted_word;
  parts.model = std::make_unique<WordNumbers>(words);
  const Pipeline pipeline(std::move(parts));
  std::vector<int32_t> numbers;
  std::vector<int64_t> found;
  for (int64_t i = begin; i < end; ++i) {
    numbers.clear();
    pipeline.encode(texts[static_cast<size_t>(i)], 0, numbers);
    found.resize(words.size());
    for (const int32_t number : numbers) ++found[static_cast<size_t>(number)];
  }
  const std::lock_guard hold(lock);
  for (size_t i = 0; i < words.size(); ++i) counts[std::move(words[i])] += found[i];
}

}  // namespace

std::vector<std::pair<std::string, int64_t>> count_words(const std::vector<std::string_view>& texts) {
  Counts counts;
  std::mutex lock;
  const auto count = static_cast<int64_t>(texts.size());
  const int64_t piece = std::max<int64_t>((count + thread_limit() - 1) / thread_limit(), 1);
  parallel_for(count, piece, [&](int64_t begin, int64_t end) { count_some(texts, begin, end, counts, lock); });
  std::vector<std::pair<std::string, int64_t>> result;
  for (auto& [word, times] : counts) {
    if (count_codes(word) <= longest_counted_word) result.emplace_back(word, times);
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace l0gm
