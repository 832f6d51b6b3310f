#pragma once

#include <filesystem>
#include <optional>

#include "runtime/predictor.h"
#include "training/table/table_run.h"

namespace l0gm {

// A run's model through LibTorch: the uncompacted one, closed units and all.
class RunPredictor : public Predictor {
 public:
  RunPredictor(const std::filesystem::path& run, const Machine& machine, std::optional<bool> calibrated);
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return run_.table.schema.classes; }
  bool concurrent() const override { return false; }  // LibTorch spreads one call over its own threads
  char delimiter() const override;
  bool is_calibrated() const override { return calibrated_; }
  void predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const override;

 private:
  TableRun run_;
  Machine machine_;
  bool calibrated_;
  std::vector<std::string> columns_;
  RowEncoder encoder_;
};

}  // namespace l0gm
