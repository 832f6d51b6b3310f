#include "encoders/table/field_embeddings.h"

#include "encoders/table/toy_table.h"
#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr int64_t width = 3;

struct Toy {
  Schema schema = toy_schema();
  EncodedTable rows = toy_rows();
  FieldEmbeddings encoder{schema, count_fields(rows, schema), width};
  TableTensors tensors{rows, torch::kCPU, torch::kFloat32};
  GatePass pass = GatePass::evaluation({}, ids(0, 6));

  torch::Tensor forward(const Batch& batch) { return encoder.forward(batch, pass); }
  torch::Tensor parameter(const std::string& name) { return encoder.named_parameters()[name]; }

  // One element by the definition: categorical fields and numeric fields are numbered apart, in the schema's order.
  double element(size_t f, int32_t code, double slope, int64_t d) {
    const bool categorical = schema.fields[f].kind == FieldKind::categorical;
    int64_t before = 0, category_rows = 0;
    for (size_t i = 0; i < f; ++i) {
      if ((schema.fields[i].kind == FieldKind::categorical) != categorical) continue;
      ++before;
      category_rows += schema.fields[i].rows();
    }
    if (categorical) return parameter("lookups.rows")[category_rows + code][d].item<double>();
    if (code == 0) return parameter("numeric.missing")[before][d].item<double>();
    double value = parameter("numeric.starts")[before][d].item<double>();
    for (int32_t bin = 0; bin < code - 1; ++bin) value += parameter("numeric.directions")[before][bin][d].item<double>();
    return value + slope * parameter("numeric.directions")[before][code - 1][d].item<double>();
  }
};

TEST(FieldEmbeddings, EqualsTheDefinitionElementByElement) {
  Toy toy;
  EXPECT_EQ(toy.encoder.width(), 15);
  const torch::Tensor r = toy.forward(*toy.tensors.range(0, 6));
  ASSERT_EQ(r.sizes(), (std::vector<int64_t>{6, 15}));
  for (int64_t i = 0; i < 6; ++i) {
    for (size_t f = 0; f < 5; ++f) {
      const size_t cell = static_cast<size_t>(i) * 5 + f;
      for (int64_t d = 0; d < width; ++d) {
        EXPECT_NEAR(r[i][static_cast<int64_t>(f) * width + d].item<double>(),
                    toy.element(f, toy.rows.codes[cell], toy.rows.slopes[cell], d), 1e-6)
            << "row " << i << ", field " << f << ", dimension " << d;
      }
    }
  }
}

TEST(FieldEmbeddings, PiecewiseIsContinuousAtTheEdgesOfBins) {
  Toy toy;
  EncodedTable rows = toy.rows;
  rows.codes[2] = 1;  // age, first bin, its upper edge
  rows.slopes[2] = 1;
  rows.codes[7] = 2;  // second bin, its lower edge
  rows.slopes[7] = 0;
  const torch::Tensor r = toy.forward(*TableTensors(rows, torch::kCPU, torch::kFloat32).range(0, 2)).narrow(1, 2 * width, width);
  EXPECT_LT(largest_difference(r[0], r[1]), 1e-6);
}

TEST(FieldEmbeddings, TablesOfOneKindOnly) {
  for (const bool categorical : {true, false}) {
    Schema schema = toy_schema();
    std::vector<Field> kept;
    for (const Field& field : schema.fields) {
      if ((field.kind == FieldKind::categorical) == categorical) kept.push_back(field);
    }
    schema.fields = kept;
    EncodedTable rows;
    rows.code_slots = rows.slope_slots = static_cast<int64_t>(kept.size());
    rows.row_numbers = {0, 1};
    rows.codes.assign(2 * kept.size(), 1);
    rows.slopes.assign(2 * kept.size(), 0);
    FieldEmbeddings encoder(schema, count_fields(rows, schema), width);
    GatePass pass = GatePass::evaluation({}, ids(0, 2));
    const auto batch = TableTensors(rows, torch::kCPU, torch::kFloat32).range(0, 2);
    EXPECT_EQ(encoder.forward(*batch, pass).sizes(), (std::vector<int64_t>{2, encoder.width()}));
    EXPECT_EQ(encoder.fine_index(*batch, Attach::interface).sizes(), (std::vector<int64_t>{2, encoder.width()}));
    encoder.settle();
    EXPECT_TRUE(at::isfinite(encoder.forward(*batch, pass)).all().item<bool>());
  }
}

