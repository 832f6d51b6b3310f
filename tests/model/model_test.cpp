#include "model/model.h"
#include "model/table_model.h"

#include "encoders/table/toy_table.h"
#include "gate/toy_gate.h"
#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const GateState warming{Phase::warmup, 2, 0, 1}, annealing{Phase::anneal, 1, 1, 1}, hardened{Phase::harden, 0.5, 1, 1};

ModelOptions small(int64_t members = 1) {
  ModelOptions options;
  options.name = "mlp";
  options.width = 3;
  options.depth = 1;
  options.hidden = 8;
  options.members = members;
  return options;
}

GateOptions gate_of(UnitKind unit, LogitKind logits = LogitKind::global) {
  GateOptions options;
  options.unit = unit;
  options.logits = logits;
  return options;
}

std::shared_ptr<Model> toy_model(const GateOptions& gate, uint64_t seed = 1, const ModelOptions& options = small()) {
  return make_table_model(toy_schema(), count_fields(toy_rows(), toy_schema()), {options, {}, {}, false}, gate, seed);
}

torch::Tensor run(Model& model, const GateState& state, int64_t step = 0) {
  const auto batch = TableTensors(toy_rows(), torch::kCPU, torch::kFloat32).range(0, 6);
  GatePass pass(state, 3, step, batch->example_ids);
  return model.forward(*batch, pass);
}

void set_logits(const Model& model, double value) {
  torch::NoGradGuard no_grad;
  HardConcrete gate = model.sites()[0]->gate;
  gate->logits().fill_(value);
}

TensorMap tensors_of(const Model& model) {
  TensorMap tensors;
  for (const auto& item : model.named_parameters()) tensors[item.key()] = item.value();
  for (const auto& item : model.named_buffers()) tensors[item.key()] = item.value();
  return tensors;
}

TEST(Model, GatesOffEqualTheDenseModelBitForBit) {
  const auto dense = toy_model(gate_of(UnitKind::none));
  EXPECT_TRUE(dense->sites().empty());
  EXPECT_TRUE(dense->gates().empty());
  for (const UnitKind unit : {UnitKind::dimension, UnitKind::group, UnitKind::fine}) {
    const auto gated = toy_model(gate_of(unit));
    ASSERT_EQ(gated->sites().size(), 1U);
    for (const bool training : {true, false}) {
      dense->train(training);
      gated->train(training);
      EXPECT_TRUE(at::equal(run(*gated, warming), run(*dense, warming))) << name_of_enum(unit) << " in warm-up";
    }
    set_logits(*gated, 9);
    EXPECT_TRUE(at::equal(run(*gated, hardened), run(*dense, hardened))) << name_of_enum(unit) << ", all open";
    set_logits(*gated, 0);
    gated->train();
    EXPECT_FALSE(at::allclose(run(*gated, annealing), run(*dense, annealing))) << "gates do something";
  }
}

TEST(Model, TheSeedDecidesTheParameters) {
  const auto gate = gate_of(UnitKind::dimension);
  const TensorMap a = tensors_of(*toy_model(gate, 1)), b = tensors_of(*toy_model(gate, 1)), c = tensors_of(*toy_model(gate, 2));
  for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
  EXPECT_FALSE(at::equal(a.at("encoder.lookups.rows"), c.at("encoder.lookups.rows")));
  EXPECT_FALSE(at::equal(a.at("head.deep.weight0"), c.at("head.deep.weight0")));
}

TEST(Model, ClosedUnitsDoNotReachTheOutput) {
  for (const UnitKind unit : {UnitKind::dimension, UnitKind::group, UnitKind::fine}) {
    const auto model = toy_model(gate_of(unit));
    model->eval();
    const GateSite& site = *model->sites()[0];
    HardConcrete gate = site.gate;
    {
      torch::NoGradGuard no_grad;
      for (int64_t j = 0; j < gate->units(); ++j) gate->logits()[j] = site.unit_name(j).starts_with("colour") ? -9 : 9;
    }
    const torch::Tensor before = run(*model, hardened);
    {
      torch::NoGradGuard no_grad;
      model->named_parameters()["encoder.lookups.rows"].narrow(0, 0, 5).normal_();  // colours
      EXPECT_TRUE(at::equal(run(*model, hardened), before)) << name_of_enum(unit);
      model->named_parameters()["encoder.lookups.rows"].narrow(0, 5, 3).normal_();  // kinds
    }
    EXPECT_FALSE(at::allclose(run(*model, hardened), before)) << name_of_enum(unit);
  }
}

TEST(Model, OutputsPerMemberAndClass) {
  EXPECT_EQ(run(*toy_model(gate_of(UnitKind::dimension), 1, small(4)), annealing).sizes(), (std::vector<int64_t>{6, 4, 1}));
  Schema schema = toy_schema();
  schema.classes = {"a", "b", "c"};
  schema.class_rows = {2, 2, 2};
  const auto model =
      make_table_model(schema, count_fields(toy_rows(), schema), {small(), {}, {}, false}, gate_of(UnitKind::none), 0);
  EXPECT_EQ(run(*model, annealing).sizes(), (std::vector<int64_t>{6, 1, 3}));
}

