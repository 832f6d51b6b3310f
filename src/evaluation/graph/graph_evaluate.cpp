#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include "base/hash.h"
#include "data/graph/node_list.h"
#include "data/graph/perturb.h"
#include "evaluation/evaluate.h"
#include "evaluation/gate_report.h"
#include "evaluation/planted_report.h"
#include "evaluation/robustness.h"
#include "l0gm/error.h"
#include "metrics/summary.h"
#include "training/graph/graph_run.h"
#include "training/graph/graph_task.h"
#include "training/graph/link_task.h"
#include "training/graph/narrow_graph.h"

namespace l0gm {

namespace {

// A finished run and what it reads, with closed attributes not read and closed channels not computed.
struct NarrowedRun {
  LoadedGraph& run;
  GraphInputs inputs;
};

const std::vector<int64_t>& nodes_of(const Graph& graph, const std::string& split) {
  const std::vector<int64_t>& nodes = split == "valid" ? graph.valid : split == "test" ? graph.test : graph.train;
  if (nodes.empty()) throw UserError(fmt::format("{} has no {} nodes", graph.name, split));
  return nodes;
}

std::unique_ptr<LinkTask> link_task(LoadedGraph& run, const Graph& graph, const Machine& machine) {
  const Config& config = run.config;
  auto task = std::make_unique<LinkTask>(graph, config.graph, config.link, config.train.batch,
                                         static_cast<uint64_t>(config.train.seed), static_cast<uint64_t>(config.data.split.seed),
                                         run.model, machine.device, dtype_of(config.train.precision));
  task->measures_statistics = false;
  return task;
}

nlohmann::json report(LoadedGraph& run, const Graph& raw, const std::string& split, const Machine& machine) {
  const auto gates = [&] {
    const bool links =
        run.config.graph.task == GraphTaskKind::links;  // their interface has all nodes, and hears training links alone
    const Graph scaled = scale_attributes(raw, run.graph.scaling),
                graph = links ? link_task(run, scaled, machine)->messages() : scaled;
    const GraphTensors tensors(graph, machine.device, dtype_of(run.config.train.precision));
    const auto batch = batch_of_nodes(*run.model, tensors, whole_block(graph), links ? all_nodes(graph) : nodes_of(graph, split));
    GatePass pass = GatePass::evaluation(run.gate_state, batch->example_ids);
    run.model->interface(*batch, pass);
    return pass.records().back().gated.gates.cpu();
  };
  nlohmann::json result = report_units(run, gates, nullptr);
  const GraphEncoder& encoder = graph_encoder(*run.model);
  result["attributes"] = run.graph.attribute_names.size();
  if (encoder.input_site() == nullptr) return result;
  const torch::Tensor open = attribute_values(run).gt(0).cpu();
  nlohmann::json columns = nlohmann::json::array();
  for (int64_t i = 0; i < open.size(0); ++i) {
    if (open[i].item<bool>())
      columns.push_back({{"name", run.graph.attribute_names[static_cast<size_t>(i)]}, {"open_dimensions", 1}});
  }
  result["columns"] = open.size(0);
  result["open_columns"] = columns;
  if (!run.graph.planted.empty()) result["planted"] = compare_open(run.graph.planted, columns);
  return result;
}

std::string hash_of_attributes(const Graph& graph) {
  const auto bytes = [](const auto& array) {
    return std::string_view(reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.size()) * sizeof(array[0]));
  };
  Sha256 digest;
  for (const std::string_view part :
       {bytes(graph.dense), bytes(graph.sparse.offsets), bytes(graph.sparse.columns), bytes(graph.sparse.values)}) {
    digest.update(part.data(), part.size());
  }
  return digest.hex();
}

nlohmann::json judge_perturbed_graph(NarrowedRun& narrowed, const Graph& raw, const std::string& split, const Machine& machine) {
  LoadedGraph& run = narrowed.run;
  nlohmann::json conditions = nlohmann::json::object();
  for (const Perturbation& perturbation : perturbations()) {
    const Graph copy = perturb_attributes(raw, perturbation, static_cast<uint64_t>(run.config.train.seed));
    const Graph graph = narrowed.inputs.of(copy);
    const Predictions predictions =
        predict_nodes(*run.model, run.gate_state, graph, nodes_of(graph, split), run.config.graph.inference_rows, machine.device,
                      dtype_of(run.config.train.precision));
    conditions[perturbation.name] = perturbed_figures(predictions, hash_of_attributes(copy));
  }
  return {{"rob_mu", mean_over_conditions(conditions)}, {"conditions", conditions}};
}

nlohmann::json evaluate_links(NarrowedRun& narrowed, const Graph& raw, const std::string& split, const Machine& machine) {
  LoadedGraph& run = narrowed.run;
  const Graph graph = narrowed.inputs.of(raw);
  const std::unique_ptr<LinkTask> task = link_task(run, graph, machine);
  const Predictions predictions = task->predict(*run.model, run.gate_state, split);
  write_predictions(run.folder.predictions(split), predictions);
  nlohmann::json result = judge(predictions, run.calibrator);
  const RankScores ranks = task->rank(*run.model, run.gate_state, split);
  result.update({{"mrr", ranks.mrr},
                 {"hits_1", ranks.hits_1},
                 {"hits_10", ranks.hits_10},
                 {"hits_50", ranks.hits_50},
                 {"hits_100", ranks.hits_100},
                 {"ranked_negatives", run.config.link.ranked_negatives}});
  return result;
}

}  // namespace

nlohmann::json evaluate_graph_run(const std::filesystem::path& path, const std::string& split, const Machine& machine,
                                  const EvaluateOptions& options) {
  LoadedGraph run = load_graph_run(path, machine);
  const bool links = run.config.graph.task == GraphTaskKind::links;
  if (options.keep_perturbed) throw UserError("--keep-perturbed writes tables; perturbed graphs are not written so far");
  if (links && options.perturb) throw UserError("--perturb: perturbed attributes are for graph.task = nodes so far");
  const Graph raw = load_run_graph(run);
  nlohmann::json result = report(run, raw, split, machine);
  result["nodes"] = raw.nodes;
  result["dataset"] = run.graph.dataset;
  NarrowedRun narrowed{run, narrow_graph(run)};
  if (!has_instance_gates(*run.model)) result["parameters"] = run.model->parameter_count();
  if (links) {
    result.update(evaluate_links(narrowed, raw, split, machine));
    return result;
  }
  const Graph graph = narrowed.inputs.of(raw);
  const Predictions predictions =
      predict_nodes(*run.model, run.gate_state, graph, nodes_of(graph, split), run.config.graph.inference_rows, machine.device,
                    dtype_of(run.config.train.precision));
  write_predictions(run.folder.predictions(split), predictions);
  result.update(judge(predictions, run.calibrator));
  if (options.perturb) result.update(judge_perturbed_graph(narrowed, raw, split, machine));
  return result;
}

}  // namespace l0gm
