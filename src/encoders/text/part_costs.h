#pragma once

#include <optional>

#include "encode/text/transformer_config.h"
#include "l0gm/gate_options.h"

namespace l0gm {

// How long the texts are that an encoder reads, in tokens. Attention pays for each pair of tokens.
struct TextLengths {
  double mean = 0, mean_square = 0;
};

// Times of an encoder's parts as they were measured on a device, in microseconds per text.
struct PartTimes {
  double besides = 0;           // all that is no layer: making batches, embeddings, pooling, head
  double rest = 0;              // of a layer, beside its heads and neurons
  double head = 0, neuron = 0;  // of one
};

// What the parts of an encoder cost, all in the same unit.
struct PartCosts {
  struct Layer {
    double rest = 0, head = 0, neuron = 0;
  };
  double besides = 0;    // what is no layer and no dimension of the interface
  Layer inner, last;     // with Pooling::cls the last layer computes little but keys and values
  double dimension = 0;  // of the interface
  const Layer& of(int64_t layer, int64_t layers) const { return layer + 1 == layers ? last : inner; }
};

// What a text model is beside its encoder's own shape.
struct ModelShape {
  Pooling pooling = Pooling::mean;
  int64_t outputs = 1;  // of all members
};

// UnitCost::unit: 1 each; memory: parameters; flops: operations for a text of these lengths, means over texts; latency: as
// measured, which must be given then.
PartCosts part_costs(const TransformerConfig& config, const ModelShape& shape, const TextLengths& lengths, UnitCost cost,
                     const std::optional<PartTimes>& times);

}  // namespace l0gm
