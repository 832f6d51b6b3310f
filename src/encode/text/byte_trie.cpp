#include "encode/text/byte_trie.h"

#include <algorithm>

namespace l0gm {

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, int32_t>> words) : nodes_(1) {
  constexpr uint32_t many_children = 6;
  std::sort(words.begin(), words.end());
  // A node stands for the words [begin, end), which share their first `depth` bytes.
  struct Range {
    uint32_t node;
    size_t begin, end, depth;
  };
  std::vector<Range> waiting = {{0, 0, words.size(), 0}};
  for (size_t next = 0; next < waiting.size(); ++next) {
    const auto [node, first, end, depth] = waiting[next];
    size_t begin = first;
    if (begin < end && words[begin].first.size() == depth) nodes_[node].value = words[begin].second;
    while (begin < end && words[begin].first.size() == depth) ++begin;
    nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
    while (begin < end) {
      const char label = words[begin].first[depth];
      size_t stop = begin + 1;
      while (stop < end && words[stop].first[depth] == label) ++stop;
      waiting.push_back({static_cast<uint32_t>(nodes_.size()), begin, stop, depth + 1});
      nodes_.push_back({-1, 0, 0, 0, static_cast<uint8_t>(label)});
      begin = stop;
    }
    Node& parent = nodes_[node];
    parent.children = static_cast<uint16_t>(nodes_.size() - parent.first_child);
    if (parent.children <= many_children) continue;
    std::array<uint32_t, 256>& table = tables_.emplace_back();
    table.fill(0);
    for (uint32_t i = parent.first_child; i < nodes_.size(); ++i) table[nodes_[i].label] = i;
    parent.table = static_cast<uint32_t>(tables_.size());
  }
}

}  // namespace l0gm
