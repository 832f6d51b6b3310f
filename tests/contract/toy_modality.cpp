#include "contract/toy_modality.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "contract/toy_run.h"
#include "heads/deep.h"
#include "heads/sum.h"
#include "l0gm/error.h"
#include "training/modalities.h"

namespace l0gm::testing_tools {

namespace {

constexpr uint64_t order_stream = 0x746f79;  // of the order of rows
constexpr double centre_rate = 0.1;
const std::vector<std::string> sizes = {"small", "medium", "large"};

}  // namespace

ToyData::ToyData(int64_t count, uint64_t seed) : name_(fmt::format("toy/{}", seed)) {
  for (const Split split : {Split::train, Split::valid, Split::test}) rows_[split];
  for (int64_t row = 0; row < count; ++row) {
    RandomStream random(seed, static_cast<uint64_t>(row));
    double drawn[toy_numbers];
    for (int64_t j = 0; j < toy_numbers; ++j) {
      drawn[j] = random.normal();
      values.push_back(10.0 * static_cast<double>(j) + static_cast<double>(1 + j) * drawn[j]);
    }
    const double size = drawn[0] - 2 * drawn[1] + 0.3 * random.normal();  // the other numbers say nothing
    labels.push_back(size < -1 ? 0 : size < 1 ? 1 : 2);
    rows_[row % 5 < 3 ? Split::train : row % 5 == 3 ? Split::valid : Split::test].push_back(row);
  }
}

std::vector<double> ToyData::values_of(const std::vector<int64_t>& rows) const {
  std::vector<double> some;
  for (const int64_t row : rows) some.insert(some.end(), &values[row * toy_numbers], &values[row * toy_numbers] + toy_numbers);
  return some;
}

nlohmann::json ToyRecord::to_json() const {
  return {{"mean", mean},
          {"deviation", deviation},
          {"classes", classes},
          {"class_rows", class_rows},
          {"dataset", dataset},
          {"files", l0gm::to_json(files)},
          {"training_rows", training_rows},
          {"teacher", teacher},
          {"planted", planted}};
}

ToyRecord ToyRecord::from_json(const nlohmann::json& json) {
  try {
    ToyRecord record;
    json.at("mean").get_to(record.mean);
    json.at("deviation").get_to(record.deviation);
    json.at("classes").get_to(record.classes);
    json.at("class_rows").get_to(record.class_rows);
    json.at("dataset").get_to(record.dataset);
    record.files = stamps_from_json(json.at("files"));
    json.at("training_rows").get_to(record.training_rows);
    json.at("teacher").get_to(record.teacher);
    json.at("planted").get_to(record.planted);
    if (record.mean.size() != toy_numbers || record.deviation.size() != toy_numbers) {
      throw UserError(fmt::format("schema.json is damaged: it has {} means, wanted {}", record.mean.size(), toy_numbers));
    }
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("schema.json is damaged: {}", error.what()));
  }
}

torch::Tensor ToyRecord::scaled(const std::vector<double>& values) const {
  const torch::Tensor numbers = at::tensor(values, torch::kFloat64).view({-1, toy_numbers});
  const torch::Tensor centred = numbers - at::tensor(mean, torch::kFloat64);
  return (centred / at::tensor(deviation, torch::kFloat64)).nan_to_num(0.0);
}

std::shared_ptr<ToyBatch> ToyBatch::select(const torch::Tensor& rows) const {
  auto some = std::make_shared<ToyBatch>();
  some->example_ids = example_ids.index_select(0, rows);
  some->targets = targets.index_select(0, rows);
  some->numbers = numbers.index_select(0, rows);
  return some;
}

std::shared_ptr<ToyBatch> toy_batch(const ToyData& data, const ToyRecord& record, const std::vector<int64_t>& rows) {
  auto batch = std::make_shared<ToyBatch>();
  std::vector<int64_t> targets;
  for (const int64_t row : rows) targets.push_back(data.labels[static_cast<size_t>(row)]);
  batch->example_ids = at::tensor(rows, torch::kInt64);
  batch->targets = at::tensor(targets, torch::kInt64);
  batch->numbers = record.scaled(data.values_of(rows));
  return batch;
}

