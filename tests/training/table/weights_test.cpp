#include <ATen/Functions.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "training/tiny_run.h"

// How much rows and classes count.
namespace l0gm {
namespace {

using testing_tools::one_thread;
using testing_tools::tiny_config;
using testing_tools::train;

// The mean probability of `b` after training on rows that say nothing: half are `a`, half `b`, and those of `b` have the
// weight 3.
double mean_of_b(const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  std::string csv = "x,w,y\n";
  for (int i = 0; i < 800; ++i) csv += fmt::format("{}.5,{},{}\n", i / 2 * 7 % 100, i % 2 == 0 ? 1 : 3, i % 2 == 0 ? "a" : "b");
  std::vector<std::string> all = {"data.source=csv", "data.train=" + folder.write("t.csv", csv).string(),
                                  "data.label=y",    "gate.unit=none",
                                  "train.lr=0.02",   "train.epochs=10"};
  all.insert(all.end(), settings.begin(), settings.end());
  train(tiny_config(all), folder.path() / "run");
  TableRun run(folder.path() / "run", one_thread());
  EXPECT_EQ(run.table.schema.columns.size(), 1u) << "the weight is no input";
  const Predictions valid = run.predict(Split::valid);
  double sum = 0;
  for (int64_t i = 0; i < valid.size(); ++i) sum += valid.row(i)[1];
  return sum / static_cast<double>(valid.size());
}

TEST(Weights, RowsCountAsMuchAsTheirColumnSays) {
  EXPECT_NEAR(mean_of_b({"data.types={w=\"ignore\"}"}), 0.5, 0.06);
  EXPECT_NEAR(mean_of_b({"data.weight=w"}), 0.75, 0.06);
}

TEST(Weights, ClassesCountAsMuchAsTheConfigurationSays) {
  EXPECT_NEAR(mean_of_b({"data.types={w=\"ignore\"}", "train.weight_of_class={b=\"3\"}"}), 0.75, 0.06);
}

TEST(Weights, OfClassesAreOneOnAverageOverTheRows) {
  TrainOptions options;
  EXPECT_FALSE(weights_of_classes(options, {"a", "b"}, {30, 10}).defined());
  options.weight_of_class["b"] = "5";
  const torch::Tensor weights = weights_of_classes(options, {"a", "b"}, {30, 10});
  EXPECT_NEAR(weights[1].item<double>() / weights[0].item<double>(), 5, 1e-12);
  EXPECT_NEAR((30 * weights[0].item<double>() + 10 * weights[1].item<double>()) / 40, 1, 1e-12);
  options.class_weights = ClassWeights::balanced;
  const torch::Tensor both = weights_of_classes(options, {"a", "b"}, {30, 10});
  EXPECT_NEAR(both[1].item<double>() / both[0].item<double>(), 15, 1e-12);
  options.weight_of_class = {{"c", "2"}};
  EXPECT_THROW(weights_of_classes(options, {"a", "b"}, {30, 10}), UserError);
  options.weight_of_class = {{"b", "-1"}};
  EXPECT_THROW(weights_of_classes(options, {"a", "b"}, {30, 10}), UserError);
}

}  // namespace
}  // namespace l0gm
