#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encode/text/word_cache.h"

// Memory that one call of encode() uses and the next one finds again.
namespace l0gm {

struct BytePairSymbol {
  int32_t id;
  int32_t previous, next;  // places; -1: none
};

struct BytePairMerge {
  uint32_t rank;
  int32_t place;  // of the left symbol
  int32_t merged;
};

struct UnigramNode {
  double score = 0;
  int32_t begin = -1;  // where the best last token starts; -1: nothing ends here
  int32_t id = 0;
};

// What the models need; a word may be as long as the text.
struct ModelWorkspace {
  std::vector<BytePairSymbol> symbols;
  std::vector<BytePairMerge> merges;
  std::vector<UnigramNode> nodes;
  std::vector<std::pair<int32_t, int32_t>> spans;
};

struct Workspace {
  static constexpr size_t most_steps = 8;

  WordCache cache;
  ModelWorkspace model;
  std::vector<char> word;
  std::string repaired, normal, scratch;
  std::array<std::string, most_steps> pieces;  // one for each step before the model

  // What an unusually long text left behind is given back.
  void shrink() {
    constexpr size_t large = 1 << 20;
    for (std::string* text : {&repaired, &normal, &scratch}) {
      if (text->capacity() > large) *text = std::string();
    }
    for (std::string& text : pieces) {
      if (text.capacity() > large) text = std::string();
    }
    if (model.symbols.capacity() > large / 8 || model.nodes.capacity() > large / 8) model = ModelWorkspace();
  }
};

}  // namespace l0gm