ToyEncoder::ToyEncoder(int64_t width) {
  const double bound = 1 / std::sqrt(static_cast<double>(toy_numbers));
  weight_ = register_parameter("weight", at::empty({toy_numbers, width}).uniform_(-bound, bound));
  bias_ = register_parameter("bias", at::zeros({width}));
  centre_ = register_buffer("centre", at::zeros({toy_numbers}));
}

torch::Tensor ToyEncoder::forward(const Batch& batch, GatePass&) {
  const torch::Tensor x = dynamic_cast<const ToyBatch&>(batch).numbers.to(weight_.device(), weight_.scalar_type());
  if (is_training()) {
    torch::NoGradGuard no_grad;
    centre_.lerp_(x.mean(0), centre_rate);
  }
  return at::tanh(at::addmm(bias_, x - centre_, weight_));
}

InterfaceUnits ToyEncoder::units(UnitKind, Attach) const {
  return {at::ones({width()}), {}, [](int64_t unit) { return fmt::format("dimension {}", unit); }};
}

std::vector<std::string> ToyEncoder::column_names() const {
  std::vector<std::string> names;
  for (int64_t j = 0; j < toy_numbers; ++j) names.push_back(fmt::format("x{}", j));
  return names;
}

std::vector<int64_t> ToyEncoder::parameters_of_dimension() const {
  return std::vector<int64_t>(static_cast<size_t>(width()), toy_numbers + 1);
}

bool ToyEncoder::narrow(const torch::Tensor& kept) {
  torch::NoGradGuard no_grad;
  weight_.set_data(weight_.index_select(1, kept).contiguous());
  bias_.set_data(bias_.index_select(0, kept).contiguous());
  return true;
}

std::shared_ptr<Model> make_toy_model(const std::vector<int64_t>& class_rows, const ModelOptions& options,
                                      const GateOptions& gate, uint64_t seed) {
  at::manual_seed(seed);
  auto encoder = std::make_shared<ToyEncoder>(options.width);
  auto head = std::make_shared<SumHead>(class_rows, options.members);
  const int64_t outputs = outputs_for(std::ssize(class_rows));
  head->add("deep",
            std::make_shared<DeepHead>(options.width, options.depth, options.hidden, outputs, options.members, options.dropout));
  return std::make_shared<Model>(encoder, head, options.interface_dropout, gate);
}

Predictions predict_toy(Model& model, const GateState& state, const ToyBatch& rows, const std::vector<std::string>& classes) {
  c10::InferenceMode inference;
  model.eval();
  GatePass pass = GatePass::evaluation(state, rows.example_ids);
  const torch::Tensor p = mean_probabilities(model.forward(rows, pass).to(torch::kCPU, torch::kFloat64)).contiguous();
  const torch::Tensor ids = rows.example_ids.contiguous(), labels = rows.targets.to(torch::kInt32).contiguous();
  return {classes,
          {ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel()},
          {labels.data_ptr<int32_t>(), labels.data_ptr<int32_t>() + labels.numel()},
          {p.data_ptr<double>(), p.data_ptr<double>() + p.numel()}};
}

ToyTask::ToyTask(const ToyData& data, const ToyRecord& record, int64_t batch, uint64_t seed)
    : classes_(record.classes), batch_(batch), seed_(seed) {
  for (const Split split : {Split::train, Split::valid}) rows_[split] = toy_batch(data, record, data.rows(split));
}

int64_t ToyTask::steps_per_epoch() const { return (rows_.at(Split::train)->targets.numel() + batch_ - 1) / batch_; }

