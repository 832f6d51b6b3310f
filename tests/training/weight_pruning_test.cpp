#include "training/weight_pruning.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/table/fit.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "model/table_model.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

using testing_tools::differences;
using testing_tools::result_of;
using testing_tools::tiny_config;
using testing_tools::train;
using testing_tools::Watcher;

TensorMap best_of(const std::filesystem::path& run) { return load_tensors(run / "checkpoint" / "best.safetensors").tensors; }
TensorMap state_of(const std::filesystem::path& run) { return load_tensors(run / "checkpoint" / "state.safetensors").tensors; }

std::vector<std::string> with_share(std::vector<std::string> further) {
  further.insert(further.begin(), {"gate.unit=none", "prune.share=0.25", "train.ema=0"});
  return further;
}

double share_of_nonzero(const torch::Tensor& tensor) { return tensor.ne(0).to(torch::kFloat64).mean().item<double>(); }

TEST(WeightPruning, TheMaskHoldsAndTheShareIsExact) {
  for (const std::string rounds : {"1", "3"}) {
    const TemporaryFolder folder;
    train(tiny_config(with_share({"prune.rounds=" + rounds})), folder.path() / "run");
    const TensorMap best = best_of(folder.path() / "run"), state = state_of(folder.path() / "run");
    const torch::Tensor weight = best.at("head.deep.weight0");  // 120 x 16
    EXPECT_EQ(weight.ne(0).sum().item<int64_t>(), std::llround(0.25 * static_cast<double>(weight.numel()))) << rounds;
    EXPECT_EQ(share_of_nonzero(best.at("head.deep.bias0")), 1) << "biases stay";
    const torch::Tensor mask = state.at("prune/mask/head.deep.weight0");
    EXPECT_TRUE(weight.ne(0).equal(mask.ne(0)));
    EXPECT_TRUE(state.at("model/head.deep.weight0").mul(1 - mask).eq(0).all().item<bool>());
    const nlohmann::json summary = nlohmann::json::parse(read_file(folder.path() / "run" / "summary.json"));
    const auto all = summary.at("prunable_weights").get<double>();
    EXPECT_NEAR(summary.at("nonzero_weights").get<double>() / all, 0.25, 0.01);
  }
}

TEST(WeightPruning, OverTheWholeModelTheShareIsExactToo) {
  const TemporaryFolder folder;
  train(tiny_config(with_share({"prune.scope=model"})), folder.path() / "run");
  const nlohmann::json summary = nlohmann::json::parse(read_file(folder.path() / "run" / "summary.json"));
  EXPECT_EQ(summary.at("nonzero_weights").get<int64_t>(), std::llround(0.25 * summary.at("prunable_weights").get<double>()));
}

TEST(WeightPruning, TheLargestStayAndRandomOnesDoNotFollowSize) {
  const TemporaryFolder folder;
  // The last round comes before the last step: what is left was the largest then, and no gradient step follows but one.
  train(tiny_config(with_share({"prune.until=0.98", "train.lr=1e-12"})), folder.path() / "large");
  train(tiny_config(with_share({"prune.until=0.98", "train.lr=1e-12", "prune.by=random"})), folder.path() / "random");
  train(tiny_config({"gate.unit=none", "train.ema=0", "train.lr=1e-12"}), folder.path() / "dense");
  const torch::Tensor dense = best_of(folder.path() / "dense").at("head.deep.weight0").abs();
  const torch::Tensor large = best_of(folder.path() / "large").at("head.deep.weight0").ne(0);
  EXPECT_GE(dense.masked_select(large).min().item<double>(), dense.masked_select(large.logical_not()).max().item<double>());
  const torch::Tensor random = best_of(folder.path() / "random").at("head.deep.weight0").ne(0);
  EXPECT_LT(random.logical_and(large).sum().item<int64_t>(), large.sum().item<int64_t>() / 2);
}

// A model whose weights change at every step, without a trainer.
class Rewinding : public ::testing::Test {
 protected:
  Rewinding() {
    testing_tools::one_thread();
    const Config config = tiny_config({"gate.unit=none"});
    const TableDataset data = load_table(config.data, 0);
    const Schema schema = fit_schema(data.table, data.label, data.train, config.table, {}, {});
    const EncodedTable rows = encode_rows(data.table, RowEncoder(schema), data.train, true);
    model_ = make_table_model(schema, count_fields(rows, schema), {config.model, config.fm, config.cin}, config.gate, 0);
    optimiser_ = std::make_unique<AdamW>(std::vector<AdamW::Group>{{1e-3, 0, model_->trained_weights()}});
    gate_.unit = UnitKind::none;
  }
  void change_weights() {
    torch::NoGradGuard no_grad;
    for (auto& [name, weight] : model_->trained_weights()) torch::Tensor(weight).add_(at::randn_like(weight) * 0.1);
  }
  TensorMap weights() const {
    TensorMap copies;
    for (const auto& [name, weight] : model_->trained_weights()) copies[name] = weight.detach().clone();
    return copies;
  }
  WeightPruning pruning(const PruneOptions& options, int64_t steps) {
    return {model_, *optimiser_, options, gate_, Schedule(ScheduleOptions{}), steps, 0};
  }
  GateOptions gate_;
  std::shared_ptr<Model> model_;
  std::unique_ptr<AdamW> optimiser_;
};

