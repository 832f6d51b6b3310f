#include "compact/graph/node_lookup.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "compact/matrix_rows.h"
#include "compact/table/table_compaction.h"
#include "data/graph/node_list.h"
#include "heads/deep.h"
#include "heads/sum.h"
#include "l0gm/error.h"
#include "runtime/compact_file.h"
#include "runtime/probabilities.h"
#include "runtime/reference_logits.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr size_t most_name_bytes = 60'000'000;  // the header of a file holds 100 MB, and its JSON quotes every name twice

// Logits that give the classes' shares among training nodes, [outputs].
std::vector<double> base_rate(const std::vector<int64_t>& class_rows) {
  std::vector<double> logits;
  for (const int64_t rows : class_rows) logits.push_back(std::log(std::max(static_cast<double>(rows), 0.5)));
  if (logits.size() == 2) return {logits[1] - logits[0]};
  return logits;
}

// The linear head: what each channel adds to the logits, [channels, members * outputs], and what is there without any.
struct ReadOut {
  torch::Tensor map, bias;
  explicit ReadOut(const Model& model) {
    const auto& sum = dynamic_cast<const SumHead&>(model.head());
    const auto& linear = dynamic_cast<const DeepHead&>(*sum.branches().at(0));
    if (sum.branches().size() != 1 || linear.weights().size() != 1) throw std::logic_error("a graph's head is one linear map");
    const torch::Tensor& weight = linear.weights()[0];  // [members, channels, outputs]
    map = weight.detach().permute({1, 0, 2}).reshape({weight.size(1), -1}).contiguous();
    bias = sum.bias().detach().reshape({-1}).contiguous();
  }
};

std::vector<double> reference_probabilities(const NodeLookup& lookup) {
  const auto nodes = static_cast<int64_t>(lookup.schema.fields[0].vocabulary.size()),
             classes = static_cast<int64_t>(lookup.schema.classes.size());
  std::vector<double> probabilities(static_cast<size_t>(nodes * classes)), logits(static_cast<size_t>(lookup.net.logits()));
  for (int64_t i = 0; i < nodes; ++i) {
    const auto code = static_cast<int32_t>(i + 2);
    const float slope = 0;
    reference_logits(lookup.net, &code, &slope, logits.data());
    mean_probabilities(logits.data(), lookup.net.members, lookup.net.outputs, probabilities.data() + i * classes);
  }
  return probabilities;
}

TextTable table_of(const Schema& schema) {
  TextTable table({"node"});
  for (const std::string& name : schema.fields[0].vocabulary) table.add_row({name});
  return table;
}

}  // namespace

Schema lookup_schema(const TrainedGraph& trained, std::span<const int64_t> nodes, const std::vector<std::string>& columns) {
  Schema schema;
  schema.label = trained.exact.config.data.label.empty() ? "label" : trained.exact.config.data.label;
  schema.classes = trained.exact.graph.classes;
  for (const int64_t rows : trained.exact.graph.class_rows) {
    schema.class_rows.push_back(std::max<int64_t>(rows, 1));  // a schema's classes have rows
  }
  size_t bytes = 0;
  std::vector<std::string> names;
  for (const int64_t node : nodes) {
    names.push_back(trained.raw.node_name(node));
    bytes += (names.back().size() + 6) * columns.size();
  }
  if (bytes > most_name_bytes) {
    throw UserError(fmt::format("the names of {} nodes take {} bytes, a file can hold {}: name fewer nodes with --nodes FILE",
                                with_thousands(std::ssize(nodes)), with_thousands(static_cast<int64_t>(bytes)),
                                with_thousands(static_cast<int64_t>(most_name_bytes))));
  }
  for (const std::string& name : columns) {
    Field field;
    field.name = name;
    field.column = std::ssize(schema.columns);
    field.vocabulary = names;
    schema.fields.push_back(std::move(field));
    schema.columns.emplace_back().name = name;
  }
  return schema;
}

torch::Tensor node_embeddings(TrainedGraph& trained, std::span<const int64_t> nodes) {
  c10::InferenceMode inference;
  Model& model = *trained.narrowed.model;
  const GraphTensors tensors(trained.read, torch::kCPU, torch::kFloat64);
  const auto batch = batch_of_nodes(model, tensors, whole_block(trained.read), nodes);
  GatePass pass = GatePass::evaluation(trained.exact.gate_state, batch->example_ids);
  const torch::Tensor encoded =
      encode(model, *batch, pass, inference_rows_for(trained.read, trained.exact.config.graph.inference_rows));
  return model.selected().defined() ? encoded.index_select(1, model.selected()) : encoded;
}

