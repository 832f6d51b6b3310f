#include <numbers>

#include "encoders/table/field_embeddings.h"
#include "encoders/table/toy_table.h"
#include "gate/toy_gate.h"

// Fields beyond categories and bins: exact values, hashed, several values in a cell, periodic, statistics.
namespace l0gm {
namespace {

using namespace testing_tools;

constexpr int64_t width = 3;

struct Rich {
  Schema schema = rich_schema();
  EncodedTable rows = rich_rows();
  FieldEmbeddings encoder{schema, count_fields(rows, schema), width};
  TableTensors tensors{rows, torch::kCPU, torch::kFloat32};
  GatePass pass = GatePass::evaluation({}, ids(0, 6));

  Rich() { encoder.settle(); }
  torch::Tensor forward() { return encoder.forward(*tensors.range(0, 6), pass); }
  torch::Tensor field(int64_t f) { return forward().narrow(1, f * width, width); }
  torch::Tensor parameter(const std::string& name) { return encoder.named_parameters()[name]; }
  int32_t code(int64_t row, int64_t slot) const { return rows.codes[static_cast<size_t>(row * 10 + slot)]; }
};

TEST(RichFields, WidthAndStatisticsAtTheEnd) {
  Rich rich;
  EXPECT_EQ(rich.encoder.width(), 9 * width + 4);
  const torch::Tensor r = rich.forward();
  for (int64_t row = 0; row < 6; ++row) {
    for (int64_t k = 0; k < 4; ++k) {
      EXPECT_FLOAT_EQ(r[row][9 * width + k].item<float>(), rich.rows.slopes[static_cast<size_t>(row * 14 + 10 + k)]);
    }
  }
}

// Lookup fields in the schema's order: colour (5 rows), kind (3), exact age (4), user (4), tags (5).
TEST(RichFields, LookupsAndSeveralValues) {
  Rich rich;
  const torch::Tensor table = rich.parameter("lookups.rows");
  ASSERT_EQ(table.size(0), 5 + 3 + 4 + 4 + 5);
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_LT(largest_difference(rich.field(5)[row], table[8 + rich.code(row, 5)]), 1e-6) << "exact age";
    EXPECT_LT(largest_difference(rich.field(6)[row], table[12 + rich.code(row, 6)]), 1e-6) << "user";
    torch::Tensor tags = at::zeros({width});
    for (int64_t slot = 7; slot < 9; ++slot) {
      tags = tags + rich.rows.slopes[static_cast<size_t>(row * 14 + slot)] * table[16 + rich.code(row, slot)];
    }
    EXPECT_LT(largest_difference(rich.field(7)[row], tags), 1e-6) << "tags";
  }
}

TEST(RichFields, PeriodicEqualsItsDefinition) {
  Rich rich;
  const torch::Tensor frequency = rich.parameter("periodic.frequencies")[0], map = rich.parameter("periodic.map")[0];
  for (int64_t row = 0; row < 6; ++row) {
    if (rich.code(row, 9) == 0) {
      EXPECT_LT(largest_difference(rich.field(8)[row], rich.parameter("periodic.missing")[0]), 1e-6);
      continue;
    }
    const double slope = rich.rows.slopes[static_cast<size_t>(row * 14 + 9)];
    for (int64_t d = 0; d < width; ++d) {
      double wanted = rich.parameter("periodic.starts")[0][d].item<double>();
      for (int64_t k = 0; k < PeriodicRows::frequencies; ++k) {
        const double angle = 2 * std::numbers::pi * frequency[k].item<double>() * slope;
        wanted +=
            std::sin(angle) * map[k][d].item<double>() + std::cos(angle) * map[PeriodicRows::frequencies + k][d].item<double>();
      }
      EXPECT_NEAR(rich.field(8)[row][d].item<double>(), wanted, 1e-5) << row;
    }
  }
}

TEST(RichFields, APeriodicColumnNeverMissingInTrainingSettlesAtItsMean) {
  Schema schema = rich_schema();
  EncodedTable rows = rich_rows();
  rows.codes[3 * 10 + 9] = 1;  // the one row that lacks it
  FieldEmbeddings encoder(schema, count_fields(rows, schema), width);
  GatePass pass = GatePass::evaluation({}, ids(0, 6));
  const auto field = [&](const EncodedTable& table) {
    return encoder.forward(*TableTensors(table, torch::kCPU, torch::kFloat32).range(0, 6), pass).narrow(1, 8 * width, width);
  };
  encoder.settle();
  const torch::Tensor mean = field(rows).mean(0);
  EncodedTable missing = rows;
  for (size_t row = 0; row < 6; ++row) missing.codes[row * 10 + 9] = 0;
  // 256 ranks of six values: each value has 42 or 43 of them.
  EXPECT_LT(largest_difference(field(missing)[0], mean), 0.02);
}

TEST(RichFields, UnitsAtTheInterface) {
  const Rich rich;
  const InterfaceUnits dimension = rich.encoder.units(UnitKind::dimension, Attach::interface);
  EXPECT_EQ(dimension.cost.size(0), 9 * width + 4);
  EXPECT_EQ(dimension.unit_name(5 * width + 1), "age=[1]");
  EXPECT_EQ(dimension.unit_name(9 * width), "colour: odds");
  EXPECT_EQ(dimension.unit_name(9 * width + 3), "colour x kind: rows");
  const InterfaceUnits group = rich.encoder.units(UnitKind::group, Attach::interface);
  ASSERT_EQ(group.cost.size(0), 8) << "seven columns and a pair";
  EXPECT_EQ(group.unit_name(7), "colour x kind");
  EXPECT_EQ(group.cost[1].item<double>(), 2 * width + 2) << "colour: values, bins, two statistics";
  EXPECT_EQ(group.cost[7].item<double>(), 2);
  EXPECT_EQ(group.cost.sum().item<double>(), 9 * width + 4);
  const InterfaceUnits fine = rich.encoder.units(UnitKind::fine, Attach::interface);
  EXPECT_NEAR(fine.cost.sum().item<double>(), 9 * width + 4, 1e-4);
  EXPECT_EQ(fine.unit_name(fine.cost.size(0) - 1), "colour x kind: rows");
}

TEST(RichFields, UnitsOfTheInput) {
  const Rich rich;
  const InterfaceUnits field = rich.encoder.units(UnitKind::dimension, Attach::input);
  EXPECT_TRUE(at::equal(field.cost, at::ones({13})));
  EXPECT_EQ(field.unit_name(5), "age=");
  EXPECT_EQ(field.unit_name(12), "colour x kind: rows");
  EXPECT_EQ(field.index[4 * width].item<int64_t>(), 4);
  EXPECT_EQ(field.index[9 * width + 2].item<int64_t>(), 11);
  const InterfaceUnits column = rich.encoder.units(UnitKind::group, Attach::input);
  EXPECT_TRUE(at::equal(column.cost, at::ones({8})));
  const InterfaceUnits value = rich.encoder.units(UnitKind::fine, Attach::input);
  EXPECT_NEAR(value.cost.sum().item<double>(), 13, 1e-5) << "the values of a field cost 1 together";
  const auto index = rich.encoder.fine_index(*rich.tensors.range(0, 6), Attach::input);
  EXPECT_EQ(value.unit_name(index[0][width].item<int64_t>()), "colour=red");
  EXPECT_EQ(value.unit_name(index[0][width + 2].item<int64_t>()), "colour=red") << "all dimensions of a field share the unit";
  EXPECT_EQ(value.unit_name(index[0][5 * width].item<int64_t>()), "age==17");
  EXPECT_EQ(value.unit_name(index[2][6 * width].item<int64_t>()), "user=#2");
  EXPECT_EQ(value.unit_name(index[2][7 * width].item<int64_t>()), "tags");
}

TEST(RichFields, FineIndexAndDimensionsAgree) {
  const Rich rich;
  for (const Attach attach : {Attach::interface, Attach::input}) {
    const InterfaceUnits fine = rich.encoder.units(UnitKind::fine, attach);
    const torch::Tensor index = rich.encoder.fine_index(*rich.tensors.range(0, 6), attach);
    ASSERT_EQ(index.sizes(), (std::vector<int64_t>{6, rich.encoder.width()}));
    for (const int64_t d : {int64_t{0}, width + 1, 7 * width, 9 * width + 1, 9 * width + 3}) {
      torch::Tensor open = at::zeros({fine.cost.size(0)}, torch::kBool);
      open[index[1][d].item<int64_t>()] = true;
      EXPECT_TRUE(rich.encoder.dimensions_of_fine_units(open, attach)[d].item<bool>()) << d;
      EXPECT_EQ(rich.encoder.dimensions_of_fine_units(open, attach).sum().item<int64_t>(),
                attach == Attach::input && d < 9 * width ? width : 1);
    }
  }
}

TEST(RichFields, APairReadsBothColumns) {
  const Rich rich;
  const auto read = rich.encoder.columns_of_dimension();
  EXPECT_EQ(read[9 * width], (std::vector<int64_t>{1}));
  EXPECT_EQ(read[9 * width + 2], (std::vector<int64_t>{1, 3}));
}

TEST(RichFields, GradientsReachEveryKindOfField) {
  Rich rich;
  rich.forward().square().sum().backward();
  for (const auto& item : rich.encoder.named_parameters()) {
    EXPECT_GT(item.value().grad().abs().sum().item<double>(), 0) << item.key();
  }
}

}  // namespace
}  // namespace l0gm
