#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/predictor.h"
#include "server/request_rows.h"

namespace l0gm {

// A compact file that is served: immutable, shared by the requests that began with it.
class ServedModel {
 public:
  // Reads the file; UserError naming it when it is damaged, or of a kind that is not served without LibTorch.
  static std::shared_ptr<const ServedModel> open(std::string name, const std::filesystem::path& path);
  // Of any predictor. manifest: of its file, for what it tells about itself; null where there is none.
  ServedModel(std::string name, std::unique_ptr<Predictor> predictor, const nlohmann::json& manifest, std::string version);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }  // 12 digits of a hash: another file has another one
  const Predictor& predictor() const { return *predictor_; }
  const ColumnNames& columns() const { return columns_; }
  bool has_both() const { return other_ != nullptr; }  // calibrated and raw probabilities
  // The predictor whose probabilities are calibrated, or raw; unset: as the file says. RequestError where there is none.
  const Predictor& predictor(std::optional<bool> calibrated) const;
  // By one of its predictors; one call at a time where that serves no more.
  void predict(const Predictor& by, Cells cells, std::span<float> probabilities, InputCounts& counts) const;
  // What a row takes to predict and to answer, as it was lately; 0: not known yet.
  double row_seconds() const { return row_seconds_.load(std::memory_order_relaxed); }
  void count_seconds(double of_a_row) const;
  // The beginning of each answer in JSON: {"model": …, "classes": […], "calibrated": …, "predictions": [
  const std::string& answer_start(const Predictor& of) const { return of.is_calibrated() ? calibrated_start_ : raw_start_; }
  const std::vector<std::string>& class_texts() const { return class_texts_; }       // as JSON
  const std::string& description() const { return description_; }                    // JSON of GET /v1/models/NAME
  const std::vector<double>& training_shares() const { return training_shares_; }    // of each class; none: not known
  const std::vector<double>& training_missing() const { return training_missing_; }  // share per column; none: not known

 private:
  std::string start_of_answers(bool calibrated) const;
  std::string name_, version_;
  std::unique_ptr<Predictor> predictor_, other_;  // as the file says; the other way, where there is one
  mutable std::mutex one_at_a_time_;
  mutable std::atomic<double> row_seconds_{0};
  ColumnNames columns_;
  std::vector<std::string> class_texts_;
  std::string calibrated_start_, raw_start_, description_;
  std::vector<double> training_shares_, training_missing_;
};

}  // namespace l0gm
