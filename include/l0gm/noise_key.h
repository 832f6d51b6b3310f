// The key of the random numbers of one place and step.
//   NoiseKey key = pass.dropout_key(place);
#pragma once

#include <cstdint>

namespace l0gm {

// A step that is captured on a GPU and replayed finds its keys in the device's memory: they differ from step to step.
struct NoiseKey {
  NoiseKey(uint64_t key = 0, const uint64_t* place = nullptr) : value(key), live(place) {}  // NOLINT: a number is a key
  uint64_t value;        // of the step that this was made for
  const uint64_t* live;  // where the key of the present step is, in the memory of the device that draws; null: it is `value`
};

}  // namespace l0gm
