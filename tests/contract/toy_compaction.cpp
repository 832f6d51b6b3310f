#include "contract/toy_compaction.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/json_checks.h"
#include "base/text.h"
#include "compact/about.h"
#include "compact/card.h"
#include "l0gm/error.h"
#include "runtime/container.h"

namespace l0gm::testing_tools {

namespace fs = std::filesystem;

namespace {

ToyRun load(const fs::path& path, Precision precision) {
  ToyRun run(path, prepare_machine("cpu", 0, false));
  place(*run.model, torch::kCPU, dtype_of(precision));
  return run;
}

std::shared_ptr<Model> narrowed(const ToyRun& copy) {
  if (!copy.model->narrow(copy.gate_state)) throw UserError("gates that depend on the point cannot be left out");
  return copy.model;
}

GateOptions dense() {
  GateOptions options;
  options.unit = UnitKind::none;
  return options;
}

ToyFile read(const Container& file) {
  if (file.kind() != "toy") throw UserError(fmt::format("it is a model of kind '{}', wanted 'toy'", file.kind()));
  const nlohmann::json& net = json_checks::member(file.manifest(), "manifest", "net");
  ToyFile result;
  result.record = ToyRecord::from_json(json_checks::member(file.manifest(), "manifest", "record"));
  result.calibrator = file.facts(result.record.classes.size(), {"record", "net"}).calibrator;
  ModelOptions options;
  options.width = json_checks::count(net, "net", "width", 1, 4096);
  options.depth = json_checks::count(net, "net", "depth", 0, 64);
  options.hidden = json_checks::count(net, "net", "hidden", 1, 65536);
  options.members = json_checks::count(net, "net", "members", 1, 1024);
  result.model = make_toy_model(result.record.class_rows, options, dense(), 0);
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.dtype != DType::f32) throw UserError(fmt::format("tensor '{}' is not of float32", name));
    torch::Tensor& copy = tensors[name] = at::empty(tensor.shape, torch::kFloat32);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), static_cast<char*>(copy.mutable_data_ptr()));
  }
  copy_into(tensors, result.model->state(), "the file");
  return result;
}

CompactKind toy_kind() {
  CompactKind kind;
  kind.modality = &modality_named(modalities_with_toy(), "toy");
  kind.compaction = [](const fs::path& run, const CompactOptions&) { return std::make_unique<ToyCompaction>(run); };
  kind.run_predictor = [](const fs::path& path, const PredictorOptions& options) {
    const ToyRun run(path, options.machine);
    return std::make_unique<ToyPredictor>(ToyFile{run.points, run.calibrator, run.model}, run.gate_state,
                                          run.calibrator.is_used(options.calibrated));
  };
  kind.file_kind = "toy";
  kind.file_predictor = [](const fs::path& file, const PredictorOptions& options) {
    ToyFile read = read_toy_file(file);
    const bool calibrated = read.calibrator.is_used(options.calibrated);
    return std::make_unique<ToyPredictor>(std::move(read), GateState{}, calibrated);
  };
  return kind;
}

}  // namespace

ToyCompaction::ToyCompaction(const fs::path& run)
    : single_(load(run, Precision::float32)),
      exact_(load(run, Precision::float64)),
      narrowed_(narrowed(load(run, Precision::float64))) {
  const std::vector<int64_t> rows = exact_.data().rows(Split::valid);
  checked_ = {std::ssize(rows),
              "points",
              [rows](int64_t i) { return fmt::format("point {}", rows[static_cast<size_t>(i)]); },
              {}};
}

std::vector<double> ToyCompaction::trained(Precision precision) {
  return (precision == Precision::float64 ? exact_ : single_).predict(Split::valid).probabilities;
}

std::vector<double> ToyCompaction::folded() {
  return predict_toy(*narrowed_, {}, *exact_.rows(Split::valid), classes()).probabilities;
}

std::vector<double> ToyCompaction::served(const fs::path& file) { return served(file, Split::valid).probabilities; }

