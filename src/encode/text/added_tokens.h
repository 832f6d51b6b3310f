#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "encode/text/byte_trie.h"

// Tokens that are found in a text before it is split into words, such as [MASK].
//   added.split(text, [&](std::string_view part) { … return true; }, [&](int32_t id) { … return true; });
namespace l0gm {

struct AddedToken {
  std::string content;
  int32_t id = -1;
  bool special = false, normalized = false;  // normalized: looked for in the normalised text
  bool single_word = false, strip_left = false, strip_right = false;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> tokens);  // contents not empty; of equal ones the first counts
  bool empty() const { return tokens_.empty(); }

  // Parts and ids in the order of the text; stops when one of the two returns false, and returns that.
  template <class TakePart, class TakeId>
  bool split(std::string_view text, TakePart take_part, TakeId take_id) const {
    size_t done = 0, from = 0;
    while (true) {
      const Match match = next_match(text, from, done);
      if (match.token == nullptr) return done >= text.size() || take_part(text.substr(done));
      if (done < match.begin && !take_part(text.substr(done, match.begin - done))) return false;
      if (!take_id(match.token->id)) return false;
      done = match.end;
      from = match.search_end;
    }
  }

 private:
  struct Match {
    const AddedToken* token = nullptr;
    size_t begin = 0, end = 0;  // with the white space that the token takes
    size_t search_end = 0;      // without
  };
  Match next_match(std::string_view text, size_t from, size_t done) const;
  size_t next_candidate(std::string_view text, size_t from) const;
  bool stands_alone(std::string_view text, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;
  std::array<bool, 256> begins_{};
  int first_bytes_ = 0;
  char first_byte_ = 0;
};

}  // namespace l0gm
