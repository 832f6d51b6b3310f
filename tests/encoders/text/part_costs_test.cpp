#include "encoders/text/part_costs.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace l0gm {
namespace {

TransformerConfig shape() {
  TransformerConfig config;
  config.vocabulary = 50, config.hidden = 16, config.layers = 3, config.heads = 2, config.intermediate = 24,
  config.positions = 40;
  return config;
}

TEST(PartCosts, ParametersAddUpToTheEncoder) {
  const TransformerConfig config = shape();
  const PartCosts costs = part_costs(config, {}, {}, UnitCost::memory, {});
  const double layer = costs.inner.rest + 2 * costs.inner.head + 24 * costs.inner.neuron;
  EXPECT_DOUBLE_EQ(costs.besides + 3 * layer, static_cast<double>(config.parameters()));
}

TEST(PartCosts, OperationsGrowWithTokensAndTheirPairs) {
  const PartCosts a = part_costs(shape(), {}, {10, 100}, UnitCost::flops, {}),
                  b = part_costs(shape(), {}, {10, 200}, UnitCost::flops, {}),
                  c = part_costs(shape(), {}, {20, 100}, UnitCost::flops, {});
  EXPECT_EQ(a.inner.neuron, b.inner.neuron);
  EXPECT_DOUBLE_EQ(c.inner.neuron, 2 * a.inner.neuron);
  EXPECT_DOUBLE_EQ(b.inner.head - a.inner.head, 100 * (4 * 8 + 5));
  EXPECT_DOUBLE_EQ(c.inner.head - a.inner.head, 10 * 8.0 * 16 * 8);
}

TEST(PartCosts, TheLastLayerOfFirstTokensIsCheap) {
  const PartCosts costs = part_costs(shape(), {Pooling::cls, 1}, {100, 12000}, UnitCost::flops, {});
  EXPECT_LT(costs.last.neuron * 50, costs.inner.neuron);
  EXPECT_LT(costs.last.head, 0.6 * costs.inner.head);
  EXPECT_EQ(costs.of(1, 3).head, costs.inner.head);
  EXPECT_EQ(costs.of(2, 3).head, costs.last.head);
}

TEST(PartCosts, MeasuredTimesAreTaken) {
  const PartTimes times{100, 20, 30, 2};
  const PartCosts costs = part_costs(shape(), {}, {10, 100}, UnitCost::latency, times);
  EXPECT_EQ(costs.besides, 100);
  EXPECT_EQ(costs.inner.rest, 20);
  EXPECT_EQ(costs.inner.head, 30);
  EXPECT_EQ(costs.last.neuron, 2);
  EXPECT_GT(costs.dimension, 0);
  EXPECT_LT(costs.dimension, 0.1);
  EXPECT_THROW(part_costs(shape(), {}, {10, 100}, UnitCost::latency, {}), std::logic_error);
}

}  // namespace
}  // namespace l0gm
