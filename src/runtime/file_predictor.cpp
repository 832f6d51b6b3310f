#include "runtime/file_predictor.h"

#include <utility>

namespace l0gm {

FilePredictor::FilePredictor(const std::filesystem::path& path, bool calibrated)
    : FilePredictor(read_compact(path), calibrated) {}

FilePredictor::FilePredictor(CompactFile file, bool calibrated)
    : state_(std::move(file), CompactModel::Options{.threads = 1, .calibrated = calibrated}) {}

void FilePredictor::predict(const std::string_view* cells, int64_t rows, float* probabilities, RowEncoder::Counts& counts) {
  const auto width = static_cast<int64_t>(schema().columns.size());
  state_.predict(TextRows{cells, width, nullptr}, rows, probabilities, &counts);
}

}  // namespace l0gm
