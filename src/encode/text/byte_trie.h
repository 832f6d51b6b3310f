#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

// Which of many byte strings begin at a place, found in one walk.
//   const ByteTrie trie(words);                 // pairs of text and value >= 0
//   trie.walk(text, [&](size_t length, int32_t value) { … });
namespace l0gm {

class ByteTrie {
 public:
  struct Match {
    size_t length = 0;
    int32_t value = -1;  // -1: none
  };

  ByteTrie() : ByteTrie(std::vector<std::pair<std::string_view, int32_t>>()) {}
  explicit ByteTrie(std::vector<std::pair<std::string_view, int32_t>>
                        words);  // not empty; of equal texts the one with the smallest value counts

  // Calls found(length, value) for each word that `text` begins with, the shortest first.
  template <class Found>
  void walk(std::string_view text, Found found) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == 0) return;
      if (nodes_[node].value >= 0) found(i + 1, nodes_[node].value);
    }
  }
  Match longest(std::string_view text) const {
    Match best;
    walk(text, [&](size_t length, int32_t value) { best = {length, value}; });
    return best;
  }
  int32_t find(std::string_view text) const {  // -1: not a word
    const Match match = longest(text);
    return match.length == text.size() ? match.value : -1;
  }

 private:
  struct Node {
    int32_t value = -1;
    uint32_t first_child = 0;  // children lie side by side in the order of their labels
    uint32_t table = 0;        // of a node with many children: the place in tables_, plus 1
    uint16_t children = 0;
    uint8_t label = 0;
  };

  uint32_t child(uint32_t node, uint8_t label) const {
    const Node& parent = nodes_[node];
    if (parent.table != 0) return tables_[parent.table - 1][label];
    for (uint32_t i = parent.first_child, end = i + parent.children; i < end; ++i) {
      if (nodes_[i].label >= label) return nodes_[i].label == label ? i : 0;
    }
    return 0;
  }

  std::vector<Node> nodes_;  // the root first
  std::vector<std::array<uint32_t, 256>> tables_;
};

}  // namespace l0gm
