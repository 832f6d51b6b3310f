#include "evaluation/graph/graph_speed.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "data/graph/node_list.h"
#include "data/graph/source.h"
#include "evaluation/training_clock.h"
#include "l0gm/error.h"
#include "serving/latency.h"
#include "training/graph/graph_modality.h"
#include "training/graph/graph_run.h"
#include "training/graph/graph_task.h"
#include "training/train.h"

namespace l0gm {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// All nodes at once, waited for; of links what every question begins with, the interface.
double time_inference(GraphRun& run, Model& model, const GraphBatch& batch, const SpeedOptions& options) {
  c10::InferenceMode inference;
  model.eval();
  const auto compute = [&] {
    if (run.config.graph.task != GraphTaskKind::links) return infer(model, run.gate_state, batch, 0);
    GatePass pass = GatePass::evaluation(run.gate_state, batch.example_ids);
    return model.interface(batch, pass);
  };
  std::vector<double> seconds;
  for (int64_t time = 0; time < options.warmup + options.inferences; ++time) {
    const Clock::time_point start = Clock::now();
    compute();
    wait_for(batch.example_ids.device());
    if (time >= options.warmup) seconds.push_back(seconds_since(start));
  }
  return percentile(seconds, 0.5);
}

nlohmann::json time_model(GraphRun& run, Model& model, const Graph& graph, const Machine& machine, const SpeedOptions& options) {
  const GraphTensors tensors(graph, machine.device, dtype_of(run.config.train.precision));
  const auto batch = batch_of_nodes(model, tensors, whole_block(graph), all_nodes(graph));
  reset_peak(machine);
  const double seconds = time_inference(run, model, *batch, options);
  nlohmann::json result = {{"seconds", seconds}, {"peak_bytes", peak_bytes(machine)}, {"width", model.encoder().width()}};
  batch->propagated = graph_encoder(model).propagate_ahead(*batch);
  if (batch->propagated.defined()) result["seconds_again"] = time_inference(run, model, *batch, options);
  return result;
}

}  // namespace

nlohmann::json measure_graph_inference(const std::filesystem::path& path, const Machine& machine, const SpeedOptions& options) {
  GraphRun run(path, machine);
  const Graph& raw = run.raw();
  nlohmann::json result = {{"what", path.string()}, {"dataset", run.graph.dataset}, {"nodes", raw.nodes}, {"edges", raw.edges()}};
  result["as_trained"] = time_model(run, *run.model, scale_attributes(raw, run.graph.scaling), machine, options);
  if (run.model->sites().empty()) return result;
  result["narrowed"] = time_model(run, *run.narrowed().model, run.narrowed().inputs.of(raw), machine, options);
  return result;
}

nlohmann::json measure_graph_training(Config config, const std::filesystem::path& work, const Machine& machine,
                                      const SpeedOptions& options) {
  const GraphModality graph;
  if (!graph.reads(config.data)) throw UserError("bench graph times graphs; data.source is something else");
  const TemporaryFolder folder{work};
  nlohmann::json result = {{"what", work.string()}};
  result.update(measure_training(graph, std::move(config), work, machine, options));
  result.update(measure_graph_inference(work, machine, options));
  return result;
}

std::string describe_graph_speed(const nlohmann::json& result) {
  std::string text = fmt::format("{}: {} nodes, {} edges\n", result["dataset"].get<std::string>(),
                                 with_thousands(result["nodes"].get<int64_t>()), with_thousands(result["edges"].get<int64_t>()));
  const auto gigabytes = [](const nlohmann::json& bytes) {
    return bytes.is_null() ? std::string() : fmt::format(", at most {:.2f} GB", bytes.get<double>() / 1e9);
  };
  if (result.contains("epoch_seconds")) {
    text += fmt::format("  training    {:.4f} s an epoch (mean of {}, {} step{} each){}\n", result["epoch_seconds"].get<double>(),
                        result["epochs"].get<int64_t>(), result["steps_per_epoch"].get<int64_t>(),
                        result["steps_per_epoch"] == 1 ? "" : "s", gigabytes(result["peak_bytes_training"]));
  }
  for (const char* which : {"as_trained", "narrowed"}) {
    if (!result.contains(which)) continue;
    text += fmt::format("  inference   {:.4f} s for all nodes, {} channels {}{}\n", result[which]["seconds"].get<double>(),
                        result[which]["width"].get<int64_t>(), std::string(which) == "narrowed" ? "left" : "as trained",
                        gigabytes(result[which]["peak_bytes"]));
    if (!result[which].contains("seconds_again")) continue;
    text += fmt::format("              {:.4f} s where the first sums over neighbours are at hand\n",
                        result[which]["seconds_again"].get<double>());
  }
  return text;
}

}  // namespace l0gm
