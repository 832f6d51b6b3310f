#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include "l0gm/noise_key.h"

namespace l0gm {

// A key as an argument of a function of our own with a gradient, kept for the backward pass, which draws the same numbers again.
struct SavedKey {
  NoiseKey key;

  void save(torch::autograd::AutogradContext& context) const {
    context.saved_data["key"] = static_cast<int64_t>(key.value);
    context.saved_data["live_key"] = reinterpret_cast<int64_t>(key.live);
  }
  static NoiseKey of(torch::autograd::AutogradContext& context) {
    return {static_cast<uint64_t>(context.saved_data["key"].toInt()),
            reinterpret_cast<const uint64_t*>(context.saved_data["live_key"].toInt())};
  }
};

// On the processor, whose memory a live key is in then.
inline uint64_t key_now(const NoiseKey& key) { return key.live != nullptr ? *key.live : key.value; }

}  // namespace l0gm