TEST(Model, DropoutOfTheInterfaceWorksInTrainingOnly) {
  ModelOptions options = small();
  options.dropout = 0;
  options.interface_dropout = 0.5;
  const auto model = toy_model(gate_of(UnitKind::none), 1, options);
  model->train();
  EXPECT_FALSE(at::allclose(run(*model, hardened, 0), run(*model, hardened, 1)));
  model->eval();
  EXPECT_TRUE(at::equal(run(*model, hardened, 0), run(*model, hardened, 1)));
}

TEST(Model, ParameterCount) {
  ModelOptions options = small(2);
  options.ensemble = EnsembleKind::heads;
  const auto model = toy_model(gate_of(UnitKind::dimension), 1, options);
  // Encoder: dimensions of 3, 5, 5, 3 and 3 parameters, three of each; heads: 15 x 8 + 8 + 8 + 1, twice. Gates are not served.
  EXPECT_EQ(model->parameter_count(), 3 * (3 + 5 + 5 + 3 + 3) + 2 * (15 * 8 + 8 + 8 + 1));
  EXPECT_EQ(toy_model(gate_of(UnitKind::none), 1, options)->parameter_count(), model->parameter_count());
  torch::Tensor kept = at::ones({15}, torch::kBool);
  kept[0] = false;  // size[0]
  kept[4] = false;  // colour[1]
  EXPECT_EQ(model->parameter_count(kept), model->parameter_count() - 3 - 5 - 2 * 2 * 8);
  EXPECT_EQ(model->parameter_count(at::zeros({15}, torch::kBool)), 2 * (8 + 8 + 1));
}

TEST(Model, SavedAndLoadedItPredictsTheSame) {
  const TemporaryFolder folder;
  for (const GateOptions& gate :
       {gate_of(UnitKind::none), gate_of(UnitKind::group), gate_of(UnitKind::dimension, LogitKind::instance)}) {
    const auto model = toy_model(gate, 1), other = toy_model(gate, 2);
    model->eval();
    other->eval();
    ASSERT_FALSE(at::equal(run(*model, hardened), run(*other, hardened)));
    save_tensors(folder.path() / "model.safetensors", tensors_of(*model), {});
    copy_into(load_tensors(folder.path() / "model.safetensors").tensors, tensors_of(*other), "model.safetensors");
    EXPECT_TRUE(at::equal(run(*model, hardened), run(*other, hardened)));
  }
  // Another model's file is refused.
  save_tensors(folder.path() / "gated.safetensors", tensors_of(*toy_model(gate_of(UnitKind::group))), {});
  const auto dense = toy_model(gate_of(UnitKind::none));
  const std::string message = message_of<UserError>(
      [&] { copy_into(load_tensors(folder.path() / "gated.safetensors").tensors, tensors_of(*dense), "gated.safetensors"); });
  EXPECT_NE(message.find("gated.safetensors"), std::string::npos) << message;
}

TEST(Model, PlaceChangesReals) {
  const auto model = toy_model(gate_of(UnitKind::group));
  model->eval();
  const torch::Tensor before = run(*model, hardened);
  place(*model, torch::kCPU, torch::kFloat64);
  for (const auto& [name, tensor] : tensors_of(*model)) {
    EXPECT_TRUE(tensor.scalar_type() == torch::kFloat64 || tensor.scalar_type() == torch::kInt64) << name;
  }
  const auto batch = TableTensors(toy_rows(), torch::kCPU, torch::kFloat64).range(0, 6);
  GatePass pass = GatePass::evaluation(hardened, batch->example_ids);
  const torch::Tensor after = model->forward(*batch, pass);
  EXPECT_EQ(after.scalar_type(), torch::kFloat64);
  EXPECT_LT(largest_difference(after, before), 1e-5);
  EXPECT_EQ(model->sites()[0]->index.scalar_type(), torch::kInt64);
}

TEST(Model, AGateOnTheInputClosesAllThatAFieldBrings) {
  GateOptions gate = gate_of(UnitKind::dimension);
  gate.attach = Attach::input;
  const auto model = toy_model(gate);
  model->eval();
  HardConcrete logits = model->sites()[0]->gate;
  EXPECT_EQ(model->sites()[0]->name, "input");
  ASSERT_EQ(logits->units(), 5) << "one per field";
  set_logits(*model, 9);
  const torch::Tensor open = run(*model, hardened);
  {
    torch::NoGradGuard no_grad;
    logits->logits()[1] = -9;  // colour's values; its bins stay
  }
  EXPECT_TRUE(at::equal(model->open_dimensions(hardened), flags({1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1})));
  const torch::Tensor closed = run(*model, hardened);
  EXPECT_FALSE(at::allclose(closed, open));
  torch::NoGradGuard no_grad;
  model->named_parameters()["encoder.lookups.rows"].narrow(0, 0, 5).normal_();
  EXPECT_TRUE(at::equal(run(*model, hardened), closed));
}

}  // namespace
}  // namespace l0gm
