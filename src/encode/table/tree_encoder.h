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
  // Writes the log odds of a row whose codes and slopes, statistics among them, are there. Allocates nothing.
  void encode(const int32_t* codes, const int32_t* cut_codes, const float* slopes, float* log_odds) const;
  size_t outputs() const { return outputs_; }

 private:
  enum class Reads : int32_t { cut, category, statistic };
  struct Level {
    Reads reads;
    int32_t place;  // the index of a cut, the slot of a field
    int32_t code;
    float edge;  // of a statistic: passed by slopes from here on
  };
  size_t depth_, outputs_;
  std::vector<float> start_;
  std::vector<Level> levels_;  // trees x depth
  std::vector<float> leaves_;  // trees x 2^depth x outputs
};

}  // namespace l0gm
