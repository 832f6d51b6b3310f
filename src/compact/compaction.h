#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/split.h"
#include "metrics/calibrator.h"
#include "metrics/predictions.h"
#include "runtime/table_net.h"
#include "training/options.h"

namespace l0gm {

constexpr double least_numerics_limit = 2e-6;

struct CompactOptions {
  WeightType weights = WeightType::float32;
  int64_t fold_bytes = 4 << 20;    // tables are folded through the first dense layer while together they take no more
  int64_t generated_rows = 10000;  // beside all validation rows, to prove parity with
  std::filesystem::path card;      // the model card; empty: the model's name with .md
  std::string lookup;              // look-ups of known rows in place of the model: all, valid, test or a csv; empty: the model
};

// What compaction of one kind of model is made of. The driver, compact_run(), proves parity, takes figures, writes, and compares
// what was written with what was judged.
class Compaction {
 public:
  virtual ~Compaction() = default;

  // The inputs that parity is proven on.
  struct Checked {
    int64_t rows = 0;
    std::string noun;                               // "rows", "nodes"
    std::function<std::string(int64_t row)> where;  // "validation row 17"
    std::function<std::string(int64_t row)> what;   // its cells, for the end of a message; may be empty
  };
  virtual const Checked& checked() const = 0;
  virtual const std::vector<std::string>& classes() const = 0;
  // Probabilities over them, [rows, classes]: of the model as it was trained, of the folded one in float64, of a file that was
  // written.
  virtual std::vector<double> trained(Precision precision) = 0;
  virtual std::vector<double> folded() = 0;
  virtual std::vector<double> served(const std::filesystem::path& file) = 0;
  // What a file says of a split, for the figures; no rows: the split is not there.
  virtual Predictions served(const std::filesystem::path& file, Split split) = 0;

  // How far the file in float32 may always be from the trained model in float64; more where that model's own error is larger.
  virtual double least_limit() const { return least_numerics_limit; }
  // Takes the form whose arithmetic is closest to the trained model's, for a file that is too far from it; false: it has that
  // form.
  virtual bool unfold() { return false; }
  virtual bool can_round() const { return false; }  // to fewer bits than float32
  virtual Calibrator calibrator() const = 0;        // of the trained model
  // What the file says of itself beside parity, figures and rounding. The driver reads dimensions, open_dimensions,
  // closed_columns, parameters_dense and gate (about.h makes most of it).
  virtual nlohmann::json about() = 0;
  // Writes a file of these weights; returns its bytes.
  virtual int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                        const nlohmann::json& about) = 0;
  // The model card. `about`: all that the file says of itself, with kind, weights, calibrator and bytes.
  virtual std::string card(const std::string& file, const nlohmann::json& about) const = 0;
  // The kind's own part of what `l0gm compact --json` prints, and of what it says to people.
  virtual nlohmann::json result(const nlohmann::json& about) const = 0;
  virtual std::string describe(const nlohmann::json& result) const = 0;
};

}  // namespace l0gm