// The mean of the training rows' embeddings, computed by hand.
TEST(FieldEmbeddings, SettleGivesUntrainedCodesTheMeanTrainingEmbedding) {
  Toy toy;
  const torch::Tensor before = toy.forward(*toy.tensors.range(0, 6)).clone();
  const torch::Tensor mean = before.mean(0);
  toy.encoder.settle();
  EXPECT_TRUE(at::equal(toy.forward(*toy.tensors.range(0, 6)), before)) << "training rows are not touched";
  EncodedTable unseen = toy.rows;
  for (size_t i = 0; i < 6; ++i) {
    unseen.codes[i * 5 + 1] = i % 2 == 0 ? 1 : 4;  // a rare colour, blue
    unseen.codes[i * 5 + 2] = 0;                   // no age
    unseen.slopes[i * 5 + 2] = 0;
  }
  const torch::Tensor r = toy.forward(*TableTensors(unseen, torch::kCPU, torch::kFloat32).range(0, 6));
  EXPECT_LT(largest_difference(r.narrow(1, width, width), mean.narrow(0, width, width).expand({6, width})), 1e-6) << "colour";
  EXPECT_LT(largest_difference(r.narrow(1, 2 * width, width), mean.narrow(0, 2 * width, width).expand({6, width})), 1e-6)
      << "age";
  // A missing size was seen in training: it keeps what it learned.
  EXPECT_TRUE(at::equal(r[2].narrow(0, 0, width), before[2].narrow(0, 0, width)));
  const torch::Tensor once = r.clone();
  toy.encoder.settle();
  EXPECT_LT(largest_difference(toy.forward(*TableTensors(unseen, torch::kCPU, torch::kFloat32).range(0, 6)), once), 1e-6)
      << "a second call changes nothing";
}

TEST(FieldEmbeddings, UnitsOfEachKind) {
  const Toy toy;
  const InterfaceUnits dimension = toy.encoder.units(UnitKind::dimension, Attach::interface);
  EXPECT_TRUE(at::equal(dimension.cost, at::ones({15})));
  EXPECT_FALSE(dimension.index.defined());
  EXPECT_EQ(dimension.unit_name(0), "size[0]");
  EXPECT_EQ(dimension.unit_name(14), "colour#bins[2]");
  const InterfaceUnits group = toy.encoder.units(UnitKind::group, Attach::interface);
  EXPECT_TRUE(at::equal(group.cost, at::tensor(std::vector<float>{3, 6, 3, 3})))
      << "a column costs the width of all its encodings";
  EXPECT_TRUE(
      at::equal(group.index, at::tensor(std::vector<int64_t>{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 1, 1, 1}, torch::kInt64)));
  EXPECT_EQ(group.unit_name(1), "colour");
  EXPECT_EQ(group.unit_name(3), "kind");
  const InterfaceUnits fine = toy.encoder.units(UnitKind::fine, Attach::interface);
  EXPECT_EQ(fine.cost.size(0), (5 + 3 + 3) * width) << "values of colour and kind, three numeric fields";
  EXPECT_EQ(fine.unit_name(0), "size[0]");
  EXPECT_EQ(fine.unit_name(1 * width), "colour=(missing)[0]");
  EXPECT_EQ(fine.unit_name(2 * width + 2), "colour=(rare)[2]");
  EXPECT_EQ(fine.unit_name(5 * width + 1), "colour=blue[1]");
  EXPECT_EQ(fine.unit_name(6 * width), "age[0]");
  EXPECT_EQ(fine.unit_name(9 * width), "kind=a[0]");
  EXPECT_EQ(fine.unit_name(10 * width + 2), "colour#bins[2]");
}

TEST(FieldEmbeddings, DimensionsReadColumns) {
  const Toy toy;
  EXPECT_EQ(toy.encoder.column_names(), (std::vector<std::string>{"size", "colour", "age", "kind"}));
  const auto read = toy.encoder.columns_of_dimension();
  ASSERT_EQ(read.size(), 15U);
  const std::vector<int64_t> wanted = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 1, 1, 1};
  for (size_t d = 0; d < 15; ++d) EXPECT_EQ(read[d], (std::vector<int64_t>{wanted[d]})) << d;
}

