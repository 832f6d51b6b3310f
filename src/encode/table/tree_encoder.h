#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {

// What a schema's trees say of a row. Keeps no reference to the schema.
class TreeEncoder {
 public:
  explicit TreeEncoder(const Schema& schema);
  // Writes the log odds. Allocates nothing.
  void encode(const int32_t* codes, const int32_t* cut_codes, float* log_odds) const;
  size_t outputs() const { return outputs_; }

 private:
  struct Level {
    int64_t place;  // the slot of a field; a cut: -1 - its index
    int32_t code;
  };
  size_t depth_, outputs_;
  std::vector<float> start_;
  std::vector<Level> levels_;  // trees x depth
  std::vector<float> leaves_;  // trees x 2^depth x outputs
};

}  // namespace l0gm
