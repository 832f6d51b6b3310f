#include "compact/graph/compact_graph.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/log.h"
#include "base/version.h"
#include "compact/candidate.h"
#include "compact/graph/graph_file.h"
#include "compact/graph/node_lookup.h"
#include "gate/figures.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr double loose_limit = 1e-4;  // a bound beyond this says little, and the user is told

nlohmann::json describe_gate(const LoadedGraph& run) {
  const auto sites = run.model->sites();
  if (sites.empty()) return {{"unit", "none"}};
  const GateFigures figures = gate_figures(sites, run.gate_state);
  return {{"unit", name_of_enum(run.model->unit())},
          {"logits", name_of_enum(run.config.gate.logits)},
          {"attach", name_of_enum(run.config.gate.attach)},
          {"test_rule", name_of_enum(run.config.gate.test_rule)},
          {"units", figures.units},
          {"open_units", figures.open_units},
          {"ever_open_units", figures.ever_open_units},
          {"active_fraction", figures.active_fraction}};
}

// The resolved configuration's sections that the model was made from.
nlohmann::json options_of(Config config) {
  nlohmann::json some;
  const nlohmann::json all = OptionList::of(config).json();
  for (const auto& [key, value] : all.items()) {
    if (key.starts_with("model.") || key.starts_with("graph.") || key.starts_with("gate.")) some[key] = value;
  }
  return some;
}

std::vector<std::string> closed_attributes(const TrainedGraph& trained) {
  const auto& before = trained.exact.graph.attribute_names;
  const auto& after = graph_encoder(*trained.narrowed.model).shape().attribute_names;
  std::vector<std::string> closed;
  size_t next = 0;  // both are in the same order; names may repeat
  for (const std::string& name : before) {
    if (next < after.size() && after[next] == name)
      ++next;
    else
      closed.push_back(name);
  }
  return closed;
}

// Nodes whose probabilities are needed: those that parity is proven on and, for the figures, those held out.
std::vector<int64_t> nodes_to_predict(const Graph& graph, std::vector<int64_t> checked) {
  checked.insert(checked.end(), graph.valid.begin(), graph.valid.end());
  checked.insert(checked.end(), graph.test.begin(), graph.test.end());
  std::sort(checked.begin(), checked.end());
  checked.erase(std::unique(checked.begin(), checked.end()), checked.end());
  return checked;
}

std::vector<double> rows_at(const std::vector<int64_t>& wanted, const std::vector<int64_t>& predicted,
                            const std::vector<double>& probabilities, size_t classes) {
  std::vector<double> rows;
  rows.reserve(wanted.size() * classes);
  for (const int64_t node : wanted) {
    const auto place = std::lower_bound(predicted.begin(), predicted.end(), node) - predicted.begin();
    const auto first = probabilities.begin() + place * static_cast<int64_t>(classes);
    rows.insert(rows.end(), first, first + static_cast<int64_t>(classes));
  }
  return rows;
}

// The file as it is read back, in float32: what `predict` will say.
std::vector<double> served(const fs::path& file, const Graph& read, const std::vector<int64_t>& nodes) {
  const GraphFile stored = read_graph_model(file);
  const int64_t rows = inference_rows_for(read, stored.header.inputs.inference_rows);
  return predict_nodes(*stored.model, {}, read, nodes, rows, torch::kCPU, torch::kFloat32).probabilities;
}

}  // namespace

nlohmann::json describe_graph_run(const TrainedGraph& trained) {
  const LoadedGraph& run = trained.exact;
  const GraphNet net = net_of(*trained.narrowed.model, static_cast<int64_t>(run.graph.classes.size()));
  const std::vector<std::string> closed = closed_attributes(trained);
  nlohmann::json about = {{"made_with", fmt::format("l0gm {} ({})", version, commit)},
                          {"dataset", run.graph.dataset},
                          {"nodes", run.graph.nodes},
                          {"edges", run.graph.edges},
                          {"training_rows", trained.raw.train.size()},
                          {"seed", run.config.train.seed},
                          {"model", name_of_enum(run.config.model.name)},
                          {"members", run.config.model.members},
                          {"classes", run.graph.classes},
                          {"class_rows", run.graph.class_rows},
                          {"dimensions", run.model->encoder().width()},
                          {"open_dimensions", net.head_width()},
                          {"attributes", run.graph.attribute_names.size()},
                          {"open_attributes", run.graph.attribute_names.size() - closed.size()},
                          {"closed_columns", closed},
                          {"attributes_for_sums", !trained.inputs.selected.empty()},
                          {"encoder_narrowed", trained.encoder_narrowed()},
                          {"parameters_dense", run.model->parameter_count()},
                          {"parameters_open", net.parameters()},
                          {"gate", describe_gate(run)},
                          {"options", options_of(run.config)},
                          {"figures", nlohmann::json::object()}};
  about["files"] = nlohmann::json::array();
  for (const FileStamp& file : run.graph.files)
    about["files"].push_back({{"name", file.path.filename().string()}, {"sha256", file.sha256}});
  return about;
}

