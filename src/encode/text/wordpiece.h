#pragma once

#include <string>
#include <utility>
#include <vector>

#include "encode/text/byte_trie.h"
#include "encode/text/word_model.h"

namespace l0gm {

// The longest token first; a word with a part that no token covers is unknown as a whole.
class WordPiece : public WordModel {
 public:
  struct Options {
    std::string continuing_prefix = "##";
    int32_t unknown = 0;
    int64_t longest_word = 100;  // code points; longer words are unknown
  };
  WordPiece(const std::vector<std::pair<std::string, int32_t>>& vocabulary, Options options);
  void tokenize(std::string_view word, ModelWorkspace& workspace, std::vector<int32_t>& ids) const override;
  const Options& options() const { return options_; }

 private:
  Options options_;
  ByteTrie starting_, continuing_;
};

}  // namespace l0gm