std::vector<int64_t> nodes_named(const Graph& graph, const std::string& which) {
  if (which == "all") return all_nodes(graph);
  std::vector<int64_t> nodes = which == "valid" ? graph.valid : which == "test" ? graph.test : read_node_list(graph, which);
  if (nodes.empty()) throw UserError(fmt::format("--nodes {}: {} has no {} nodes", which, graph.name, which));
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

NodeLookup make_node_lookup(TrainedGraph& trained, std::span<const int64_t> nodes) {
  constexpr int64_t first = 2;  // codes 0 and 1: missing, unknown
  const torch::Tensor embeddings = node_embeddings(trained, nodes);
  const ReadOut head(*trained.narrowed.model);
  const int64_t channels = head.map.size(0), logits = head.map.size(1);
  const std::vector<double> rate = base_rate(trained.exact.graph.class_rows);
  NodeLookup lookup{lookup_schema(trained, nodes, {"node"}), {}, logits <= channels + 1};
  TableNet<Matrix>& net = lookup.net;
  net.outputs = static_cast<int64_t>(rate.size());
  net.members = logits / net.outputs;
  net.columns = columns_of(lookup.schema);
  net.columns[0].folded = lookup.folded;
  net.columns[0].units = lookup.folded ? 0 : channels + 1;  // the last one is 1 for unknown nodes and 0 for all others
  net.wide = Matrix(net.arrange(), logits);
  net.base = Matrix(1, logits);
  copy_rows(head.bias.unsqueeze(0), net.base, 0);
  std::vector<double> unknown(static_cast<size_t>(logits));  // what is missing from the bias to the base rate
  for (size_t i = 0; i < unknown.size(); ++i) unknown[i] = rate[i % rate.size()] - net.base.values[i];
  if (lookup.folded) {
    copy_rows(at::matmul(embeddings, head.map), net.wide, first);
    for (int64_t code = 0; code < first; ++code) std::copy(unknown.begin(), unknown.end(), net.wide.row(code));
    return lookup;
  }
  copy_rows(head.map, net.wide, 0);
  std::copy(unknown.begin(), unknown.end(), net.wide.row(channels));
  Matrix& units = net.unit_tables.emplace_back(first + std::ssize(nodes), channels + 1);
  copy_rows(embeddings, units, first);
  for (int64_t code = 0; code < first; ++code) units.at(code, channels) = 1;
  return lookup;
}

LookupCompaction::LookupCompaction(const fs::path& run, const std::string& which)
    : GraphCompaction(run), nodes_(nodes_named(trained_.raw, which)), lookup_(make_node_lookup(trained_, nodes_)) {
  checked_ = {std::ssize(nodes_),
              "nodes",
              [this](int64_t row) { return "node " + trained_.raw.node_name(nodes_[static_cast<size_t>(row)]); },
              {}};
}

std::vector<double> LookupCompaction::trained(Precision precision) { return trained_.probabilities(nodes_, precision); }

std::vector<double> LookupCompaction::folded() { return reference_probabilities(lookup_); }

std::vector<double> LookupCompaction::served(const fs::path& file) {
  const TextTable table = table_of(lookup_.schema);
  std::vector<int64_t> rows(nodes_.size());
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return served_probabilities(file, {"look-up", table, rows});
}

Predictions LookupCompaction::served(const fs::path& file, Split split) {
  return predictions_at(split, trained_.raw, nodes_, served(file));
}

nlohmann::json LookupCompaction::about() {
  nlohmann::json about = GraphCompaction::about();
  about["lookup"] = {{"nodes", nodes_.size()}, {"stored", lookup_.folded ? "logits" : "embeddings"}};
  return about;
}

int64_t LookupCompaction::write(const fs::path& file, WeightType weights, const Calibrator& calibrator,
                                const nlohmann::json& about) {
  return write_compact(file, {lookup_.schema, weights, calibrator, ',', about}, lookup_.net);
}

nlohmann::json LookupCompaction::result(const nlohmann::json& about) const {
  nlohmann::json result = GraphCompaction::result(about);
  const auto dense = std::ssize(nodes_) * about["dimensions"].get<int64_t>() * static_cast<int64_t>(sizeof(float));
  result.update({{"kind", "look-up"},
                 {"nodes", nodes_.size()},
                 {"stored", about["lookup"]["stored"]},
                 {"columns", 1},
                 {"bytes_dense", dense}});
  return result;
}

}  // namespace l0gm