TEST(FieldEmbeddings, FineIndexNamesTheUnitOfEachElement) {
  const Toy toy;
  const auto batch = toy.tensors.range(0, 6);
  const torch::Tensor index = toy.encoder.fine_index(*batch, Attach::interface);
  const InterfaceUnits fine = toy.encoder.units(UnitKind::fine, Attach::interface);
  ASSERT_EQ(index.sizes(), (std::vector<int64_t>{6, 15}));
  const auto name = [&](int64_t i, int64_t j) { return fine.unit_name(index[i][j].item<int64_t>()); };
  EXPECT_EQ(name(0, 0), "size[0]");
  EXPECT_EQ(name(0, 3), "colour=red[0]");
  EXPECT_EQ(name(2, 4), "colour=green[1]");
  EXPECT_EQ(name(3, 5), "colour=(missing)[2]");
  EXPECT_EQ(name(4, 8), "age[2]");
  EXPECT_EQ(name(0, 9), "kind=a[0]");
  EXPECT_EQ(name(1, 10), "kind=(rare)[1]");
  EXPECT_EQ(name(5, 14), "colour#bins[2]");
}

TEST(FieldEmbeddings, FineUnitsOfADimensionCostOneTogether) {
  const Toy toy;
  const InterfaceUnits fine = toy.encoder.units(UnitKind::fine, Attach::interface);
  EXPECT_NEAR(fine.cost.sum().item<double>(), 15, 1e-5);
  // By dimension, through names: "colour=red[1]" belongs to colour[1].
  std::map<std::string, double> cost;
  for (int64_t unit = 0; unit < fine.cost.size(0); ++unit) {
    const std::string name = fine.unit_name(unit);
    cost[name.substr(0, name.find_first_of("=[")) + name.substr(name.rfind('['))] += fine.cost[unit].item<double>();
  }
  EXPECT_EQ(cost.size(), 15U);
  for (const auto& [name, sum] : cost) EXPECT_NEAR(sum, 1, 1e-6) << name;
}

TEST(FieldEmbeddings, ADimensionIsKeptWhileOneOfItsFineUnitsIsOpen) {
  const Toy toy;
  const InterfaceUnits fine = toy.encoder.units(UnitKind::fine, Attach::interface);
  torch::Tensor open = at::zeros({fine.cost.size(0)}, torch::kBool);
  EXPECT_FALSE(toy.encoder.dimensions_of_fine_units(open, Attach::interface).any().item<bool>());
  for (int64_t unit = 0; unit < open.size(0); ++unit) {
    const std::string name = fine.unit_name(unit);
    if (name == "colour=blue[1]" || name == "age[2]" || name == "colour#bins[0]") open[unit] = true;
  }
  const torch::Tensor kept = toy.encoder.dimensions_of_fine_units(open, Attach::interface);
  EXPECT_TRUE(at::equal(kept, flags({0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0})));
}

TEST(FieldEmbeddings, ParametersOfADimension) {
  const Toy toy;
  // size: missing, start, one direction; colour: five rows; age: missing, start, three directions; kind: three rows; one bin.
  EXPECT_EQ(toy.encoder.parameters_of_dimension(), (std::vector<int64_t>{3, 3, 3, 5, 5, 5, 5, 5, 5, 3, 3, 3, 3, 3, 3}));
}

TEST(FieldEmbeddings, GradientsReachEveryParameterThatARowUses) {
  Toy toy;
  toy.forward(*toy.tensors.range(0, 6)).square().sum().backward();
  const torch::Tensor categories = toy.parameter("lookups.rows").grad();
  const torch::Tensor used = categories.abs().sum(1).gt(0);
  EXPECT_TRUE(at::equal(used, flags({1, 0, 1, 1, 0, 1, 1, 1}))) << "colour: missing, red, green; kind: all";
  EXPECT_TRUE(toy.parameter("numeric.starts").grad().ne(0).all().item<bool>());
  EXPECT_TRUE(toy.parameter("numeric.directions").grad()[1].ne(0).all().item<bool>());
  EXPECT_EQ(toy.parameter("numeric.missing").grad()[1].abs().sum().item<double>(), 0) << "no row lacks its age";
}

}  // namespace
}  // namespace l0gm