TEST_F(Rewinding, WeightsAreTheEarlyOnesUnderTheMask) {
  PruneOptions options;
  options.share = 0.1;
  options.rounds = 2;
  options.until = 0.8;
  options.rewind = 0.1;
  WeightPruning pruning = this->pruning(options, 20);  // early: step 2; rounds before 8 and 16
  TensorMap early;
  for (int64_t step = 0; step < 20; ++step) {
    if (step == 2) early = weights();
    const bool changed = pruning.before_step(step);
    EXPECT_EQ(changed, step == 8 || step == 16) << step;
    EXPECT_EQ(pruning.is_over(), step >= 16) << step;
    if (changed) {
      const TensorMap masks = with_prefix(pruning.memory(), "mask/"), now = weights();
      ASSERT_FALSE(masks.empty());
      for (const auto& [name, weight] : now) {
        const auto mask = masks.find(name);
        EXPECT_TRUE(weight.equal(mask == masks.end() ? early.at(name) : early.at(name) * mask->second)) << name << step;
      }
      const torch::Tensor& layer = masks.at("head.deep.weight0");
      EXPECT_EQ(layer.sum().item<int64_t>(),
                std::llround(std::pow(0.1, step == 8 ? 0.5 : 1) * static_cast<double>(layer.numel())));
    }
    change_weights();
    pruning.apply();
  }
  const auto [all, left] = pruning.count();
  EXPECT_NEAR(static_cast<double>(left) / static_cast<double>(all), 0.1, 0.01);
}

TEST_F(Rewinding, TheLearningRateStartsAgain) {
  PruneOptions options;
  options.share = 0.5;
  options.rewind = 0.1;
  WeightPruning pruning = this->pruning(options, 100);
  std::vector<int64_t> rates;
  for (int64_t step = 0; step < 100; ++step) {
    pruning.before_step(step);
    rates.push_back(pruning.rate_step(step));
  }
  EXPECT_EQ(rates[0], 0);
  EXPECT_EQ(rates[49], 98) << "the training that finds the ticket is a whole one";
  EXPECT_EQ(rates[50], 10) << "from the early weights on";
  EXPECT_EQ(rates[99], 98);
  EXPECT_TRUE(std::is_sorted(rates.begin() + 50, rates.end()));
}

TEST_F(Rewinding, AMaskOfUnitsKeepsItsGatesAndLosesNoWeight) {
  gate_.unit = UnitKind::dimension;
  gate_.logits = LogitKind::fixed;
  PruneOptions options;
  options.rewind = 0.1;
  WeightPruning pruning = this->pruning(options, 10);  // early: step 1; gates are fixed before step 6
  TensorMap early;
  for (int64_t step = 0; step < 10; ++step) {
    if (step == 1) early = weights();
    if (pruning.before_step(step)) {
      EXPECT_EQ(step, 6);
      for (const auto& [name, weight] : weights()) EXPECT_TRUE(weight.equal(early.at(name))) << name;
    }
    change_weights();
    pruning.apply();
  }
  EXPECT_TRUE(pruning.is_over());
  EXPECT_FALSE(pruning.prunes());
}

TEST(WeightPruning, AnInterruptedRunEndsInTheSameBytes) {
  const std::vector<std::string> ticket = with_share({"prune.rewind=0.1", "prune.rounds=2", "train.checkpoint_every=0.5"});
  const TemporaryFolder folder;
  train(tiny_config(ticket), folder.path() / "whole");
  for (const int64_t stop_at : {5, 12, 30}) {
    const auto run = folder.path() / std::to_string(stop_at);
    Watcher watcher;
    watcher.stop_at = stop_at;
    EXPECT_FALSE(train(tiny_config(ticket), run, watcher));
    Watcher rest;
    EXPECT_TRUE(train(tiny_config(ticket), run, rest, true));
    EXPECT_EQ(differences(result_of(folder.path() / "whole"), result_of(run)), std::vector<std::string>{}) << stop_at;
  }
}

TEST(WeightPruning, ATicketOfTheInterfaceHasTheShareThatWasAsked) {
  const TemporaryFolder folder;
  train(tiny_config({"gate.target_active=0.25", "gate.logits=static", "gate.static_by=magnitude", "schedule.warmup=0.45",
                     "schedule.anneal_until=0.5", "prune.rewind=0.1"}),
        folder.path() / "run");
  const TableRun run(folder.path() / "run", testing_tools::one_thread());
  EXPECT_EQ(run.model->open_dimensions(run.gate_state).sum().item<int64_t>(), 30);
}

TEST(WeightPruning, WhatDoesNotFitIsRefused) {
  const auto says = [](const std::vector<std::string>& assignments, const std::string& part) {
    const std::string message = message_of<UserError>([&] { tiny_config(assignments); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  says({"prune.share=0.1"}, "gate.unit = none");
  says({"prune.rewind=0.1"}, "gate.logits = static");
  says({"gate.unit=none", "prune.share=0.1", "prune.rewind=0.6"}, "not before the first round");
  says({"gate.unit=none", "prune.rounds=3"}, "prune.share is set");
  const TemporaryFolder folder;
  const std::string few =
      message_of<UserError>([&] { train(tiny_config(with_share({"prune.rounds=100"})), folder.path() / "run"); });
  EXPECT_NE(few.find("too few"), std::string::npos) << few;
}

}  // namespace
}  // namespace l0gm
