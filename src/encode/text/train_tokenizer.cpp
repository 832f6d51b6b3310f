#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "encode/text/folder_files.h"
#include "encode/text/tokenizer.h"
#include "encode/text/utf8.h"
#include "encode/text/word_counts.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr std::string_view continuing = "##";
constexpr size_t most_characters = 1000;
constexpr int64_t least_vocabulary = 100, most_vocabulary = 1 << 20, least_count = 2;

// Learns tokens by merging the pair that stands side by side most often, as the reference's WordPieceTrainer does.
class WordPieceTrainer {
 public:
  WordPieceTrainer(const std::vector<std::pair<std::string, int64_t>>& words, int64_t size) : size_(static_cast<size_t>(size)) {
    for (const char* name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) token_id(name);
    add_characters(words);
    for (const auto& [word, count] : words) add_word(word, count);
    for (size_t i = 0; i < words_.size(); ++i) count_pairs(static_cast<uint32_t>(i));
  }

  std::string learn() {
    for (const auto& [pair, found] : pairs_) queue_.push({found.count, pair, this});
    while (tokens_.size() < size_ && !queue_.empty()) {
      const Candidate best = queue_.top();
      queue_.pop();
      const int64_t count = pairs_[best.pair].count;
      if (count != best.count) {  // other merges took some of it
        if (count >= least_count) queue_.push({count, best.pair, this});
        continue;
      }
      if (count < least_count) break;
      merge(best.pair);
    }
    std::string lines;
    for (const std::string& token : tokens_) lines += token + '\n';
    return lines;
  }

 private:
  struct Word {
    int64_t count;
    std::vector<int32_t> symbols;
  };
  struct Pair {
    int64_t count = 0;
    std::vector<uint32_t> words;  // where it was seen; it may have been merged since
  };
  struct Candidate {
    int64_t count;
    uint64_t pair;
    const WordPieceTrainer* trainer;
    // The most frequent first; of equals the one whose text comes first.
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      return pair != other.pair && trainer->texts(pair) > trainer->texts(other.pair);
    }
  };

  static uint64_t pair_key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  static int32_t left_of(uint64_t pair) { return static_cast<int32_t>(pair >> 32); }
  static int32_t right_of(uint64_t pair) { return static_cast<int32_t>(pair & 0xFFFFFFFFu); }
  std::pair<std::string_view, std::string_view> texts(uint64_t pair) const {
    return {tokens_[static_cast<size_t>(left_of(pair))], tokens_[static_cast<size_t>(right_of(pair))]};
  }

  int32_t token_id(const std::string& text) {
    const auto [found, is_new] = ids_.try_emplace(text, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(text);
    return found->second;
  }

  // The most frequent characters, each in its two forms.
  void add_characters(const std::vector<std::pair<std::string, int64_t>>& words) {
    std::map<std::string, int64_t> counts;
    for (const auto& [word, count] : words) {
      for (size_t i = 0; i < word.size(); i += code_size(word[i])) counts[word.substr(i, code_size(word[i]))] += count;
    }
    std::vector<std::pair<int64_t, std::string>> order;
    for (const auto& [character, count] : counts) order.emplace_back(-count, character);
    std::sort(order.begin(), order.end());
    const size_t most = std::min({order.size(), most_characters, (size_ - tokens_.size()) / 2});
    std::vector<std::string> kept;
    for (size_t i = 0; i < most; ++i) kept.push_back(order[i].second);
    std::sort(kept.begin(), kept.end());
    for (const std::string& character : kept) token_id(character);
    for (const std::string& character : kept) token_id(std::string(continuing) + character);
  }

  void add_word(const std::string& word, int64_t count) {
    Word result{count, {}};
    for (size_t i = 0; i < word.size(); i += code_size(word[i])) {
      const auto found = ids_.find((i == 0 ? "" : std::string(continuing)) + word.substr(i, code_size(word[i])));
      if (found == ids_.end()) return;  // a character that is too rare: the word will be unknown
      result.symbols.push_back(found->second);
    }
    if (result.symbols.size() > 1) words_.push_back(std::move(result));
  }

  void count_pairs(uint32_t word) {
    const Word& counted = words_[word];
    for (size_t i = 0; i + 1 < counted.symbols.size(); ++i)
      add_pair(counted.symbols[i], counted.symbols[i + 1], counted.count, word);
  }
  void add_pair(int32_t left, int32_t right, int64_t count, uint32_t word) {
    Pair& pair = pairs_[pair_key(left, right)];
    pair.count += count;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
  }

  void merge(uint64_t pair) {
    const int32_t left = left_of(pair), right = right_of(pair);
    const std::string &first = tokens_[static_cast<size_t>(left)], &second = tokens_[static_cast<size_t>(right)];
    const int32_t merged = token_id(first + second.substr(second.starts_with(continuing) ? continuing.size() : 0));
    const std::vector<uint32_t> words = std::move(pairs_[pair].words);
    std::vector<uint64_t> grown;
    for (const uint32_t word : words) merge_in(word, left, right, merged, grown);
    pairs_[pair].count = 0;
    std::sort(grown.begin(), grown.end());
    grown.erase(std::unique(grown.begin(), grown.end()), grown.end());
    for (const uint64_t key : grown) queue_.push({pairs_[key].count, key, this});
  }

  // The pairs of a word are taken back, its symbols merged, the new pairs counted.
  void merge_in(uint32_t index, int32_t left, int32_t right, int32_t merged, std::vector<uint64_t>& grown) {
    Word& word = words_[index];
    std::vector<int32_t>& symbols = word.symbols;
    bool has_pair = false;
    for (size_t i = 0; i + 1 < symbols.size() && !has_pair; ++i) has_pair = symbols[i] == left && symbols[i + 1] == right;
    if (!has_pair) return;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) pairs_[pair_key(symbols[i], symbols[i + 1])].count -= word.count;
    size_t out = 0;
    for (size_t i = 0; i < symbols.size(); ++i) {
      const bool here = i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
      symbols[out++] = here ? merged : symbols[i];
      i += here;
    }
    symbols.resize(out);
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      add_pair(symbols[i], symbols[i + 1], word.count, index);
      if (symbols[i] == merged || symbols[i + 1] == merged) grown.push_back(pair_key(symbols[i], symbols[i + 1]));
    }
  }

  size_t size_;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

std::shared_ptr<const Tokenizer> train_tokenizer(const std::vector<std::string_view>& texts, int64_t vocabulary_size) {
  if (vocabulary_size < least_vocabulary || vocabulary_size > most_vocabulary)
    throw UserError(fmt::format("a vocabulary of {} tokens is asked for; wanted {} to {}", vocabulary_size, least_vocabulary,
                                most_vocabulary));
  const auto words = count_words(texts);
  if (words.empty()) throw UserError("there is no word in the texts to learn a vocabulary from; give texts with words");
  return tokenizer_from_json(folder_files::json_from_vocabulary(WordPieceTrainer(words, vocabulary_size).learn(),
                                                                folder_files::Json::object(), "the learned vocabulary"),
                             "the learned vocabulary");
}

}  // namespace l0gm
