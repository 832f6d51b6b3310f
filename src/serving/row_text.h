#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/predictor.h"
#include "serving/odd_cells.h"

namespace l0gm {

// Lines of a file of predictions: the row's number, or its own columns where they say which row is meant; the class that is most
// likely; all probabilities.
class RowText {
 public:
  // keep: so many further cells of each row are written out again.
  explicit RowText(const Predictor& predictor, size_t keep = 0);
  static std::string header(const Predictor& predictor, const std::vector<std::string>& keep = {});
  // Replaces `out`. `cells`: of all rows, read where columns name rows. `kept`: rows x keep.
  void write(int64_t first_row, const std::string_view* cells, const std::vector<float>& probabilities, int64_t rows,
             std::string& out, const std::string_view* kept = nullptr) const;

 private:
  size_t width_;  // columns that name the row and are written out again
  size_t keep_;
  std::vector<std::string> classes_;  // as cells
};

// What predict_file() returns.
nlohmann::json report_of_rows(const Predictor& predictor, int64_t rows, const std::filesystem::path& output,
                              const InputCounts& counts, const OddCells& odd, int64_t threads, double seconds);
double seconds_since(std::chrono::steady_clock::time_point start);

// Whether a file's name ends so, in either case, before the ending of a compressed file.
bool has_ending(const std::filesystem::path& path, std::string_view ending);

}  // namespace l0gm