Predictions ToyCompaction::served(const fs::path& file, Split split) {
  return predict_toy(*read_toy_file(file).model, {}, *exact_.rows(split), classes());
}

nlohmann::json ToyCompaction::about() {
  nlohmann::json about = about_run(exact_);
  about.update({{"dimensions", exact_.model->encoder().width()},
                {"open_dimensions", narrowed_->encoder().width()},
                {"closed_columns", nlohmann::json::array()},
                {"parameters_dense", exact_.model->parameter_count()},
                {"parameters_open", narrowed_->parameter_count()},
                {"gate", about_gate(exact_, nullptr)}});
  return about;
}

int64_t ToyCompaction::write(const fs::path& file, WeightType weights, const Calibrator& calibrator,
                             const nlohmann::json& about) {
  ContainerWriter writer("toy");
  TensorMap on_host;  // holds the memory while it is written
  for (const auto& [name, tensor] : narrowed_->state()) {
    const torch::Tensor& t = on_host[name] = tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
    writer.add(name, DType::f32, t.sizes().vec(), t.const_data_ptr(), static_cast<size_t>(t.nbytes()));
  }
  const ModelOptions& model = exact_.config.model;
  writer.set("record", exact_.points.to_json());
  writer.set("net", {{"width", narrowed_->encoder().width()},
                     {"depth", model.depth},
                     {"hidden", model.hidden},
                     {"members", model.members}});
  return writer.write(file, {std::string(name_of_enum(weights)), calibrator, about});
}

std::string ToyCompaction::card(const std::string& file, const nlohmann::json& about) const {
  return fmt::format("# {}\n\n{}\n{}\n{}\n{}", card::cell(file), card::figures(about, false, "points"),
                     card::calibration(about, "points"), card::gate(about, "numbers", false), card::parity(about, "points"));
}

nlohmann::json ToyCompaction::result(const nlohmann::json&) const { return {{"kind", "toy"}, {"columns", toy_numbers}}; }

std::string ToyCompaction::describe(const nlohmann::json& result) const {
  return fmt::format("{}: {} of {} units open\n", result["model"].get<std::string>(), result["open_units"].get<int64_t>(),
                     result["units"].get<int64_t>());
}

ToyFile read_toy_file(const fs::path& path) {
  const Container file = Container::read(path);
  return file.explain([&] { return read(file); });
}

ToyPredictor::ToyPredictor(ToyFile file, GateState state, bool calibrated)
    : file_(std::move(file)),
      state_(state),
      calibrated_(calibrated),
      columns_(dynamic_cast<const ToyEncoder&>(file_.model->encoder()).column_names()) {}

void ToyPredictor::predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const {
  std::vector<double> values;
  for (size_t i = 0; i < cells.cells.size(); ++i) {
    const std::string_view cell = trim(cells.cells[i]);
    const std::optional<double> number = parse_double(cell);
    const bool readable = number && std::isfinite(*number);
    if (!readable) ++(cell.empty() ? counts.missing : counts.unreadable)[i % columns_.size()];
    values.push_back(readable ? *number : std::numeric_limits<double>::quiet_NaN());
  }
  ToyBatch batch;
  batch.numbers = file_.record.scaled(values);
  batch.example_ids = at::arange(cells.rows, torch::kInt64);
  batch.targets = at::full({cells.rows}, -1, torch::kInt64);
  Predictions found = predict_toy(*file_.model, state_, batch, classes());
  if (calibrated_) found = file_.calibrator.apply(std::move(found));
  std::transform(found.probabilities.begin(), found.probabilities.end(), probabilities.begin(),
                 [](double p) { return static_cast<float>(p); });
}

const CompactKinds& kinds_with_toy() {
  static const CompactKinds list = [] {
    CompactKinds all = compact_kinds();
    all.push_back(toy_kind());
    return all;
  }();
  return list;
}

}  // namespace l0gm::testing_tools
