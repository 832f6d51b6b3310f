#include "compact/graph/graph_predictor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "compact/compact_run.h"
#include "compact/tiny_graph.h"
#include "data/graph/cache.h"
#include "data/graph/check_graph.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using namespace testing_tools;

struct Row {
  std::string node, prediction;
  std::vector<double> p;
};

std::vector<Row> read_rows(const std::filesystem::path& path, std::string* header = nullptr) {
  std::istringstream text(read_file(path));
  std::string line;
  std::getline(text, line);
  if (header != nullptr) *header = line;
  std::vector<Row> rows;
  while (std::getline(text, line)) {
    std::istringstream cells(line);
    Row row;
    std::getline(cells, row.node, ',');
    std::getline(cells, row.prediction, ',');
    for (std::string cell; std::getline(cells, cell, ',');) row.p.push_back(std::stod(cell));
    rows.push_back(row);
  }
  return rows;
}

struct Compacted {
  OwnGraph own;
  TrainedTinyGraph trained;
  explicit Compacted(const std::string& further) : own(further), trained(&own) { compact_run(trained.run, trained.file, {}); }
};

void expect_rows(const std::vector<Row>& rows, const Compacted& made, const std::vector<int64_t>& nodes) {
  const Predictions wanted = uncompacted(made.trained.run, nodes);
  ASSERT_EQ(rows.size(), nodes.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].node, OwnGraph::name(static_cast<int>(nodes[i])));
    const auto p = wanted.row(static_cast<int64_t>(i));
    EXPECT_LE(largest_gap(rows[i].p, {p.begin(), p.end()}), 1e-5);
    EXPECT_EQ(rows[i].prediction, p[1] > p[0] ? "yes" : "no");
  }
}

TEST(GraphPredictor, PredictsAGraphWithoutLabelsFromFileAndRun) {
  const Compacted made("[gate]\ntarget_active = 0.5\n");
  const auto input = made.own.folder.write("new.toml", made.own.data(false)), out = made.own.folder.path() / "p.csv";
  std::vector<int64_t> all(60);
  std::iota(all.begin(), all.end(), int64_t{0});
  for (const auto& model : {made.trained.file, made.trained.run}) {
    EXPECT_TRUE(predicts_nodes(model));
    const GraphPredictor predictor(model, one_thread_machine());
    const nlohmann::json result = predict_graph(predictor, input, out, {});
    EXPECT_EQ(result["rows"], 60);
    std::string header;
    const std::vector<Row> rows = read_rows(out, &header);
    EXPECT_EQ(header, "node,prediction,p_no,p_yes");
    expect_rows(rows, made, all);
    predict_graph(predictor, input, out, {.nodes = "", .pairs = "", .calibrated = true});
    const std::vector<Row> scaled = read_rows(out);
    double moved = 0;
    for (size_t i = 0; i < rows.size(); ++i) moved = std::max(moved, std::abs(scaled[i].p[0] - rows[i].p[0]));
    EXPECT_GT(moved, 1e-4);  // calibration moves something
  }
}

TEST(GraphPredictor, PicksNodesInTheirOrder) {
  const Compacted made("[gate]\ntarget_active = 0.5\n");
  const auto input = made.own.folder.write("new.toml", made.own.data(false) + "inference_rows = 2\n"),
             out = made.own.folder.path() / "p.csv";
  const auto list = made.own.folder.write("list.csv", "node\nn40\nn3\nn40\n");
  predict_graph(GraphPredictor(made.trained.file, one_thread_machine()), input, out,
                {.nodes = list.string(), .pairs = "", .calibrated = false});
  expect_rows(read_rows(out), made, {40, 3, 40});
}

