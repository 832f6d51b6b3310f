#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace l0gm {

// Predicted probabilities and true labels of some rows. Metrics depend on nothing else: neither on the modality nor on the model.
struct Predictions {
  std::vector<std::string> classes;
  std::vector<int64_t> rows;          // the row's number in its source
  std::vector<int32_t> labels;        // index into classes; -1 where the label is unknown
  std::vector<double> probabilities;  // rows x classes, row-major

  int64_t size() const { return static_cast<int64_t>(labels.size()); }
  int64_t class_count() const { return static_cast<int64_t>(classes.size()); }
  std::span<const double> row(int64_t i) const {
    return {probabilities.data() + i * class_count(), static_cast<size_t>(class_count())};
  }
};

// `row,label,p_<class>…`: the format of predictions/SPLIT.csv, and of predictions by other programs. Reading checks that every
// row has finite probabilities in [0, 1] summing to 1 within 1e-4 (then renormalises in float64), that no row number appears
// twice, and that labels are class names (or empty); errors name file and line. A sum within 1e-12 of 1 is left alone, so that
// reading what was written gives back the same bits.
Predictions read_predictions(const std::filesystem::path& path);
void write_predictions(const std::filesystem::path& path, const Predictions& predictions);

// Our own invariant (sizes that fit, labels in -1 … classes-1, finite probabilities in [0, 1]); std::invalid_argument otherwise.
void check_predictions(const Predictions& predictions);

}  // namespace l0gm
