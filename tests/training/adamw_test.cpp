#include "training/adamw.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

torch::Tensor tensor_of(const nlohmann::json& values, const std::vector<int64_t>& shape) {
  return at::tensor(values.get<std::vector<double>>(), torch::kFloat64).view(shape);
}

double largest_difference(const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().max().item<double>(); }

nlohmann::json reference() {
  return nlohmann::json::parse(read_file(std::filesystem::path(L0GM_TEST_REFERENCE_DIR) / "adamw_reference.json"));
}

class Reference {
 public:
  Reference() : json_(reference()) {
    for (const auto& [name, shape] : json_["shapes"].items()) {
      shapes_[name] = shape.get<std::vector<int64_t>>();
      parameters[name] = tensor_of(json_["start"][name], shapes_[name]).requires_grad_(true);
    }
  }
  AdamW optimiser() {
    std::vector<AdamW::Group> groups;
    for (const auto& group : json_["groups"]) {
      AdamW::Group made{group["lr"], group["weight_decay"], {}};
      for (const std::string name : group["names"]) made.parameters[name] = parameters.at(name);
      groups.push_back(made);
    }
    return AdamW(groups);
  }
  void set_gradients(const nlohmann::json& step) {
    for (auto& [name, parameter] : parameters) {
      const auto& gradient = step["gradients"][name];
      parameter.mutable_grad() = gradient.is_null() ? torch::Tensor() : tensor_of(gradient, shapes_[name]);
    }
  }
  void expect_parameters(const nlohmann::json& step) {
    for (auto& [name, parameter] : parameters) {
      const torch::Tensor wanted = tensor_of(step["parameters"][name], shapes_[name]);
      EXPECT_LT(largest_difference(parameter.detach(), wanted), 1e-12) << name << "\n" << parameter << "\n" << wanted;
    }
  }
  const nlohmann::json& json() const { return json_; }
  TensorMap parameters;

 private:
  nlohmann::json json_;
  std::map<std::string, std::vector<int64_t>> shapes_;
};

TEST(AdamW, AFactorInMemoryIsTheSameFactor) {
  std::vector<torch::Tensor> ends;
  for (const bool in_memory : {false, true}) {
    at::manual_seed(4);
    torch::Tensor weight = at::randn({5}).requires_grad_(true), logit = at::randn({3}).requires_grad_(true);
    AdamW optimiser({{0.01, 0.1, {{"weight", weight}}}, {0.02, 0, {{"logit", logit}}, /*constant=*/true}});
    for (int step = 1; step <= 10; ++step) {
      weight.mutable_grad() = at::randn({5});
      logit.mutable_grad() = at::randn({3});
      const double factor = 1.0 / step;
      in_memory ? optimiser.step(at::scalar_tensor(factor, torch::kFloat64), 1.0) : optimiser.step(factor, 1.0);
    }
    ends.push_back(at::cat({weight.detach(), logit.detach()}));
  }
  EXPECT_LT(largest_difference(ends[0], ends[1]), 1e-6);
}

TEST(AdamW, StepsAsTorchDoes) {
  const nlohmann::json runs = Reference().json()["runs"];
  ASSERT_EQ(runs.size(), 3u);
  for (const auto& run : runs) {
    SCOPED_TRACE("clip " + run["clip"].dump());
    Reference made;
    AdamW optimiser = made.optimiser();
    for (const auto& step : run["steps"]) {
      made.set_gradients(step);
      EXPECT_NEAR(optimiser.step(step["factor"], run["clip"]).item<double>(), step["norm"].get<double>(), 1e-9);
      made.expect_parameters(step);
    }
  }
}

TEST(AdamW, ClippingMatters) {  // else the reference's second run would show nothing
  const nlohmann::json runs = Reference().json()["runs"];
  EXPECT_NE(runs[0]["steps"].back()["parameters"], runs[1]["steps"].back()["parameters"]);
  EXPECT_EQ(runs[0]["steps"].back()["parameters"], runs[2]["steps"].back()["parameters"]);
}

