#include "encode/text/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "encode/text/unicode.h"
#include "encode/text/utf8.h"

namespace l0gm {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::vector<std::pair<std::string_view, int32_t>> words;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    words.emplace_back(tokens_[i].content, static_cast<int32_t>(i));
    bool& begins = begins_[static_cast<uint8_t>(tokens_[i].content[0])];
    first_bytes_ += !begins;
    begins = true;
    first_byte_ = tokens_[i].content[0];
  }
  trie_ = ByteTrie(std::move(words));
}

size_t AddedTokens::next_candidate(std::string_view text, size_t from) const {
  if (first_bytes_ == 1 && from < text.size()) {
    const void* found = std::memchr(text.data() + from, first_byte_, text.size() - from);
    return found == nullptr ? text.size() : static_cast<size_t>(static_cast<const char*>(found) - text.data());
  }
  while (from < text.size() && !begins_[static_cast<uint8_t>(text[from])]) ++from;
  return from;
}

bool AddedTokens::stands_alone(std::string_view text, size_t begin, size_t end) const {
  const auto is_word = [](char32_t code) { return unicode().has(code, CodeFlag::word); };
  return (begin == 0 || !is_word(decode_code_before(text.data(), text.data() + begin).code)) &&
         (end == text.size() || !is_word(decode_code(text.data() + end).code));
}

AddedTokens::Match AddedTokens::next_match(std::string_view text, size_t from, size_t done) const {
  if (tokens_.empty()) return {};
  const auto is_space = [](char32_t code) { return unicode().has(code, CodeFlag::white_space); };
  for (size_t begin = next_candidate(text, from); begin < text.size(); begin = next_candidate(text, begin)) {
    const ByteTrie::Match match = trie_.longest(text.substr(begin));
    if (match.value < 0) {
      ++begin;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(match.value)];
    Match result{&token, begin, begin + match.length, begin + match.length};
    if (token.single_word && !stands_alone(text, result.begin, result.end)) {
      begin = result.end;
      continue;
    }
    if (token.strip_left) {
      while (result.begin > done) {
        const DecodedCode before = decode_code_before(text.data(), text.data() + result.begin);
        if (!is_space(before.code)) break;
        result.begin -= before.size;
      }
      result.begin = std::max(result.begin, done);
    }
    while (token.strip_right && result.end < text.size()) {
      const DecodedCode after = decode_code(text.data() + result.end);
      if (!is_space(after.code)) break;
      result.end += after.size;
    }
    return result;
  }
  return {};
}

}  // namespace l0gm
