#pragma once

#include <filesystem>

#include "runtime/predictor.h"
#include "training/table/table_run.h"

namespace l0gm {

// A run's model through LibTorch: the uncompacted one, closed units and all.
class RunPredictor : public Predictor {
 public:
  RunPredictor(const std::filesystem::path& run, const Machine& machine, bool calibrated);
  const Schema& schema() const override { return run_.table.schema; }
  bool concurrent() const override { return false; }  // LibTorch spreads one call over its own threads
  char delimiter() const override;
  void predict(const std::string_view* cells, int64_t rows, float* probabilities, RowEncoder::Counts& counts) override;

 private:
  LoadedTable run_;
  Machine machine_;
  bool calibrated_;
  RowEncoder encoder_;
};

}  // namespace l0gm