TEST(AdamW, StateGoesOnInAnotherOptimiser) {
  Reference first, second;
  const auto& steps = first.json()["runs"][1]["steps"];
  AdamW optimiser = first.optimiser();
  for (size_t i = 0; i < 4; ++i) {
    first.set_gradients(steps[i]);
    optimiser.step(steps[i]["factor"], 1);
  }
  const TemporaryFolder folder;
  save_tensors(folder.path() / "state.safetensors", optimiser.state(), {});
  copy_into(first.parameters, second.parameters, "the first");
  AdamW other = second.optimiser();
  other.restore(load_tensors(folder.path() / "state.safetensors").tensors, "state");
  for (size_t i = 4; i < steps.size(); ++i) {
    second.set_gradients(steps[i]);
    other.step(steps[i]["factor"], 1);
    second.expect_parameters(steps[i]);
  }
}

TEST(AdamW, StartsAnewAsIfNoStepHadBeen) {
  const auto after = [](bool reset) {
    torch::Tensor weight = at::zeros({2}, torch::kFloat64).requires_grad_(true);
    AdamW optimiser({{0.1, 0, {{"weight", weight}}}});
    for (int step = 0; step < 5; ++step) {
      weight.mutable_grad() = at::tensor({-1.0, 3.0}, torch::kFloat64);
      optimiser.step(1, 0);
    }
    const torch::Tensor before = weight.detach().clone();
    if (reset) optimiser.reset();
    weight.mutable_grad() = at::tensor({1.0, 2.0}, torch::kFloat64);
    optimiser.step(1, 0);
    return weight.detach() - before;
  };
  const torch::Tensor anew = after(true), on = after(false);
  EXPECT_NEAR(anew[0].item<double>(), -0.1, 1e-6) << "a first step goes the whole rate against the gradient";
  EXPECT_NEAR(anew[1].item<double>(), -0.1, 1e-6);
  EXPECT_GT(on[0].item<double>(), 0) << "else this test could not tell";
}

TEST(AdamW, ForeignStateIsRefused) {
  Reference made;
  AdamW optimiser = made.optimiser();
  TensorMap state = optimiser.state();
  state.erase("first/a");
  EXPECT_NE(message_of<UserError>([&] { optimiser.restore(state, "old.safetensors"); }).find("old.safetensors lacks 'first/a'"),
            std::string::npos);
  state["first/a"] = at::zeros({7});
  EXPECT_NE(message_of<UserError>([&] { optimiser.restore(state, "x"); }).find("another shape"), std::string::npos);
}

TEST(AdamW, ParametersWithoutGradientAreLeftAlone) {
  torch::Tensor still = at::ones({2}).requires_grad_(true), moving = at::ones({2}).requires_grad_(true);
  AdamW optimiser({{0.1, 0.5, {{"still", still}, {"moving", moving}}}});
  moving.mutable_grad() = at::ones({2});
  optimiser.step(1, 0);
  EXPECT_TRUE(at::equal(still.detach(), at::ones({2})));  // no decay either
  EXPECT_LT(moving.max().item<double>(), 0.9);
  EXPECT_EQ(optimiser.state().at("steps/still").item<double>(), 0);
  EXPECT_EQ(optimiser.state().at("steps/moving").item<double>(), 1);
}

TEST(AdamW, ClearGradients) {
  torch::Tensor parameter = at::ones({2}).requires_grad_(true);
  AdamW optimiser({{0.1, 0, {{"p", parameter}}}});
  parameter.mutable_grad() = at::ones({2});
  optimiser.clear_gradients();
  EXPECT_FALSE(parameter.grad().defined());
}

TEST(AdamW, WeightsSayThatTheyWereWritten) {
  const torch::Tensor weight = at::ones({3}).requires_grad_(true), idle = at::ones({3}).requires_grad_(true);
  AdamW optimiser({{0.1, 0, {{"weight", weight}, {"idle", idle}}}});
  weight.mutable_grad() = at::ones({3});
  const uint32_t before = weight._version(), of_idle = idle._version();
  optimiser.step(1, 0);
  EXPECT_GT(weight._version(), before);
  EXPECT_EQ(idle._version(), of_idle);
}

}  // namespace
}  // namespace l0gm
