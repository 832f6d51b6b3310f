#include "heads/hidden_gates.h"

#include "gate/toy_gate.h"
#include "heads/batch_ensemble.h"
#include "heads/deep.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

GateOptions on_hidden() {
  GateOptions options;
  options.attach = Attach::hidden;
  return options;
}

const GateState fixed_gates{Phase::harden, 0.5, 1, 1};

template <class AnyHead>
torch::Tensor said(AnyHead& head, const torch::Tensor& x) {
  head.eval();
  GatePass pass = GatePass::evaluation(fixed_gates, ids(0, x.size(0)));
  return head.forward(x, Batch{}, pass);
}

void set_logits(const std::vector<std::shared_ptr<GateSite>>& sites, const std::vector<double>& logits) {
  torch::NoGradGuard no_grad;
  for (const auto& site : sites) HardConcrete(site->gate)->logits().copy_(reals(logits));
}

TEST(HiddenGates, AClosedNeuronSaysNothing) {
  DeepHead head(4, 2, 3, 2, 2, 0);
  const auto sites = head.make_sites(on_hidden());
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0]->gate->units(), 3);
  set_logits(sites, {3, -3, 3});
  const torch::Tensor x = at::randn({6, 4}), before = said(head, x);
  torch::NoGradGuard no_grad;
  for (const torch::Tensor& weight : {head.weights()[1], head.weights()[2]}) torch::Tensor(weight).select(1, 1).fill_(100);
  EXPECT_LT(largest_difference(said(head, x), before), 1e-6);
  for (const torch::Tensor& weight : {head.weights()[1]}) torch::Tensor(weight).select(1, 0).fill_(100);
  EXPECT_GT(largest_difference(said(head, x), before), 1e-3) << "an open one does";
}

TEST(HiddenGates, OpenLayersSayTheSameAndAreSmaller) {
  DeepHead head(4, 2, 3, 2, 2, 0);
  set_logits(head.make_sites(on_hidden()), {3, -3, 3});
  const DeepHead::Layers open = head.open_layers(fixed_gates);
  EXPECT_EQ(open.weights[0].sizes(), (std::vector<int64_t>{2, 4, 2}));
  EXPECT_EQ(open.weights[1].sizes(), (std::vector<int64_t>{2, 2, 2}));
  EXPECT_EQ(open.weights[2].sizes(), (std::vector<int64_t>{2, 2, 2}));
  const torch::Tensor all = at::ones({4}, torch::kBool);
  constexpr int64_t dense = 4 * 3 + 3 + 3 * 3 + 3 + 3 * 2, without = 4 * 2 + 2 + 2 * 2 + 2 + 2 * 2;  // of a member
  EXPECT_EQ(head.parameters_of_closed(all, fixed_gates), 2 * (dense - without));
  BatchEnsembleHead ensemble(4, 2, 3, 2, 5, 0);
  set_logits(ensemble.make_sites(on_hidden()), {3, -3, 3});
  const BatchEnsembleHead::Layers members = ensemble.open_layers(fixed_gates);
  EXPECT_EQ(members.hidden[1].weight.sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(members.output.sizes(), (std::vector<int64_t>{5, 2, 2}));
  int64_t left = members.output.numel();
  for (const auto& layer : members.hidden)
    left += layer.weight.numel() + layer.in_factors.numel() + layer.out_factors.numel() + layer.bias.numel();
  EXPECT_EQ(ensemble.parameters_with(all) - ensemble.parameters_of_closed(all, fixed_gates), left);
}

TEST(HiddenGates, WithoutThemNothingChanges) {
  DeepHead head(4, 1, 3, 2, 1, 0);
  EXPECT_TRUE(head.make_sites(GateOptions{}).empty());
  EXPECT_EQ(head.parameters_of_closed(at::ones({4}, torch::kBool), fixed_gates), 0);
  DeepHead shallow(4, 0, 0, 2, 1, 0);
  EXPECT_TRUE(shallow.make_sites(on_hidden()).empty());
}

TEST(HiddenGates, WhatCannotBeIsRefused) {
  for (const bool by_unit : {true, false}) {
    GateOptions options = on_hidden();
    if (by_unit) options.unit = UnitKind::group;
    if (!by_unit) options.logits = LogitKind::instance;
    DeepHead head(4, 1, 3, 2, 1, 0);
    EXPECT_NE(message_of<UserError>([&] { head.make_sites(options); }).find("gate.unit = dimension"), std::string::npos);
  }
}

}  // namespace
}  // namespace l0gm
