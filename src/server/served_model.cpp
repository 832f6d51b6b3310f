#include "server/served_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "runtime/file_predictor.h"
#include "runtime/text/text_file_predictor.h"
#include "server/http_message.h"
#include "server/model_description.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

using nlohmann::json;

std::vector<double> shares_of_classes(const json& manifest, size_t classes) {
  std::vector<double> shares;
  const json counts = manifest.is_object() ? manifest.value("schema", json::object()).value("class_rows", json::array()) : json();
  if (!counts.is_array() || counts.size() != classes) return {};
  for (const json& count : counts) shares.push_back(count.get<double>());
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (!(sum > 0)) return {};
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<double> missing_in_training(const json& manifest, size_t columns) {
  const json schema = manifest.is_object() ? manifest.value("schema", json::object()) : json::object();
  const json stored = schema.value("columns", json::array()), counts = schema.value("class_rows", json::array());
  const double rows =
      std::accumulate(counts.begin(), counts.end(), 0.0, [](double sum, const json& count) { return sum + count.get<double>(); });
  std::vector<double> shares;
  if (stored.size() != columns || !(rows > 0)) return {};
  for (const json& column : stored) shares.push_back(column.value("missing", 0.0) / rows);
  return shares;
}

// Texts on the caller's thread alone, as rows of tables: the server has threads of its own.
std::unique_ptr<Predictor> predictor_of(const Container& file) {
  if (file.kind() != "text") return std::make_unique<FilePredictor>(read_compact(file), std::nullopt);
  if (const std::string why = text_obstacle(file); !why.empty())
    throw UserError(fmt::format("{} cannot be served here: {}; `l0gm predict` serves it with LibTorch", file.name(), why));
  return std::make_unique<TextFilePredictor>(file, std::nullopt, 1);
}

}  // namespace

std::shared_ptr<const ServedModel> ServedModel::open(std::string name, const std::filesystem::path& path) {
  const Container container = Container::read(path);
  auto predictor = predictor_of(container);
  const std::string version = sha256(container.manifest_text()).substr(0, 12);  // the hash of the tensors is in it
  return std::make_shared<ServedModel>(std::move(name), std::move(predictor), container.manifest(), version);
}

ServedModel::ServedModel(std::string name, std::unique_ptr<Predictor> predictor, const json& manifest, std::string version)
    : name_(std::move(name)),
      version_(std::move(version)),
      predictor_(std::move(predictor)),
      other_(predictor_->with_calibration(!predictor_->is_calibrated())),
      columns_(*predictor_),
      training_shares_(shares_of_classes(manifest, predictor_->classes().size())),
      training_missing_(missing_in_training(manifest, predictor_->columns().size())) {
  for (const std::string& text : predictor_->classes()) append_json_text(class_texts_.emplace_back(), text);
  calibrated_start_ = start_of_answers(true);
  raw_start_ = start_of_answers(false);
  description_ = describe_model(*this, manifest).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

const Predictor& ServedModel::predictor(std::optional<bool> calibrated) const {
  if (!calibrated || *calibrated == predictor_->is_calibrated()) return *predictor_;
  if (other_ != nullptr) return *other_;
  throw RequestError(400, fmt::format("model '{}' gives {} probabilities only: its file has no calibrator to apply; leave "
                                      "'calibrated' out",
                                      name_, predictor_->is_calibrated() ? "calibrated" : "raw"));
}

void ServedModel::predict(const Predictor& by, Cells cells, std::span<float> probabilities, InputCounts& counts) const {
  std::unique_lock lock(one_at_a_time_, std::defer_lock);
  if (!by.concurrent()) lock.lock();
  by.predict(cells, probabilities, counts);
}

// Upwards slowly: a thread that had to wait for a processor looks slow for once. Two threads may count at a time, and one be
// lost.
void ServedModel::count_seconds(double of_a_row) const {
  const double before = row_seconds();
  const double share = of_a_row < before ? 0.5 : 0.02;
  row_seconds_.store(before == 0 ? of_a_row : before + share * (of_a_row - before), std::memory_order_relaxed);
}

std::string ServedModel::start_of_answers(bool calibrated) const {
  std::string start = "{\"model\":";
  append_json_text(start, name_);
  start += fmt::format(",\"version\":\"{}\",\"calibrated\":{},\"classes\":[", version_, calibrated);
  for (size_t c = 0; c < class_texts_.size(); ++c) (start += c > 0 ? "," : "") += class_texts_[c];
  return start + "],\"predictions\":[";
}

}  // namespace l0gm
