#pragma once

#include <cstdint>

namespace l0gm {

// What a statistic's key, or a split of a tree, is read from: the code of a field, or of a cut.
struct KeyPart {
  int64_t field = -1, cut = -1;                        // one of them, or none
  KeyPart(int64_t of_field = -1) : field(of_field) {}  // NOLINT(google-explicit-constructor): a field is the usual part
  static KeyPart of_cut(int64_t cut) {
    KeyPart part;
    part.cut = cut;
    return part;
  }
  bool empty() const { return field < 0 && cut < 0; }
  bool operator==(const KeyPart&) const = default;
};

}  // namespace l0gm