std::shared_ptr<Batch> ToyTask::training_batch(int64_t epoch, int64_t index) {
  const ToyBatch& all = *rows_.at(Split::train);
  const int64_t rows = all.targets.numel();
  RandomStream random(seed_, mix_key(order_stream, static_cast<uint64_t>(epoch)));
  const torch::Tensor order = at::tensor(random.permutation(rows), torch::kInt64);
  return all.select(order.slice(0, index * batch_, std::min(rows, (index + 1) * batch_)));
}

Predictions ToyTask::predict(Model& model, const GateState& state, Split split) {
  return predict_toy(model, state, *rows_.at(split), classes_);
}

void ToyModality::check(const Config& config, const Machine& machine) const {
  const bool units = config.gate.unit == UnitKind::dimension || config.gate.unit == UnitKind::none;
  if (!units || config.gate.attach != Attach::interface) throw UserError("a toy's units are dimensions of the interface");
  if (!machine.device.is_cpu()) throw UserError("a toy is trained on the processor alone");
}

std::shared_ptr<Dataset> ToyModality::load(const Config& config) const {
  return std::make_shared<ToyData>(config.data.rows, static_cast<uint64_t>(config.data.split.seed));
}

std::unique_ptr<Record> ToyModality::fit(Dataset& dataset, const Config&) const {
  const auto& data = dynamic_cast<const ToyData&>(dataset);
  const std::vector<int64_t>& rows = data.rows(Split::train);
  const torch::Tensor numbers = at::tensor(data.values_of(rows), torch::kFloat64).view({-1, toy_numbers});
  auto record = std::make_unique<ToyRecord>();
  for (int64_t j = 0; j < toy_numbers; ++j) {
    record->mean.push_back(numbers.select(1, j).mean().item<double>());
    record->deviation.push_back(numbers.select(1, j).std().item<double>());
  }
  record->classes = sizes;
  record->class_rows.assign(sizes.size(), 0);
  for (const int64_t row : rows) ++record->class_rows[static_cast<size_t>(data.labels[static_cast<size_t>(row)])];
  record->dataset = data.name();
  record->training_rows = sha256(rows);
  record->planted = {"x0", "x1"};
  return record;
}

std::unique_ptr<Record> ToyModality::read_record(const nlohmann::json& json) const {
  return std::make_unique<ToyRecord>(ToyRecord::from_json(json));
}

std::shared_ptr<Model> ToyModality::make_model(const Record& record, const Config& config, uint64_t seed) const {
  return make_toy_model(record.rows_of_classes(), config.model, config.gate, seed);
}

std::unique_ptr<Task> ToyModality::make_task(const std::shared_ptr<Dataset>& dataset, const Record& record,
                                             std::shared_ptr<Model>, const Config& config, const Machine&) const {
  return std::make_unique<ToyTask>(dynamic_cast<const ToyData&>(*dataset), dynamic_cast<const ToyRecord&>(record),
                                   config.train.batch, static_cast<uint64_t>(config.train.seed));
}

std::string ToyModality::describe(const Dataset& dataset, const Record&, const Model& model) const {
  return fmt::format("{}: {} parameters", dataset.name(), model.parameter_count());
}

DataReport ToyModality::make_data(const Config& config, const std::filesystem::path& file) const {
  const ToyData data(config.data.rows, static_cast<uint64_t>(config.data.split.seed));
  std::string text = join(ToyEncoder(1).column_names(), ",") + "\n";
  for (size_t i = 0; i < data.values.size(); ++i) text += shortest(data.values[i]) + ((i + 1) % toy_numbers == 0 ? "\n" : ",");
  write_file_atomically(file, text);
  return {{{"rows", data.labels.size()}}, fmt::format("{}: {} points\n", file.string(), data.labels.size())};
}

std::unique_ptr<Run> ToyModality::open(const std::filesystem::path& path, const Machine& machine) const {
  return std::make_unique<ToyRun>(path, machine);
}

const Modalities& modalities_with_toy() {
  static const ToyModality toy;
  static const Modalities list = [] {
    Modalities all = modalities();
    all.push_back(&toy);
    return all;
  }();
  return list;
}

}  // namespace l0gm::testing_tools
