#include "compact/graph/graph_compaction.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compact/about.h"
#include "compact/graph/graph_card.h"
#include "compact/graph/link_lookup.h"
#include "compact/graph/node_lookup.h"
#include "l0gm/error.h"
#include "training/graph/graph_task.h"
#include "training/graph/link_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

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

int64_t write_model(const fs::path& file, TrainedGraph& trained, const Calibrator& calibrator, const nlohmann::json& about) {
  Model& model = *trained.narrowed.model;
  const GraphHeader header{net_of(model, std::ssize(trained.exact.graph.classes)), trained.narrowed.inputs,
                           trained.exact.graph.classes, calibrator, about};
  return write_graph_model(file, header, model);
}

}  // namespace

nlohmann::json GraphCompaction::about() {
  const GraphRun& run = trained_.exact;
  const GraphNet net = net_of(*trained_.narrowed.model, std::ssize(run.graph.classes));
  const std::vector<std::string> closed = closed_attributes(trained_);
  nlohmann::json about = about_run(run);
  about.update({{"nodes", run.graph.nodes},
                {"edges", run.graph.edges},
                {"training_rows", trained_.raw.train.size()},
                {"classes", run.graph.classes},
                {"class_rows", run.graph.class_rows},
                {"dimensions", run.model->encoder().width()},
                {"open_dimensions", net.head_width()},
                {"attributes", run.graph.attribute_names.size()},
                {"open_attributes", run.graph.attribute_names.size() - closed.size()},
                {"closed_columns", closed},
                {"attributes_for_sums", !trained_.narrowed.inputs.selected.empty()},
                {"encoder_narrowed", trained_.encoder_narrowed()},
                {"parameters_dense", run.model->parameter_count()},
                {"parameters_open", net.parameters()},
                {"gate", about_gate(run, nullptr)},
                {"options", options_of(run.config)}});
  return about;
}

std::string GraphCompaction::card(const std::string& file, const nlohmann::json& about) const {
  nlohmann::json all = about;
  all["links"] = trained_.exact.predicts_links();
  return graph_card(file, all);
}

nlohmann::json GraphCompaction::result(const nlohmann::json& about) const {
  return {{"kind", "graph"},
          {"columns", about["open_attributes"]},
          {"encoder_narrowed", about["encoder_narrowed"]},
          {"dimensions", about["dimensions"]},
          {"open_dimensions", about["open_dimensions"]}};
}

std::string GraphCompaction::describe(const nlohmann::json& result) const {
  const auto closed = result["closed_columns"].size();
  std::string text = fmt::format("{}: {} bytes, {} of {} units open", result["model"].get<std::string>(),
                                 with_thousands(result["bytes"].get<int64_t>()), result["open_units"].get<int64_t>(),
                                 result["units"].get<int64_t>());
  if (result.contains("nodes")) {
    text += fmt::format(", {} of {} nodes to look up; another node gets {}\n", result["stored"].get<std::string>(),
                        with_thousands(result["nodes"].get<int64_t>()),
                        trained_.exact.predicts_links() ? "what the bias of the score says" : "the classes' shares in training");
  } else {
    text += fmt::format(", reads {} attributes{}\n", result["columns"].get<int64_t>(),
                        closed == 0 ? "" : fmt::format(" ({} closed)", closed));
  }
  if (!result["encoder_narrowed"].get<bool>()) {
    text += fmt::format(
        "  only the head is narrower: graph.last_norm = layer normalises over all {} channels, so that the last layer "
        "computes closed ones too\n",
        result["dimensions"].get<int64_t>());
  }
  return text;
}

NodeCompaction::NodeCompaction(const fs::path& run)
    : GraphCompaction(run), nodes_(nodes_to_check(trained_.raw)), predicted_(nodes_to_predict(trained_.raw, nodes_)) {
  checked_ = {std::ssize(nodes_),
              "nodes",
              [this](int64_t row) { return "node " + trained_.raw.node_name(nodes_[static_cast<size_t>(row)]); },
              {}};
}

std::vector<double> NodeCompaction::trained(Precision precision) { return trained_.probabilities(nodes_, precision); }

std::vector<double> NodeCompaction::folded() { return trained_.narrowed_probabilities(nodes_); }

// The file as it is read back, in float32: what `predict` will say. All nodes that are asked for are predicted together.
const std::vector<double>& NodeCompaction::found(const fs::path& file) {
  const GraphFile stored = read_graph_model(file);
  if (stored.tensors_sha256 != found_in_) {
    const int64_t rows = inference_rows_for(trained_.read, stored.header.inputs.inference_rows);
    found_ = predict_nodes(*stored.model, {}, trained_.read, predicted_, rows, torch::kCPU, torch::kFloat32).probabilities;
    found_in_ = stored.tensors_sha256;
  }
  return found_;
}

std::vector<double> NodeCompaction::served(const fs::path& file) {
  return rows_at(nodes_, predicted_, found(file), classes().size());
}

Predictions NodeCompaction::served(const fs::path& file, Split split) {
  return predictions_at(split, trained_.raw, predicted_, found(file));
}

int64_t NodeCompaction::write(const fs::path& file, WeightType, const Calibrator& calibrator, const nlohmann::json& about) {
  return write_model(file, trained_, calibrator, about);
}

LinkCompaction::LinkCompaction(const fs::path& run) : GraphCompaction(run) {
  checked_.rows = ask(trained_.exact.model, trained_.scaled, Split::valid, torch::kFloat64).size();
  checked_.noun = "pairs of nodes";
  checked_.where = [](int64_t row) { return fmt::format("validation pair {}", row); };
}

Predictions LinkCompaction::ask(std::shared_ptr<Model> model, const Graph& graph, Split split, torch::Dtype dtype) {
  const Config& config = trained_.exact.config;
  LinkTask task(graph, config.graph, config.link, config.train.batch, static_cast<uint64_t>(config.train.seed),
                static_cast<uint64_t>(config.data.split.seed), model, torch::kCPU, dtype);
  task.measures_statistics = false;
  return task.predict(*model, trained_.exact.gate_state, split);
}

std::vector<double> LinkCompaction::trained(Precision precision) {
  const GraphRun& run = precision == Precision::float64 ? trained_.exact : trained_.single;
  return ask(run.model, trained_.scaled, Split::valid, dtype_of(precision)).probabilities;
}

std::vector<double> LinkCompaction::folded() {
  return ask(trained_.narrowed.model, trained_.read, Split::valid, torch::kFloat64).probabilities;
}

std::vector<double> LinkCompaction::served(const fs::path& file) { return served(file, Split::valid).probabilities; }

Predictions LinkCompaction::served(const fs::path& file, Split split) {
  return ask(read_graph_model(file).model, trained_.read, split, torch::kFloat32);
}

int64_t LinkCompaction::write(const fs::path& file, WeightType, const Calibrator& calibrator, const nlohmann::json& about) {
  return write_model(file, trained_, calibrator, about);
}

std::unique_ptr<Compaction> make_graph_compaction(const fs::path& run, const CompactOptions& options) {
  const bool links = GraphRun(run, prepare_machine("cpu", 0, false)).predicts_links();
  if (links && !options.lookup.empty()) return std::make_unique<LinkLookupCompaction>(run, options.lookup);
  if (links) return std::make_unique<LinkCompaction>(run);
  if (!options.lookup.empty()) return std::make_unique<LookupCompaction>(run, options.lookup);
  return std::make_unique<NodeCompaction>(run);
}

}  // namespace l0gm
