#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {

// Rows of text in, probabilities out, whoever computes them: the runtime from a compact file, or LibTorch from a run.
class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual const Schema& schema() const = 0;  // columns that are read, in the order of cells; classes
  virtual bool concurrent() const = 0;       // several threads may predict at once
  virtual char delimiter() const = 0;        // of the files it was trained on
  // cells: rows x schema().columns; probabilities: rows x classes. Adds to counts (RowEncoder::empty_counts of the schema).
  virtual void predict(const std::string_view* cells, int64_t rows, float* probabilities, RowEncoder::Counts& counts) = 0;
};

}  // namespace l0gm
