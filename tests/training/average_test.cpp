#include "training/average.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/table/encoded.h"
#include "data/table/fit.h"
#include "model/table_model.h"

namespace l0gm {
namespace {

// Two columns; the category "unseen in training" keeps an untrained embedding row that settle() fills in.
std::shared_ptr<Model> small_model(uint64_t seed) {
  TextTable table({"colour", "size", "y"});
  for (int i = 0; i < 40; ++i) {
    const std::string colour = i % 2 == 0 ? "red" : "blue", size = std::to_string(i * i % 17), label = i % 3 == 0 ? "yes" : "no";
    table.add_row({colour, size, label});
  }
  std::vector<int64_t> rows(40);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
  const Schema schema = fit_schema(table, 2, rows, {}, {}, {});
  const auto counts = count_fields(encode_rows(table, RowEncoder(schema), rows, true), schema);
  ModelOptions options;
  options.name = "mlp";
  options.width = 3;
  options.hidden = 5;
  options.depth = 1;
  GateOptions gate;
  gate.lambda = 1e-3;
  return make_table_model(schema, counts, {options, {}, {}, false}, gate, seed);
}

void add_to_all(Model& model, double by) {
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : model.parameters()) parameter.add_(by);
}

TensorMap copies(const TensorMap& tensors) {
  TensorMap result;
  for (const auto& [name, tensor] : tensors) result[name] = tensor.detach().clone();
  return result;
}

bool equal(const TensorMap& a, const TensorMap& b) {
  return a.size() == b.size() &&
         std::all_of(a.begin(), a.end(), [&](const auto& item) { return at::equal(item.second, b.at(item.first)); });
}

TEST(Average, FollowsTheWeightsAndAYoungOneForgetsFaster) {
  const auto model = small_model(0);
  AveragedWeights average(model, 0.9);
  double expected = model->state().begin()->second.flatten()[0].item<double>();
  const std::string name = model->state().begin()->first;
  ASSERT_FALSE(name.starts_with("gate.")) << name;
  for (int n = 1; n <= 200; ++n) {
    add_to_all(*model, 0.125);
    average.update();
    const double live = model->state().at(name).flatten()[0].item<double>();
    const double decay = std::min(0.9, n / (n + 10.0));
    expected = decay * expected + (1 - decay) * live;
    EXPECT_NEAR(average.state().at(name).flatten()[0].item<double>(), expected, 1e-4) << n;
  }
  // A straight line is followed at a distance of decay / (1 - decay) steps.
  EXPECT_NEAR(model->state().at(name).flatten()[0].item<double>() - expected, 0.125 * 9, 1e-3);
}

TEST(Average, AWeightInMemoryIsTheSameWeight) {
  const auto one = small_model(0), other = small_model(0);
  AveragedWeights plain(one, 0.9), live(other, 0.9);
  for (int n = 0; n < 20; ++n) {
    add_to_all(*one, 0.125);
    add_to_all(*other, 0.125);
    plain.update();
    live.update(at::scalar_tensor(live.next_weight(), torch::kFloat64));
  }
  for (const auto& [name, tensor] : plain.state()) EXPECT_TRUE(at::allclose(tensor, live.state().at(name), 1e-5, 1e-6)) << name;
}

TEST(Average, GatesAreNotAveraged) {
  const auto model = small_model(0);
  AveragedWeights average(model, 0.9);
  size_t gates = 0;
  for (const auto& [name, unused] : model->state()) {
    gates += name.starts_with("gate.");
    EXPECT_EQ(average.state().contains(name), !name.starts_with("gate.")) << name;
  }
  ASSERT_GT(gates, 0u);
  add_to_all(*model, 1);
  const TensorMap before = copies(model->state());
  const AveragedWeights::InUse in_use(average);
  for (const auto& [name, tensor] : model->state()) {
    if (name.starts_with("gate.")) EXPECT_TRUE(at::equal(tensor, before.at(name))) << name;
  }
}

TEST(Average, ResetStartsAgain) {
  const auto model = small_model(0);
  AveragedWeights average(model, 0.99);
  for (int n = 0; n < 50; ++n) average.update();
  add_to_all(*model, 1);
  average.reset();
  EXPECT_EQ(average.state().at("updates").item<int64_t>(), 0);
  for (const auto& [name, tensor] : average.state()) {
    if (name != "updates") EXPECT_TRUE(at::equal(tensor, model->state().at(name))) << name;
  }
  add_to_all(*model, 1);  // the copy is one: it does not move with the weights
  const std::string name = model->state().begin()->first;
  EXPECT_NEAR((model->state().at(name) - average.state().at(name)).mean().item<double>(), 1, 1e-5);
  average.update();  // young again: 1/11 stays, whatever the decay
  EXPECT_NEAR((model->state().at(name) - average.state().at(name)).mean().item<double>(), 1.0 / 11, 1e-5);
}

TEST(Average, InUseLendsTheModelAndGivesItBack) {
  const auto model = small_model(0);
  AveragedWeights average(model, 0.9);
  add_to_all(*model, 1);
  average.update();
  add_to_all(*model, 1);
  const TensorMap live = copies(model->state()), kept = copies(average.state());
  {
    const AveragedWeights::InUse in_use(average);
    EXPECT_FALSE(equal(copies(model->state()), live));
    EXPECT_TRUE(at::equal(model->state().at("encoder.numeric.directions"), kept.at("encoder.numeric.directions")));
    // Settled: a category never seen in training has the mean training embedding, and not what it was drawn as.
    EXPECT_FALSE(at::equal(model->state().at("encoder.lookups.rows"), kept.at("encoder.lookups.rows")));
  }
  EXPECT_TRUE(equal(copies(model->state()), live));
  EXPECT_TRUE(equal(copies(average.state()), kept));
}

TEST(Average, StateGoesOnElsewhere) {
  const auto first = small_model(0), second = small_model(1);
  AveragedWeights average(first, 0.95), other(second, 0.95);
  EXPECT_FALSE(equal(average.state(), other.state()));
  for (int n = 0; n < 5; ++n) {
    add_to_all(*first, 0.1);
    average.update();
  }
  copy_into(copies(first->state()), second->state(), "first");
  copy_into(copies(average.state()), other.state(), "first");
  for (const auto& model : {first, second}) add_to_all(*model, 0.1);
  average.update();
  other.update();
  EXPECT_TRUE(equal(average.state(), other.state()));
}

}  // namespace
}  // namespace l0gm
