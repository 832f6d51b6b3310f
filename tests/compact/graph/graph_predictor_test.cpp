#include "compact/graph/graph_predictor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "compact/tiny_graph.h"
#include "data/graph/cache.h"
#include "data/graph/check_graph.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "serving/predict_file.h"

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
  explicit Compacted(const std::string& further, const std::vector<std::string>& assignments = {})
      : own(further), trained(&own, assignments) {
    trained.compact();
  }
};

PredictorOptions with_graph(const std::filesystem::path& graph, bool calibrated = false) {
  return {calibrated, one_thread_machine(), graph};
}

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
    EXPECT_TRUE(needs_context(compact_kinds(), model));
    const auto predictor = open_predictor(compact_kinds(), model, with_graph(input));
    EXPECT_EQ(predictor->columns(), std::vector<std::string>{"node"});
    EXPECT_EQ(predictor->classes(), (std::vector<std::string>{"no", "yes"}));
    EXPECT_FALSE(predictor->concurrent());
    const nlohmann::json result = predict_known(*predictor, out);
    EXPECT_EQ(result["rows"], 60);
    std::string header;
    const std::vector<Row> rows = read_rows(out, &header);
    EXPECT_EQ(header, "node,prediction,p_no,p_yes");
    expect_rows(rows, made, all);
    predict_known(*open_predictor(compact_kinds(), model, with_graph(input, true)), out);
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
  const GraphPredictor predictor(made.trained.file, with_graph(input));
  predict_file(predictor, list, out, {});
  expect_rows(read_rows(out), made, {40, 3, 40});
  predict_file(predictor, list, out, {.block_bytes = 4});  // in blocks of a row or two
  expect_rows(read_rows(out), made, {40, 3, 40});
}

// Attributes by name: other ones beside them and another order change nothing, also where they are stored sparse.
TEST(GraphPredictor, AttributesGoByName) {
  const Compacted made("[gate]\ntarget_active = 0.5\nattach = 'input'\n");
  const LoadedGraphModel predictor(made.trained.file, one_thread_machine());
  const Graph raw = made.trained.raw();
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
  trained.compact();
  Graph raw = trained.raw();
  const auto input = trained.folder.path() / "graph.safetensors", out = trained.folder.path() / "p.csv";
  write_graph(input, raw);
  predict_known(GraphPredictor(trained.file, with_graph(input)), out);
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
  const std::string message =
      message_of<UserError>([&] { LoadedGraphModel(trained.file, one_thread_machine()).predict(raw, every_node(raw), 0); });
  EXPECT_NE(message.find("has 31 attributes, the model was trained on nodes with 32"), std::string::npos) << message;
}

