#include "l0gm/coupling.h"

#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

const std::vector<CouplingKind> all_kinds = {CouplingKind::none, CouplingKind::mmce, CouplingKind::soft_ece,
                                             CouplingKind::mean_gap};

torch::Tensor targets_of(const nlohmann::json& entry) {
  return at::tensor(entry["targets"].get<std::vector<int64_t>>(), torch::kInt64);
}

TEST(Coupling, EqualsTheReference) {
  for (const auto& entry : gate_reference()["coupling"]) {
    for (const CouplingKind kind : all_kinds) {
      const std::string name(name_of_enum(kind));
      const double found = coupling_loss(kind, tensor_of(entry["log_probabilities"]), targets_of(entry)).item<double>();
      EXPECT_NEAR(found, entry[name].get<double>(), 1e-12) << name;
    }
  }
}

TEST(Coupling, GradientsByFiniteDifferences) {
  for (const auto& entry : gate_reference()["coupling"]) {
    for (const CouplingKind kind : all_kinds) {
      if (kind == CouplingKind::none) continue;
      torch::Tensor logits = tensor_of(entry["log_probabilities"]).requires_grad_(true);
      expect_gradient(std::string(name_of_enum(kind)), logits,
                      [&] { return coupling_loss(kind, at::log_softmax(logits, 1), targets_of(entry)); });
    }
  }
}

TEST(Coupling, VanishesForACertainAndCorrectModel) {
  const torch::Tensor targets = at::tensor(std::vector<int64_t>{0, 1, 1, 0}, torch::kInt64);
  const torch::Tensor right = at::tensor(std::vector<double>{0, -50, -50, 0, -50, 0, 0, -50}, torch::kFloat64).view({4, 2});
  for (const CouplingKind kind : all_kinds) {
    EXPECT_LT(coupling_loss(kind, right, targets).item<double>(), 1e-5) << name_of_enum(kind);
    if (kind == CouplingKind::none) continue;
    EXPECT_GT(coupling_loss(kind, right, 1 - targets).item<double>(), 0.9) << "certain and wrong: " << name_of_enum(kind);
  }
}

// Half right at a confidence of one half is calibrated; the kernel and the bins see one cell whose gaps cancel.
TEST(Coupling, GapsThatCancelCostNothing) {
  const torch::Tensor unsure = at::full({4, 2}, std::log(0.5), torch::kFloat64);
  const torch::Tensor targets = at::tensor(std::vector<int64_t>{0, 1, 0, 1}, torch::kInt64);
  for (const CouplingKind kind : all_kinds)
    EXPECT_LT(coupling_loss(kind, unsure, targets).item<double>(), 2e-6) << name_of_enum(kind);
  // The gradient of the square root is finite at zero.
  torch::Tensor logits = unsure.clone().requires_grad_(true);
  coupling_loss(CouplingKind::mmce, logits, targets).backward();
  EXPECT_TRUE(at::isfinite(logits.grad()).all().item<bool>());
}

}  // namespace
}  // namespace l0gm
