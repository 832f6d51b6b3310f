#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "encode/text/transformer_config.h"

namespace l0gm {

// The shape of a compact text model: what its tensors are the numbers of.
struct TextNet {
  TransformerConfig encoder;
  Pooling pooling = Pooling::mean;
  int64_t members = 1, classes = 2;
  std::vector<int64_t> selected;  // dimensions of the interface that the head reads; empty: all
  bool scaled = false;            // the interface is scaled before (a frozen encoder)
  bool token_factors = false;     // what enters the last layer is scaled by dimension and block of positions (fine units)

  int64_t outputs() const { return classes == 2 ? 1 : classes; }  // of a member's head
  int64_t head_width() const { return selected.empty() ? encoder.hidden : static_cast<int64_t>(selected.size()); }
  int64_t parameters() const;  // as Model counts them
  int64_t numbers() const;     // that a file holds: with the factors of interface and tokens
  nlohmann::json to_json() const;
  static TextNet from_json(const nlohmann::json& json, int64_t classes);  // UserError when it makes no sense
};

}  // namespace l0gm
