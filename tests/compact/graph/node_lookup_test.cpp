#include "compact/graph/node_lookup.h"

#include <gtest/gtest.h>

#include "compact/tiny_graph.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"
#include "runtime/reference_logits.h"

namespace l0gm {
namespace {

using namespace testing_tools;

std::vector<double> look_up(const CompactModel& model, const std::vector<std::string>& names, int64_t* unseen = nullptr) {
  const std::vector<std::string_view> cells(names.begin(), names.end());
  std::vector<float> p(names.size() * model.classes().size());
  InputCounts counts = model.empty_counts();
  model.predict(cells, p, nullptr, &counts);
  if (unseen != nullptr) *unseen = counts.unseen[0];
  return {p.begin(), p.end()};
}

nlohmann::json write(const TrainedTinyGraph& trained, const std::string& nodes) {
  CompactOptions options;
  options.lookup = nodes;
  return trained.compact(options);
}

// Many classes against few channels: embeddings are narrower than logits; and the other way round.
TEST(NodeLookup, TheRuntimeSaysWhatTheModelSays) {
  for (const bool embeddings : {false, true}) {
    SCOPED_TRACE(embeddings);
    std::vector<std::string> assignments = {"gate.target_active=0.5"};
    if (embeddings) assignments = {"gate.target_active=0.17", "model.members=2", "gate.test_rule=median"};
    const TrainedTinyGraph trained(assignments);
    const nlohmann::json result = write(trained, "all");
    EXPECT_EQ(result["stored"], embeddings ? "embeddings" : "logits");
    EXPECT_EQ(result["nodes"], 240);
    EXPECT_EQ(result["open_units"], embeddings ? 2 : 6);
    EXPECT_LE(result["parity_float64"].get<double>(), 1e-9);
    EXPECT_LE(result["parity_float32"].get<double>(), result["parity_float32_limit"].get<double>());
    EXPECT_TRUE(result["figures"].contains("valid") && result["figures"].contains("test"));
    const CompactModel model = CompactModel::load(trained.file);
    EXPECT_EQ(model.columns(), std::vector<std::string>{"node"});
    std::vector<std::string> names;
    std::vector<int64_t> nodes;
    for (int64_t node = 239; node >= 0; --node) nodes.push_back(node), names.push_back(std::to_string(node));
    EXPECT_LE(largest_gap(look_up(model, names), uncompacted(trained.run, nodes).probabilities), 1e-5);
    EXPECT_NE(read_file(trained.folder.path() / "model.md").find("Any other name gets"), std::string::npos);
  }
}

TEST(NodeLookup, AnUnknownNodeGetsTheBaseRate) {
  for (const std::vector<std::string>& assignments :
       {std::vector<std::string>{"gate.target_active=0.5"}, {"gate.target_active=0.17", "model.members=2"}}) {
    const TrainedTinyGraph trained(assignments);
    write(trained, "test");
    const CompactModel model = CompactModel::load(trained.file);
    GraphRun run(trained.run, one_thread_machine());
    const double rows =
        static_cast<double>(std::accumulate(run.graph.class_rows.begin(), run.graph.class_rows.end(), int64_t{0}));
    const Graph& raw = run.raw();
    int64_t unseen = 0;
    const std::vector<double> p =
        look_up(model, {std::to_string(raw.train[0]), "nobody", "", std::to_string(raw.test[0])}, &unseen);
    EXPECT_GE(unseen, 2);
    for (size_t name = 0; name < 3; ++name) {
      for (size_t c = 0; c < 4; ++c)
        EXPECT_NEAR(p[name * 4 + c], static_cast<double>(run.graph.class_rows[c]) / rows, 1e-6) << name << " " << c;
    }
    const std::vector<double> known = uncompacted(trained.run, {raw.test[0]}).probabilities;
    EXPECT_LE(largest_gap({p.begin() + 12, p.end()}, known), 1e-5);
    EXPECT_GT(largest_gap({p.begin(), p.begin() + 4}, known), 1e-3);
  }
}

TEST(NodeLookup, NamedNodesOfTwoClassesOutOfAList) {
  const OwnGraph own("[gate]\ntarget_active = 0.5\n");
  const TrainedTinyGraph trained(&own);
  const auto list = own.folder.write("list.csv", "node\nn59\nn7\nn7\n n12 \n");
  const nlohmann::json result = write(trained, list.string());
  EXPECT_EQ(result["nodes"], 3);
  const CompactModel model = CompactModel::load(trained.file);
  EXPECT_LE(largest_gap(look_up(model, {"n12", "n59", "n7"}), uncompacted(trained.run, {12, 59, 7}).probabilities), 1e-5);

  for (const auto& [text, words] :
       {std::pair{"node\nn60\n", "no node 'n60'"}, {"name\nn6\n", "'node'"}, {"node\n", "names no node"}}) {
    const auto bad = own.folder.write("bad.csv", text);
    const std::string message = message_of<UserError>([&] { write(trained, bad.string()); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
}

TEST(NodeLookup, ANetThatSaysSomethingElseIsFound) {
  const TrainedTinyGraph run({"gate.target_active=0.5"});
  TrainedGraph trained(run.run);
  const std::vector<int64_t> nodes = {5, 3, 200};
  NodeLookup lookup = make_node_lookup(trained, nodes);
  ASSERT_TRUE(lookup.folded);
  EXPECT_EQ(lookup.schema.fields[0].vocabulary, (std::vector<std::string>{"5", "3", "200"}));
  const std::vector<double> wanted = trained.probabilities(nodes, Precision::float64);
  const auto gap = [&] {
    double largest = 0;
    for (int32_t i = 0; i < 3; ++i) {
      const int32_t code = i + 2;
      const float slope = 0;
      double logits[4], sum = 0;
      reference_logits(lookup.net, &code, &slope, logits);
      for (const double logit : logits) sum += std::exp(logit);
      for (int c = 0; c < 4; ++c)
        largest = std::max(largest, std::abs(std::exp(logits[c]) / sum - wanted[static_cast<size_t>(i * 4 + c)]));
    }
    return largest;
  };
  EXPECT_LE(gap(), 1e-9);
  lookup.net.wide.at(3, 1) += 1e-6;
  EXPECT_GT(gap(), 1e-9);
}

}  // namespace
}  // namespace l0gm
