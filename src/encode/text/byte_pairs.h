#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encode/text/byte_trie.h"
#include "encode/text/word_model.h"

namespace l0gm {

// Byte pair encoding: the characters of a word, or its bytes, are merged two by two, the pair that was learned first before
// others.
class BytePairs : public WordModel {
 public:
  struct Options {
    bool byte_level = false;  // words are raw bytes, the vocabulary writes each byte as a printable character
    bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
    std::string continuing_prefix, end_suffix;
    int32_t unknown = -1;  // -1: what is unknown is left out
  };
  BytePairs(const std::vector<std::pair<std::string, int32_t>>& vocabulary,
            const std::vector<std::pair<std::string, std::string>>& merges, Options options, const std::string& where);
  void tokenize(std::string_view word, ModelWorkspace& workspace, std::vector<int32_t>& ids) const override;

 private:
  struct Merge {
    uint64_t pair = no_pair;
    uint32_t rank = 0;
    int32_t merged = -1;
  };
  static constexpr uint64_t no_pair = ~uint64_t{0};
  static constexpr uint32_t no_rank = ~uint32_t{0};

  void read_merges(const std::vector<std::pair<std::string, std::string>>& merges, const ByteTrie& tokens,
                   const std::string& where);
  const Merge* find_merge(int32_t left, int32_t right) const;
  void add_characters(std::string_view word, std::vector<int32_t>& ids) const;
  void add_bytes(std::string_view word, std::vector<int32_t>& ids) const;
  void merge_short(std::vector<int32_t>& ids, size_t begin) const;
  void merge_long(std::vector<int32_t>& ids, size_t begin, ModelWorkspace& workspace) const;

  Options options_;
  ByteTrie tokens_;                          // by what they stand for in a word
  std::array<int32_t, 256> byte_ids_{};      // of single bytes; -1: none
  std::array<int32_t, 256> fallback_ids_{};  // <0x0A>; -1: none
  std::vector<Merge> merges_;                // a table of a power of two
};

// The printable character that stands for each byte in byte-level vocabularies, and back.
std::array<char32_t, 256> byte_characters();

}  // namespace l0gm
