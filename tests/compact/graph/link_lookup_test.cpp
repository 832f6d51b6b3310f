#include "compact/graph/link_lookup.h"

#include <gtest/gtest.h>

#include "compact/graph/graph_predictor.h"
#include "compact/tiny_graph.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"

namespace l0gm {
namespace {

using namespace testing_tools;

CompactOptions look_ups(const std::string& nodes) {
  CompactOptions options;
  options.lookup = nodes;
  return options;
}

std::vector<float> look_up(const CompactModel& model, const std::vector<std::string_view>& cells) {
  std::vector<float> p(cells.size());  // two cells and two classes a row
  model.predict(cells, p);
  return p;
}

// Without LibTorch, the same probabilities as the run's own model with messages over all edges.
TEST(LinkLookup, TheRuntimeSaysWhatTheRunSays) {
  for (const char* gate : {"gate.target_active=0.5", "gate.unit=none", "gate.test_rule=median"}) {
    SCOPED_TRACE(gate);
    const TrainedTinyGraph trained({"graph.task=links", "link.scorer=dot", "train.batch=64", gate});
    const nlohmann::json result = trained.compact(look_ups("all"));
    EXPECT_EQ(result["kind"], "look-up");
    EXPECT_EQ(result["nodes"], 240);
    EXPECT_LE(result["parity_float64"].get<double>(), 1e-9);
    EXPECT_TRUE(result["figures"].empty()) << "messages pass over the held-out links: figures would flatter";
    const CompactModel model = CompactModel::load(trained.file);
    EXPECT_EQ(model.columns(), (std::vector<std::string>{"from", "to"}));
    EXPECT_EQ(model.classes(), (std::vector<std::string>{"unlinked", "linked"}));
    const std::vector<std::string_view> cells = {"0", "1", "17", "200", "239", "0", "5", "5"};
    const LoadedGraphModel run(trained.run, one_thread_machine());
    const Predictions wanted = run.predict(trained.raw(), {{0, 1}, {17, 200}, {239, 0}, {5, 5}}, 0);
    const std::vector<float> found = look_up(model, cells);
    ASSERT_EQ(found.size(), wanted.probabilities.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted.probabilities[i], 1e-5) << i;
    EXPECT_NEAR(look_up(model, {"17", "200"})[1], look_up(model, {"200", "17"})[1], 1e-6) << "a pair has no direction";
  }
}

TEST(LinkLookup, AnUnknownNodeLeavesTheBias) {
  const TrainedTinyGraph trained({"graph.task=links", "link.scorer=dot", "train.batch=64", "gate.target_active=0.5"});
  trained.compact(look_ups("all"));
  const CompactModel model = CompactModel::load(trained.file);
  const std::vector<float> unknown = look_up(model, {"nowhere", "3"});
  EXPECT_EQ(unknown, look_up(model, {"4", "not there"}));
  EXPECT_NEAR(unknown[0] + unknown[1], 1, 1e-6);
  EXPECT_NE(read_file(trained.folder.path() / "model.md").find("without an embedding"), std::string::npos);
}

TEST(LinkLookup, AnotherScorerIsRefused) {
  const TrainedTinyGraph trained({"graph.task=links", "link.scorer=mlp", "train.batch=64", "gate.target_active=0.5"});
  EXPECT_NE(message_of<UserError>([&] { trained.compact(look_ups("all")); }).find("link.scorer = dot"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
