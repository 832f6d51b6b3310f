#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "compact/compact_kinds.h"
#include "contract/toy_run.h"

// What the toy modality brings for compact files and for serving.
//   compact_run(kinds_with_toy(), run, "points.l0gm", {});
//   const auto predictor = open_predictor(kinds_with_toy(), "points.l0gm", {});
namespace l0gm::testing_tools {

// The model without its closed dimensions, in a file of kind "toy".
class ToyCompaction : public Compaction {
 public:
  explicit ToyCompaction(const std::filesystem::path& run);
  const Checked& checked() const override { return checked_; }
  const std::vector<std::string>& classes() const override { return exact_.points.classes; }
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  Predictions served(const std::filesystem::path& file, Split split) override;
  Calibrator calibrator() const override { return exact_.calibrator; }
  nlohmann::json about() override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;
  std::string card(const std::string& file, const nlohmann::json& about) const override;
  nlohmann::json result(const nlohmann::json& about) const override;
  std::string describe(const nlohmann::json& result) const override;

 private:
  ToyRun single_, exact_;
  std::shared_ptr<Model> narrowed_;  // float64
  Checked checked_;
};

struct ToyFile {
  ToyRecord record;
  Calibrator calibrator;
  std::shared_ptr<Model> model;  // dense, float32
};
ToyFile read_toy_file(const std::filesystem::path& path);

// Rows of text with the columns x0 …; an empty cell is missing.
class ToyPredictor : public Predictor {
 public:
  ToyPredictor(ToyFile file, GateState state, bool calibrated);
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return file_.record.classes; }
  bool concurrent() const override { return false; }
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override;

 private:
  ToyFile file_;
  GateState state_;
  bool calibrated_;
  std::vector<std::string> columns_;
};

// The product's list and the toy.
const CompactKinds& kinds_with_toy();

}  // namespace l0gm::testing_tools
