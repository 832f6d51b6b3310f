#include "compact/compact_run.h"

#include <fmt/format.h>

#include <numeric>

#include "base/files.h"
#include "base/log.h"
#include "base/version.h"
#include "compact/candidate.h"
#include "compact/card.h"
#include "compact/graph/compact_graph.h"
#include "compact/parity.h"
#include "compact/table/check_rows.h"
#include "data/table/source.h"
#include "gate/figures.h"
#include "l0gm/error.h"
#include "runtime/compact_file.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t check_seed = 0;
constexpr double loose_limit = 1e-4;             // a bound beyond this says little, and the user is told
constexpr int64_t rows_for_gate_figures = 8192;  // validation rows over which the open units of each example are averaged

std::vector<int64_t> all_rows(const TextTable& table) {
  std::vector<int64_t> rows(static_cast<size_t>(table.rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

Predictions served_predictions(const fs::path& file, const ParityRows& rows, const TableDataset& data, const Schema& schema) {
  Predictions predictions;
  predictions.classes = schema.classes;
  predictions.rows = rows.rows;
  predictions.probabilities = served_probabilities(file, rows);
  const RowEncoder encoder(schema);
  for (const int64_t row : rows.rows) predictions.labels.push_back(encoder.class_of(data.table.cell(row, data.label)));
  return predictions;
}

nlohmann::json describe_gate(const TrainedModel& trained, const TableTensors& valid) {
  const LoadedTable& run = trained.exact;
  const auto sites = run.model->sites();
  if (sites.empty()) return {{"unit", "none"}};
  const GateOptions& gate = run.config.gate;
  GateFigures figures;
  if (sites[0]->gate->has_instance_logits()) {  // how many are open depends on the rows
    c10::InferenceMode inference;
    const auto batch = valid.range(0, std::min(valid.rows(), rows_for_gate_figures));
    GatePass pass = GatePass::evaluation(run.gate_state, batch->example_ids);
    run.model->interface(*batch, pass);
    figures = gate_figures(sites, run.gate_state, &pass);
  } else {
    figures = gate_figures(sites, run.gate_state);
  }
  return {{"unit", name_of_enum(run.model->unit())},
          {"logits", name_of_enum(gate.logits)},
          {"attach", name_of_enum(gate.attach)},
          {"test_rule", name_of_enum(gate.test_rule)},
          {"units", figures.units},
          {"open_units", figures.open_units},
          {"ever_open_units", figures.ever_open_units},
          {"active_fraction", figures.active_fraction}};
}

nlohmann::json describe(const TrainedModel& trained, const TableDataset& data, const FoldedModel& folded,
                        const ParityRows& valid) {
  const LoadedTable& run = trained.exact;
  const EncodedTable encoded = encode_rows(data.table, RowEncoder(run.table.schema), valid.rows, false);
  const torch::Tensor open = run.model->open_dimensions(run.gate_state);
  nlohmann::json about = {{"made_with", fmt::format("l0gm {} ({})", version, commit)},
                          {"dataset", run.table.dataset},
                          {"training_rows", data.train.size()},
                          {"seed", run.config.train.seed},
                          {"model", name_of_enum(run.config.model.name)},
                          {"members", run.config.model.members},
                          {"dimensions", open.numel()},
                          {"open_dimensions", open.sum().item<int64_t>()},
                          {"parameters_dense", run.model->parameter_count()},
                          {"parameters_open", run.model->parameter_count(open)},
                          {"closed_columns", folded.closed_columns}};
  about["gate"] = describe_gate(trained, TableTensors(encoded, torch::kCPU, torch::kFloat64));
  about["files"] = nlohmann::json::array();
  for (const FileStamp& file : run.table.files)
    about["files"].push_back({{"name", file.path.filename().string()}, {"sha256", file.sha256}});
  if (!run.config.distill.from.empty()) about["distilled"] = true;
  return about;
}

// Float32 weights, written and read back, must say what the trained model says.
Parity prove(TrainedModel& trained, const FoldedModel& folded, CompactHeader header, const std::vector<ParityRows>& rows,
             const fs::path& out) {
  Parity parity;
  for (const ParityRows& part : rows) check_algebra(trained, folded, part, parity);
  const Candidate candidate(out);
  header.weights = WeightType::float32;
  write_compact(candidate.path(), header, folded.net);
  for (const ParityRows& part : rows) check_numerics(trained, candidate.path(), part, parity);
  return parity;
}

// What rounding to fewer bits changes, and the calibrator that belongs to the rounded weights.
nlohmann::json round_weights(TrainedModel& trained, const FoldedModel& folded, CompactHeader& header,
                             const std::vector<ParityRows>& rows, const TableDataset& data, const fs::path& out) {
  const Candidate candidate(out);
  write_compact(candidate.path(), header, folded.net);
  double largest = 0, sum = 0;
  size_t count = 0;
  for (const ParityRows& part : rows) {
    const std::vector<double> wanted = trained.probabilities(part, true), found = served_probabilities(candidate.path(), part);
    for (size_t i = 0; i < wanted.size(); ++i, ++count) {
      largest = std::max(largest, std::abs(wanted[i] - found[i]));
      sum += std::abs(wanted[i] - found[i]);
    }
  }
  const Calibrator before = header.calibrator;
  header.calibrator = fit_calibrator(served_predictions(candidate.path(), rows[0], data, folded.schema), before.kind);
  return {{"largest_difference", largest},
          {"mean_difference", sum / static_cast<double>(count)},
          {"calibrator_of_float32", before.to_json()}};
}

// The tensors of the file that was judged, and no others.
void require_same_tensors(const fs::path& written, const std::string& judged) {
  if (nlohmann::json::parse(read_compact(written).manifest)["tensors_sha256"] != judged) {
    throw std::runtime_error(
        fmt::format("{} does not hold what was judged: the disk or another process changed it", written.string()));
  }
}

}  // namespace

nlohmann::json compact_run(const fs::path& run_path, const fs::path& out, const CompactOptions& options) {
  const fs::path card = card_path(out, options.card);
  if (is_graph(read_config(RunFolder::open(run_path).config(), {}))) return compact_graph_run(run_path, out, options);
  if (!options.nodes.empty())
    throw UserError(fmt::format("--nodes: {} is a run on a table, which has no nodes; leave it out", run_path.string()));
  TrainedModel trained(run_path);
  const LoadedTable& run = trained.single;
  const TableDataset data = load_dataset(run);
  const FoldedModel folded = fold_table(*trained.exact.model, run.gate_state, run.table.schema, options.fold);
  const TextTable generated = make_check_rows(run.table.schema, options.generated_rows, check_seed);
  const std::vector<ParityRows> rows = {{"validation", data.table, data.valid}, {"generated", generated, all_rows(generated)}};

  CompactHeader header{folded.schema, options.weights, run.calibrator, delimiter_of(run.config.data),
                       describe(trained, data, folded, rows[0])};
  const Parity parity = prove(trained, folded, header, rows, out);
  if (parity.numerics_limit() > loose_limit) {
    log_warning(
        fmt::format("the trained model in float32 is up to {:.1e} from itself in float64 (a gate on the edge falls to either "
                    "side), so that the file was only held to "
                    "{:.1e}; it is {:.1e} away",
                    parity.own_error, parity.numerics_limit(), parity.numerics));
  }
  header.about["parity"] = {{"float64", parity.algebra},           {"float64_limit", algebra_limit},
                            {"float32", parity.numerics},          {"float32_limit", parity.numerics_limit()},
                            {"trained_float32", parity.own_error}, {"rows", parity.rows}};
  if (options.weights != WeightType::float32) {
    header.about["rounding"] = round_weights(trained, folded, header, rows, data, out);
  }
  int64_t bytes = 0;
  {
    const Candidate candidate(out);
    write_compact(candidate.path(), header, folded.net);
    header.about["figures"]["valid"] =
        figures_of(served_predictions(candidate.path(), rows[0], data, folded.schema), header.calibrator);
    if (!data.test.empty()) {
      const ParityRows test{"test", data.table, data.test};
      header.about["figures"]["test"] =
          figures_of(served_predictions(candidate.path(), test, data, folded.schema), header.calibrator);
    }
    const std::string judged = nlohmann::json::parse(read_compact(candidate.path()).manifest)["tensors_sha256"];
    bytes = write_compact(out, header, folded.net);
    require_same_tensors(out, judged);
  }
  nlohmann::json about = header.about;
  about["weights"] = name_of_enum(options.weights);
  about["calibrator"] = header.calibrator.to_json();
  about["bytes"] = bytes;
  write_file_atomically(card, model_card(out.filename().string(), folded.schema, about));

  nlohmann::json result = {{"model", out.string()},
                           {"card", card.string()},
                           {"weights", name_of_enum(options.weights)},
                           {"units", about["dimensions"]},
                           {"open_units", about["open_dimensions"]},
                           {"columns", folded.schema.columns.size()},
                           {"closed_columns", folded.closed_columns},
                           {"parity_float64", parity.algebra},
                           {"parity_float32", parity.numerics},
                           {"parity_float32_limit", parity.numerics_limit()},
                           {"rows_checked", parity.rows},
                           {"bytes", bytes},
                           {"bytes_dense", run.model->parameter_count() * static_cast<int64_t>(sizeof(float))},
                           {"figures", about["figures"]}};
  if (about["gate"].contains("units")) {
    result["units"] = about["gate"]["units"];
    result["open_units"] = about["gate"]["open_units"];
  }
  if (about.contains("rounding")) result["rounding"] = about["rounding"];
  return result;
}

}  // namespace l0gm
