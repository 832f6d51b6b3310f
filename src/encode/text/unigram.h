#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encode/text/byte_trie.h"
#include "encode/text/word_model.h"

namespace l0gm {

// SentencePiece's unigram model: of all ways to cover a word with pieces, the one with the highest sum of scores.
class Unigram : public WordModel {
 public:
  struct Options {
    int32_t unknown = 0;
    bool byte_fallback = false;
  };
  Unigram(const std::vector<std::pair<std::string, int32_t>>& vocabulary, std::vector<double> scores, Options options);
  void tokenize(std::string_view word, ModelWorkspace& workspace, std::vector<int32_t>& ids) const override;

 private:
  void find_best_path(std::string_view word, std::vector<UnigramNode>& nodes) const;
  void add_unknown(std::string_view text, std::vector<int32_t>& ids) const;

  Options options_;
  ByteTrie pieces_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::array<int32_t, 256> fallback_ids_{};  // <0x0A>; -1: none
};

}  // namespace l0gm