nlohmann::json parity_json(const Parity& parity) {
  return {{"float64", parity.algebra},           {"float64_limit", algebra_limit},
          {"float32", parity.numerics},          {"float32_limit", parity.numerics_limit()},
          {"trained_float32", parity.own_error}, {"rows", parity.rows}};
}

void warn_of_loose_bound(const Parity& parity) {
  if (parity.numerics_limit() <= loose_limit) return;
  log_warning(
      fmt::format("the trained model in float32 is up to {:.1e} from itself in float64, so that the file was only held to "
                  "{:.1e}; it is {:.1e} away",
                  parity.own_error, parity.numerics_limit(), parity.numerics));
}

Predictions predictions_at(const std::vector<int64_t>& split, const Graph& graph, const std::vector<int64_t>& predicted,
                           const std::vector<double>& probabilities) {
  Predictions some;
  some.classes = graph.classes;
  for (const int64_t node : split) {
    if (!std::binary_search(predicted.begin(), predicted.end(), node)) continue;
    some.rows.push_back(node);
    some.labels.push_back(graph.labels[node]);
  }
  some.probabilities = rows_at(some.rows, predicted, probabilities, graph.classes.size());
  return some;
}

nlohmann::json compact_result(const fs::path& out, const fs::path& card, const nlohmann::json& about, const Parity& parity,
                              int64_t bytes) {
  nlohmann::json result = {{"model", out.string()},
                           {"card", card.string()},
                           {"kind", about["kind"]},
                           {"weights", "float32"},
                           {"units", about["dimensions"]},
                           {"open_units", about["open_dimensions"]},
                           {"columns", about["open_attributes"]},
                           {"closed_columns", about["closed_columns"]},
                           {"encoder_narrowed", about["encoder_narrowed"]},
                           {"dimensions", about["dimensions"]},
                           {"open_dimensions", about["open_dimensions"]},
                           {"parity_float64", parity.algebra},
                           {"parity_float32", parity.numerics},
                           {"parity_float32_limit", parity.numerics_limit()},
                           {"rows_checked", parity.rows},
                           {"bytes", bytes},
                           {"bytes_dense", about["parameters_dense"].get<int64_t>() * static_cast<int64_t>(sizeof(float))},
                           {"figures", about["figures"]}};
  if (!about["gate"].contains("units")) return result;
  result["units"] = about["gate"]["units"];
  result["open_units"] = about["gate"]["open_units"];
  return result;
}

nlohmann::json compact_graph_run(const fs::path& run_path, const fs::path& out, const CompactOptions& options) {
  const fs::path card = card_path(out, options.card);
  if (options.weights != WeightType::float32) {
    throw UserError(
        fmt::format("--weights {}: fewer bits are for tables so far; a graph model is written in float32. Leave --weights out.",
                    name_of_enum(options.weights)));
  }
  TrainedGraph trained(run_path);
  if (!options.nodes.empty()) return write_node_lookup(trained, out, card, options.nodes);
  const LoadedGraph& run = trained.exact;
  const std::vector<int64_t> checked = nodes_to_check(trained.raw), predicted = nodes_to_predict(trained.raw, checked);
  const size_t classes = run.graph.classes.size();

  Parity parity;
  const std::vector<double> wanted = trained.probabilities(checked, true);
  parity.rows = static_cast<int64_t>(checked.size());
  parity.algebra = check_nodes(trained.narrowed_probabilities(checked), wanted, algebra_limit, trained.raw, checked,
                               "narrowing, both in float64");
  parity.own_error = std::max(0.0, largest_difference(trained.probabilities(checked, false), wanted).difference);

  GraphHeader header{net_of(*trained.narrowed.model, static_cast<int64_t>(classes)), trained.inputs, run.graph.classes,
                     run.calibrator, describe_graph_run(trained)};
  const Candidate candidate(out);
  write_graph_model(candidate.path(), header, *trained.narrowed.model);
  const std::string judged = read_graph_model(candidate.path()).tensors_sha256;
  const std::vector<double> found = served(candidate.path(), trained.read, predicted);
  parity.numerics = check_nodes(rows_at(checked, predicted, found, classes), wanted, parity.numerics_limit(), trained.raw,
                                checked, "the file in float32 against float64");
  warn_of_loose_bound(parity);
  header.about["parity"] = parity_json(parity);
  for (const auto& [split, nodes] : {std::pair("valid", &trained.raw.valid), std::pair("test", &trained.raw.test)}) {
    const Predictions predictions = predictions_at(*nodes, trained.raw, predicted, found);
    if (predictions.size() > 0) header.about["figures"][split] = figures_of(predictions, header.calibrator);
  }
  const int64_t bytes = write_graph_model(out, header, *trained.narrowed.model);
  if (read_graph_model(out).tensors_sha256 != judged) {
    throw std::runtime_error(
        fmt::format("{} does not hold what was judged: the disk or another process changed it", out.string()));
  }
  nlohmann::json about = header.about;
  about.update({{"kind", "graph"}, {"weights", "float32"}, {"calibrator", header.calibrator.to_json()}, {"bytes", bytes}});
  write_file_atomically(card, graph_card(out.filename().string(), about));
  return compact_result(out, card, about, parity, bytes);
}

}  // namespace l0gm
