#include "encode/text/wordpiece.h"

#include "encode/text/utf8.h"

namespace l0gm {

WordPiece::WordPiece(const std::vector<std::pair<std::string, int32_t>>& vocabulary, Options options)
    : options_(std::move(options)) {
  std::vector<std::pair<std::string_view, int32_t>> starting, continuing;
  const std::string_view prefix = options_.continuing_prefix;
  for (const auto& [text, id] : vocabulary) {
    if (text.empty()) continue;
    starting.emplace_back(text, id);
    if (text.size() > prefix.size() && text.starts_with(prefix))
      continuing.emplace_back(std::string_view(text).substr(prefix.size()), id);
  }
  starting_ = ByteTrie(std::move(starting));
  continuing_ = ByteTrie(std::move(continuing));
}

void WordPiece::tokenize(std::string_view word, ModelWorkspace&, std::vector<int32_t>& ids) const {
  const size_t before = ids.size(), longest = static_cast<size_t>(options_.longest_word);
  if (word.size() > longest && (word.size() > 4 * longest || count_codes(word) > longest)) {
    ids.push_back(options_.unknown);
    return;
  }
  const ByteTrie* trie = &starting_;
  while (!word.empty()) {
    const ByteTrie::Match match = trie->longest(word);
    if (match.value < 0) {
      ids.resize(before);
      ids.push_back(options_.unknown);
      return;
    }
    ids.push_back(match.value);
    word.remove_prefix(match.length);
    trie = &continuing_;
  }
}

}  // namespace l0gm