// Attributes by name: other ones beside them and another order change nothing, also where they are stored sparse.
TEST(GraphPredictor, AttributesGoByName) {
  const Compacted made("[gate]\ntarget_active = 0.5\nattach = 'input'\n");
  const GraphPredictor predictor(made.trained.file, one_thread_machine());
  const Graph raw = load_run_graph(load_graph_run(made.trained.run, one_thread_machine()));
  ASSERT_TRUE(raw.is_sparse());
  Graph turned = raw;
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;
  for (int64_t node = 0; node < raw.nodes; ++node) {  // two more attributes in front, the others backwards
    columns.push_back(1);
    values.push_back(static_cast<float>(node));
    for (int64_t i = raw.sparse.offsets[node + 1] - 1; i >= raw.sparse.offsets[node]; --i) {
      columns.push_back(static_cast<int32_t>(7 - raw.sparse.columns[i]));
      values.push_back(raw.sparse.values[i]);
    }
    offsets.push_back(static_cast<int64_t>(columns.size()));
  }
  turned.attributes = 8;
  turned.attribute_names = {"new", "newer", "white", "black", "grey", "blue", "green", "red"};
  turned.sparse = {offsets, columns, values};
  check_graph(turned, "turned");
  const std::vector<int64_t> nodes = every_node(raw);
  EXPECT_LE(largest_gap(predictor.predict(turned, nodes, 0).probabilities, predictor.predict(raw, nodes, 0).probabilities), 1e-6);
  EXPECT_LE(largest_gap(predictor.predict(raw, nodes, 0).probabilities, uncompacted(made.trained.run, nodes).probabilities),
            1e-5);
}

TEST(GraphPredictor, ReadsGraphFilesAndCountsAttributes) {
  const TrainedTinyGraph trained({"gate.target_active=0.25"});
  compact_run(trained.run, trained.file, {});
  const GraphPredictor predictor(trained.file, one_thread_machine());
  Graph raw = load_run_graph(load_graph_run(trained.run, one_thread_machine()));
  const auto input = trained.folder.path() / "graph.safetensors", out = trained.folder.path() / "p.csv";
  write_graph(input, raw);
  predict_graph(predictor, input, out, {});
  const Predictions wanted = uncompacted(trained.run, every_node(raw));
  const std::vector<Row> rows = read_rows(out);
  ASSERT_EQ(rows.size(), 240U);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto p = wanted.row(static_cast<int64_t>(i));
    EXPECT_LE(largest_gap(rows[i].p, {p.begin(), p.end()}), 1e-5);
  }
  std::vector<int64_t> fewer(31);
  std::iota(fewer.begin(), fewer.end(), int64_t{0});
  raw = select_attributes(raw, fewer);
  raw.attribute_names.clear();
  const std::string message = message_of<UserError>([&] { predictor.predict(raw, every_node(raw), 0); });
  EXPECT_NE(message.find("has 31 attributes, the model was trained on nodes with 32"), std::string::npos) << message;
}

TEST(GraphPredictor, RefusesWhatItCannotRead) {
  const Compacted made("[gate]\ntarget_active = 0.5\n");
  const GraphPredictor predictor(made.trained.file, one_thread_machine());
  const auto out = made.own.folder.path() / "p.csv";
  const auto says = [&](const std::string& name, const std::string& text, const std::string& words) {
    const auto input = made.own.folder.write(name, text);
    const std::string message = message_of<UserError>([&] { predict_graph(predictor, input, out, {}); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  says("table.csv", "node\nn1\n", "reads a graph");
  says("odd.toml", made.own.data(false) + "undirected = false\n", "graph.undirected is false");
  says("half.toml", "[data]\nsource = 'graph'\nedges = 'x.csv'\n", "data.features is not set");
  says("table.toml", "[data]\nsource = 'planted-table'\n", "wanted a graph");
  says("text.bin", "hello", "text.bin");
  EXPECT_FALSE(predicts_nodes(made.own.folder.path() / "text.bin"));
  EXPECT_FALSE(predicts_nodes(made.own.folder.path()));
}

}  // namespace
}  // namespace l0gm
