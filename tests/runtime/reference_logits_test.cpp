#include "runtime/reference_logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

// Nets small enough to compute by hand.
namespace l0gm {
namespace {

using Kind = NetColumn::Kind;

Matrix matrix_of(int64_t rows, int64_t columns, std::vector<double> values) {
  Matrix matrix(rows, columns);
  EXPECT_EQ(values.size(), matrix.values.size());
  matrix.values = std::move(values);
  return matrix;
}

std::vector<double> logits_of(const TableNet<Matrix>& net, const std::vector<int32_t>& codes, const std::vector<float>& slopes) {
  std::vector<double> logits(static_cast<size_t>(net.logits()));
  reference_logits(net, codes.data(), slopes.data(), logits.data());
  return logits;
}

double logit_of(const TableNet<Matrix>& net, const std::vector<int32_t>& codes, const std::vector<float>& slopes) {
  return logits_of(net, codes, slopes)[0];
}

// No hidden units, one logit: `wide` is a column of terms. The column's table is folded.
TableNet<Matrix> linear_net(NetColumn column, double base, std::vector<double> terms) {
  TableNet<Matrix> net;
  column.folded = true;
  net.columns = {column};
  const int64_t rows = net.arrange();
  net.base = matrix_of(1, 1, {base});
  net.wide = matrix_of(rows, 1, std::move(terms));
  return net;
}

TEST(ReferenceLogits, ACodePicksItsRow) {
  NetColumn column;
  column.code_slot = 1;
  column.codes = 3;
  const TableNet<Matrix> net = linear_net(column, 0.5, {1, 2, 4});
  EXPECT_EQ(logit_of(net, {9, 0}, {0, 0}), 1.5);
  EXPECT_EQ(logit_of(net, {9, 2}, {0, 7}), 4.5);  // the slope of a code is ignored
}

TEST(ReferenceLogits, SeveralValuesAreWeighedByTheirSlopes) {
  NetColumn column;
  column.kind = Kind::several;
  column.code_slot = 0;
  column.slots = 3;
  column.codes = 4;
  const TableNet<Matrix> net = linear_net(column, 0, {1, 2, 4, 8});
  EXPECT_EQ(logit_of(net, {3, 2, 0}, {0.5F, 0.5F, 0}), 6);
  EXPECT_EQ(logit_of(net, {0, 0, 0}, {1, 0, 0}), 1);
}

TEST(ReferenceLogits, ANumberPicksMissingKnownOrBinAndDirection) {
  NetColumn column;
  column.kind = Kind::number;
  column.value_slot = 0;
  column.code_slot = 1;
  column.bins = 2;
  column.known = 2;
  // missing; bins 1, 2; known 2, 3; directions of bins 1, 2
  const TableNet<Matrix> net = linear_net(column, 0, {1, 10, 20, 300, 400, 1000, 2000});
  EXPECT_EQ(logit_of(net, {0, 0}, {0, 0}), 1);
  EXPECT_EQ(logit_of(net, {1, 1}, {0.5F, 0}), 510);
  EXPECT_EQ(logit_of(net, {2, 1}, {-0.25F, 0}), -480);
  EXPECT_EQ(logit_of(net, {2, 1}, {0, 0}), 20);
  EXPECT_EQ(logit_of(net, {1, 2}, {0.5F, 0}), 300);  // known: bin and slope are in the row
  EXPECT_EQ(logit_of(net, {2, 3}, {0.5F, 0}), 400);
}

TEST(ReferenceLogits, ANumberWithoutKnownValuesHasNoSlotForThem) {
  NetColumn column;
  column.kind = Kind::number;
  column.value_slot = 0;
  column.bins = 3;
  const TableNet<Matrix> net = linear_net(column, 0, {1, 10, 20, 30, 100, 200, 300});
  EXPECT_EQ(logit_of(net, {0}, {0}), 1);
  EXPECT_EQ(logit_of(net, {1}, {2}), 210);
  EXPECT_EQ(logit_of(net, {3}, {1}), 330);
}

TEST(ReferenceLogits, WavesAreSinesThenCosinesOfTheSlope) {
  NetColumn column;
  column.kind = Kind::number;
  column.value_slot = 0;
  column.code_slot = 1;
  column.bins = 1;
  column.known = 1;
  column.waves = 4;
  // missing; bin; known; sines of frequencies 0.25 and 1; cosines of them
  TableNet<Matrix> net = linear_net(column, 0, {1, 10, 300, 1000, 2000, 4000, 8000});
  net.frequencies = {matrix_of(1, 2, {0.25, 1})};
  EXPECT_NEAR(logit_of(net, {1, 1}, {1, 0}), 10 + 1000 + 8000, 1e-8);  // a quarter turn and a whole one
  EXPECT_NEAR(logit_of(net, {1, 1}, {0, 0}), 10 + 4000 + 8000, 1e-8);
  EXPECT_NEAR(logit_of(net, {1, 1}, {-0.125F, 0}),
              10 - 1000 * std::sin(std::numbers::pi / 16) - 2000 * std::sqrt(0.5) + 4000 * std::cos(std::numbers::pi / 16) +
                  8000 * std::sqrt(0.5),
              1e-8);
  EXPECT_EQ(logit_of(net, {0, 0}, {0, 0}), 1);
  EXPECT_EQ(logit_of(net, {1, 2}, {1, 0}), 300);
}

TEST(ReferenceLogits, MembersHaveHiddenUnitsLayersAndLogitsOfTheirOwn) {
  TableNet<Matrix> net;
  net.members = 2;
  net.hidden = 2;
  net.base = matrix_of(1, 6, {1, -1, 2, 3, 0.5, 0.25});  // hidden of member 0, of member 1, logits
  net.output = matrix_of(2, 2, {1, 1, 1, 10});
  EXPECT_EQ(logits_of(net, {}, {}), (std::vector<double>{0.5 + 1, 0.25 + 2 + 30}));
  net.layers.resize(1);
  net.layers[0].in = 2;
  net.layers[0].out = 1;
  net.layers[0].weights = matrix_of(4, 1, {2, 100, -1, 1});
  net.layers[0].bias = matrix_of(1, 2, {5, -3});
  net.output = matrix_of(2, 1, {2, 1});
  EXPECT_EQ(logits_of(net, {}, {}), (std::vector<double>{0.5 + 2 * (5 + 2), 0.25 + 0}));  // -3 - 2 + 3 < 0
}

TEST(ReferenceLogits, MembersOfABatchEnsembleShareWeightsAndBranches) {
  TableNet<Matrix> net;
  net.shared = true;
  net.members = 2;
  net.hidden = 2;
  net.statistic_slots = {0};
  EXPECT_EQ(net.arrange(), 0);
  net.base = matrix_of(1, 5, {1, -1, 2, 3, 0.5});  // hidden of member 0, of member 1, the logit of all
  net.wide = Matrix(0, 5);
  net.first.weights = matrix_of(1, 2, {3, 4});
  net.first.in_factors = matrix_of(2, 1, {1, -1});
  net.first.out_factors = matrix_of(2, 2, {1, 10, 1, 0.5});
  net.first.terms = matrix_of(1, 1, {100});
  net.output = matrix_of(2, 2, {1, 1, 1, 10});
  net.output_bias = matrix_of(1, 2, {7, 8});
  // A unit of 2: 1 + 2 * 3 and -1 + 2 * 4 * 10 of member 0; 2 - 2 * 3 < 0 and 3 - 2 * 4 * 0.5 < 0 of member 1.
  EXPECT_EQ(logits_of(net, {}, {2}), (std::vector<double>{0.5 + 200 + 7 + 7 + 79, 0.5 + 200 + 8}));
  EXPECT_EQ(logits_of(net, {}, {0}), (std::vector<double>{0.5 + 7 + 1, 0.5 + 8 + 2 + 30}));
  net.layers.resize(1);
  net.layers[0] = {
      2, 1, matrix_of(2, 1, {2, 100}), matrix_of(1, 2, {5, -3}), matrix_of(2, 2, {1, 1, 0.5, -1}), matrix_of(2, 1, {3, -1})};
  net.output = matrix_of(2, 1, {2, 1});
  // Member 0: hidden (1, 0): 5 + 2 * 3; member 1: hidden (2, 3): -3 - (1 * 2 - 3 * 100)
  EXPECT_EQ(logits_of(net, {}, {0}), (std::vector<double>{0.5 + 7 + 2 * 11, 0.5 + 8 + 295}));
}

// Two columns of one code each: units 1, 2 and 3, 4 on a grid of 2 fields x 2 coordinates; a statistic 5.
TableNet<Matrix> unit_net() {
  TableNet<Matrix> net;
  net.columns.resize(2);
  for (int64_t c = 0; c < 2; ++c) {
    net.columns[static_cast<size_t>(c)].code_slot = c;
    net.columns[static_cast<size_t>(c)].codes = 1;
    net.columns[static_cast<size_t>(c)].units = 2;
  }
  net.statistic_slots = {2};
  const int64_t rows = net.arrange();
  for (int64_t u = 0; u < 4; ++u) net.units[static_cast<size_t>(u)].place = u;
  net.grid_fields = net.grid_coordinates = 2;
  net.base = matrix_of(1, 1, {0});
  net.wide = matrix_of(rows, 1, {0, 0, 0, 0, 0});
  net.unit_tables = {matrix_of(1, 2, {1, 2}), matrix_of(1, 2, {3, 4})};
  return net;
}

double unit_logit(const TableNet<Matrix>& net) { return logit_of(net, {0, 0}, {0, 0, 5}); }

TEST(ReferenceLogits, UnitsAreFactorsOfTheirRows) {
  TableNet<Matrix> net = unit_net();
  net.wide = matrix_of(5, 1, {1, 10, 100, 1000, 10000});
  EXPECT_EQ(unit_logit(net), 1 + 20 + 300 + 4000 + 50000);
}

TEST(ReferenceLogits, PairsArePlainWeightedOrByCoordinate) {
  TableNet<Matrix> net = unit_net();
  net.pairs.present = true;
  EXPECT_EQ(unit_logit(net), 1 * 3 + 2 * 4);
  net.pairs.by_coordinate = true;
  net.pairs.coordinates = matrix_of(1, 2, {1, 10});
  EXPECT_EQ(unit_logit(net), 3 + 80);
  net.pairs.weighted = true;
  net.pairs.weights = matrix_of(1, 1, {-2});
  EXPECT_EQ(unit_logit(net), -166);
}

TEST(ReferenceLogits, CinMultipliesMapsByFieldsAndReadsEveryDepth) {
  TableNet<Matrix> net = unit_net();
  net.cin.present = true;
  net.cin.last = matrix_of(1, 4, {0, 1, 0, 0});  // depth 1: field 0 times field 1
  EXPECT_EQ(unit_logit(net), 11);
  net.cin.maps = {1};
  net.cin.weights = {matrix_of(4, 1, {1, 0, 2, 0})};  // v0 v0 + 2 v1 v0 = (1 + 6, 4 + 16)
  net.cin.pooled = {matrix_of(1, 1, {100})};
  net.cin.last = matrix_of(1, 2, {0, 1});  // times v1: 7 * 3 + 20 * 4
  EXPECT_EQ(unit_logit(net), 2700 + 101);
}

// Gate 0 has logit -1 + 2 tanh(units * map), gate 1 has logit 0.
TableNet<Matrix> gated_net() {
  TableNet<Matrix> net = unit_net();
  net.wide = matrix_of(5, 1, {1, 10, 100, 1000, 10000});
  net.gate.present = true;
  net.gate.gates = 2;
  net.gate.map_out = matrix_of(5, 2, {9, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  net.gate.logits = matrix_of(1, 2, {-1, 0});
  net.gate.range = matrix_of(1, 2, {2, 1});
  net.gate.gate_begin = {0, 1, 2, 4, 5, 5};
  net.gate.gate_of_unit = {0, 1, 0, 1, 1};  // unit 2 has both, unit 4 none
  return net;
}

TEST(ReferenceLogits, AStepGateMultipliesUnitsByTheirLargestGate) {
  TableNet<Matrix> net = gated_net();  // gate 0: -1 + 2 tanh(9) > 0: open; gate 1: 0 is not above 0: closed
  EXPECT_EQ(unit_logit(net), 1 + 300 + 50000);
  net.gate.threshold = -0.5;
  EXPECT_EQ(unit_logit(net), 1 + 20 + 300 + 4000 + 50000);
  net.gate.threshold = 5;  // none would be open: the larger logit, 2 tanh(9) - 1, is
  EXPECT_EQ(unit_logit(net), 1 + 300 + 50000);
  net.gate.map_out.at(0, 0) = 0;  // now it is the other
  EXPECT_EQ(unit_logit(net), 20 + 300 + 4000 + 50000);
}

TEST(ReferenceLogits, AFractionalGateIsAStretchedSigmoid) {
  TableNet<Matrix> net = gated_net();
  net.gate.step = false;
  net.gate.scale = 0.5;
  net.gate.range = matrix_of(1, 2, {0, 0});
  const double first = 1.2 / (1 + std::exp(2.0)) - 0.1, second = 0.5;
  EXPECT_NEAR(unit_logit(net), first + 20 * second + 300 * second + 4000 * second + 50000, 1e-9);
}

TEST(ReferenceLogits, AMapOfLowRankGoesThroughTheMiddle) {
  TableNet<Matrix> net = gated_net();
  net.gate.rank = 1;
  net.gate.map_in = matrix_of(5, 1, {0, 0, 0, 0, 2});  // the statistic: 10
  net.gate.map_out = matrix_of(1, 2, {-1, 1});         // logits -1 - 2, 0 + 1
  EXPECT_EQ(unit_logit(net), 20 + 300 + 4000 + 50000);
}

}  // namespace
}  // namespace l0gm
