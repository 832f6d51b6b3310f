#include "encode/text/clusters.h"

#include "encode/text/unicode.h"
#include "encode/text/utf8.h"

namespace l0gm {
namespace {

// What the rules remember of the characters since the cluster began.
struct ClusterState {
  ClusterKind last;
  bool picture = false, joiner = false;    // a pictograph with marks; a zero width joiner right behind it
  bool consonant = false, linked = false;  // an Indic consonant; a linker behind it
  bool flag_waits = false;                 // an odd number of regional indicators

  void add(char32_t code, uint32_t properties) {
    const auto has = [&](CodeFlag flag) { return (properties & static_cast<uint32_t>(flag)) != 0; };
    last = static_cast<ClusterKind>(properties & 15);
    const bool is_joiner = code == 0x200D, extends = last == ClusterKind::extend;
    joiner = picture && is_joiner;
    picture = has(CodeFlag::picture) || (picture && extends && !is_joiner);
    if (has(CodeFlag::conjunct_consonant)) {
      consonant = true;
      linked = false;
    } else if (consonant && has(CodeFlag::conjunct_linker)) {
      linked = true;
    } else if (!has(CodeFlag::conjunct_extend)) {
      consonant = linked = false;
    }
    flag_waits = code >= 0x1F1E6 && code <= 0x1F1FF && !flag_waits;
  }
};

bool stays_together(const ClusterState& state, char32_t code, uint32_t properties) {
  const auto next = static_cast<ClusterKind>(properties & 15);
  using enum ClusterKind;
  if (state.last == control || next == control) return false;
  if (next == extend || state.last == prepend) return true;
  const ClusterKind last = state.last;
  if (last == leading && (next == leading || next == vowel || next == leading_vowel || next == leading_vowel_trailing))
    return true;
  if ((last == leading_vowel || last == vowel) && (next == vowel || next == trailing)) return true;
  if ((last == leading_vowel_trailing || last == trailing) && next == trailing) return true;
  if (state.linked && (properties & static_cast<uint32_t>(CodeFlag::conjunct_consonant)) != 0) return true;
  if (state.joiner && (properties & static_cast<uint32_t>(CodeFlag::picture)) != 0) return true;
  return state.flag_waits && code >= 0x1F1E6 && code <= 0x1F1FF;
}

}  // namespace

size_t cluster_end(std::string_view text, size_t begin) {
  const auto [first, first_size] = decode_code(text.data() + begin);
  size_t end = begin + first_size;
  if (first == '\r' && end < text.size() && text[end] == '\n') return end + 1;
  ClusterState state{};
  state.add(first, unicode().properties(first));
  while (end < text.size()) {
    const auto [code, size] = decode_code(text.data() + end);
    const uint32_t properties = unicode().properties(code);
    if (!stays_together(state, code, properties)) break;
    state.add(code, properties);
    end += size;
  }
  return end;
}

}  // namespace l0gm
