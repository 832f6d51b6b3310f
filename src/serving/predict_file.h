#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "runtime/predictor.h"

namespace l0gm {

struct PredictFileOptions {
  char delimiter = 0;             // of the input; 0: as in training
  int64_t threads = 1;            // 0: one per core; one alone where the predictor cannot serve several
  size_t block_bytes = 0;         // of the input that a thread works on at a time; 0: what suits the predictor
  bool header = true;             // of a csv file; false: its columns are column_1, column_2, …
  std::vector<std::string> keep;  // further columns of a csv file that are written out again, behind the row's number
};

// Reads rows (CSV, or .jsonl with an object per line, or for texts .txt with a text per line, also compressed; columns in any
// order, others ignored), writes `row,prediction,p_<class>…` in the input's
// order, all of it or nothing, and returns what it met: rows, unseen categories, unreadable and missing values per column,
// seconds, rows per second. The bytes written do not depend on the number of threads. Of several mistakes in the input the first
// one is reported.
nlohmann::json predict_file(const Predictor& predictor, const std::filesystem::path& input, const std::filesystem::path& output,
                            const PredictFileOptions& options);

// The same of all rows that the predictor knows by itself.
nlohmann::json predict_known(const Predictor& predictor, const std::filesystem::path& output);

}  // namespace l0gm
