#include "encoders/text/part_costs.h"

#include <stdexcept>

namespace l0gm {

namespace {

// Operations for each element of a state: of a layer norm, of adding what was read before, of an activation, of a softmax.
constexpr double of_norm = 8, of_sum = 1, of_activation = 8, of_softmax = 5;

PartCosts operations(const TransformerConfig& config, const ModelShape& shape, const TextLengths& lengths) {
  const auto hidden = static_cast<double>(config.hidden), width = static_cast<double>(config.head_width()),
             outputs = static_cast<double>(shape.outputs);
  const double tokens = lengths.mean, pairs = lengths.mean_square, both_norms = 2 * (of_norm + of_sum) * hidden;
  PartCosts costs;
  // Query, key, value and output are a product of hidden x width each; scores and what they weigh one of width for each pair.
  costs.inner = {both_norms * tokens, 4 * 2 * hidden * width * tokens + (2 * 2 * width + of_softmax) * pairs,
                 (2 * 2 * hidden + of_activation) * tokens};
  costs.last = costs.inner;
  if (shape.pooling == Pooling::cls) {
    costs.last = {both_norms, 2 * 2 * hidden * width * (tokens + 1) + (2 * 2 * width + of_softmax) * tokens,
                  2 * 2 * hidden + of_activation};
  }
  costs.dimension = 2 * outputs;
  costs.besides = (of_norm + 2 * of_sum + 1) * hidden * tokens;  // embeddings, pooling
  return costs;
}

PartCosts parameters(const TransformerConfig& config, const ModelShape& shape) {
  const auto hidden = static_cast<double>(config.hidden), width = static_cast<double>(config.head_width());
  PartCosts costs;
  costs.inner = {6 * hidden, 4 * hidden * width + 3 * width, 2 * hidden + 1};
  costs.last = costs.inner;
  costs.dimension = static_cast<double>(shape.outputs);
  TransformerConfig embeddings = config;
  embeddings.layers = 0;
  embeddings.narrowed.clear();
  costs.besides = static_cast<double>(embeddings.parameters());
  return costs;
}

// What was not measured has the share that its operations have.
PartCosts measured(const TransformerConfig& config, const ModelShape& shape, const TextLengths& lengths, const PartTimes& times) {
  const PartCosts work = operations(config, shape, lengths);
  const auto heads = static_cast<double>(config.heads), neurons = static_cast<double>(config.intermediate);
  PartCosts costs;
  costs.inner = {times.rest, times.head, times.neuron};
  costs.last = {times.rest * work.last.rest / work.inner.rest, times.head * work.last.head / work.inner.head,
                times.neuron * work.last.neuron / work.inner.neuron};
  costs.dimension =
      (times.head * heads + times.neuron * neurons) * work.dimension / (work.inner.head * heads + work.inner.neuron * neurons);
  costs.besides = times.besides;
  return costs;
}

}  // namespace

PartCosts part_costs(const TransformerConfig& config, const ModelShape& shape, const TextLengths& lengths, UnitCost cost,
                     const std::optional<PartTimes>& times) {
  switch (cost) {
    case UnitCost::unit:
      return {0, {1, 1, 1}, {1, 1, 1}, 1};
    case UnitCost::memory:
      return parameters(config, shape);
    case UnitCost::flops:
      return operations(config, shape, lengths);
    case UnitCost::latency:
      if (!times) throw std::logic_error("part_costs: gate.cost = latency without times");
      return measured(config, shape, lengths, *times);
    case UnitCost::serving:
      throw std::logic_error("part_costs: gate.cost = serving is of tables");
  }
  return {};
}

}  // namespace l0gm