TEST(GraphPredictor, RefusesWhatItCannotRead) {
  const Compacted made("[gate]\ntarget_active = 0.5\n");
  const auto out = made.own.folder.path() / "p.csv";
  const auto says = [&](const std::string& name, const std::string& text, const std::string& words) {
    const auto input = made.own.folder.write(name, text);
    const std::string message = message_of<UserError>(
        [&] { predict_known(*open_predictor(compact_kinds(), made.trained.file, with_graph(input)), out); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  says("table.csv", "node\nn1\n", "reads a graph");
  says("odd.toml", made.own.data(false) + "undirected = false\n", "graph.undirected is false");
  says("half.toml", "[data]\nsource = 'graph'\nedges = 'x.csv'\n", "data.features is not set");
  says("table.toml", "[data]\nsource = 'planted-table'\n", "wanted a graph");
  says("text.bin", "hello", "text.bin");
  const std::string none = message_of<UserError>([&] { open_predictor(compact_kinds(), made.trained.file, with_graph({})); });
  EXPECT_NE(none.find("reads a graph"), std::string::npos) << none;
  EXPECT_FALSE(needs_context(compact_kinds(), made.own.folder.path() / "text.bin"));
  EXPECT_THROW(needs_context(compact_kinds(), made.own.folder.path()), UserError) << "a folder that is not a run";
  EXPECT_EQ(Container::kind_of(made.trained.file), "graph");
}

TEST(GraphPredictor, RefusesNodesThatAreNotThere) {
  const Compacted made("[gate]\ntarget_active = 0.5\n");
  const auto input = made.own.folder.write("new.toml", made.own.data(false)), out = made.own.folder.path() / "p.csv";
  const GraphPredictor predictor(made.trained.file, with_graph(input));
  for (const auto& [text, words] : {std::pair{"node\nn5\nn60\n", "list.csv: row 1, counted from 0: there is no node 'n60'"},
                                    {"node,note\nn5,a\n,b\n", "list.csv: row 1, counted from 0: a cell is empty"},
                                    {"name\nn5\n", "'node'"},
                                    {"node\n", "no rows"}}) {
    const auto list = made.own.folder.write("list.csv", text);
    const std::string message = message_of<UserError>([&] { predict_file(predictor, list, out, {}); });
    EXPECT_NE(message.find(words), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

// A blank line of a list is no node; names come back without the blanks around them.
TEST(GraphPredictor, SkipsBlankLinesOfAList) {
  const Compacted made("[gate]\ntarget_active = 0.5\n");
  const auto input = made.own.folder.write("new.toml", made.own.data(false)), out = made.own.folder.path() / "p.csv";
  const GraphPredictor predictor(made.trained.file, with_graph(input));
  EXPECT_EQ(predict_file(predictor, made.own.folder.write("list.csv", "node\n n5 \n\nn7\n\n"), out, {})["rows"], 2);
  const std::string text = read_file(out);
  EXPECT_NE(text.find("\nn5,"), std::string::npos) << text;
  EXPECT_NE(text.find("\nn7,"), std::string::npos) << text;
}

// Pairs of nodes by name, from a file and from the run's folder.
TEST(GraphPredictor, PredictsPairsOfNodes) {
  for (const std::string scorer : {"dot", "mlp"}) {
    SCOPED_TRACE(scorer);
    const Compacted made("[gate]\ntarget_active = 0.5\n", {"graph.task=links", "link.scorer=" + scorer});
    const auto input = made.own.folder.write("new.toml", made.own.data(false)), out = made.own.folder.path() / "p.csv",
               pairs = made.own.folder.write("pairs.csv", "to,note,from\nn3,x,n40\nn40,y,n3\nn59,,n0\nn0,z,n2\n");
    const std::vector<Link> asked = {{40, 3}, {3, 40}, {0, 59}, {2, 0}};
    const Predictions wanted = uncompacted_pairs(made.trained.run, asked);
    for (const auto& model : {made.trained.file, made.trained.run}) {
      EXPECT_TRUE(needs_context(compact_kinds(), model));
      const auto predictor = open_predictor(compact_kinds(), model, with_graph(input));
      EXPECT_EQ(predictor->columns(), (std::vector<std::string>{"from", "to"}));
      EXPECT_EQ(predict_file(*predictor, pairs, out, {})["rows"], 4);
      std::istringstream text(read_file(out));
      std::string line;
      std::getline(text, line);
      EXPECT_EQ(line, "from,to,prediction,p_unlinked,p_linked");
      for (size_t i = 0; i < asked.size(); ++i) {
        ASSERT_TRUE(std::getline(text, line));
        const auto p = wanted.row(static_cast<int64_t>(i));
        const std::string start =
            OwnGraph::name(asked[i].first) + "," + OwnGraph::name(asked[i].second) + (p[1] > p[0] ? ",linked," : ",unlinked,");
        ASSERT_TRUE(line.starts_with(start)) << line;
        const size_t comma = line.rfind(',');
        EXPECT_NEAR(std::stod(line.substr(start.size())), p[0], 1e-5);
        EXPECT_NEAR(std::stod(line.substr(comma + 1)), p[1], 1e-5);
      }
      EXPECT_FALSE(std::getline(text, line));
      EXPECT_TRUE(predictor->known_rows().empty());
      EXPECT_THROW(predict_known(*predictor, out), UserError) << "pairs have to be named";
      const auto bad = made.own.folder.write("bad.csv", "from,to\nn1,n99\n");
      EXPECT_NE(message_of<UserError>([&] { predict_file(*predictor, bad, out, {}); }).find("no node 'n99'"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace l0gm
