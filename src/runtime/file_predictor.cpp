#include "runtime/file_predictor.h"

#include <utility>

namespace l0gm {

FilePredictor::FilePredictor(const std::filesystem::path& path, std::optional<bool> calibrated)
    : FilePredictor(read_compact(path), calibrated) {}

FilePredictor::FilePredictor(CompactFile file, std::optional<bool> calibrated)
    : state_(std::move(file), CompactModel::Options{.threads = 1, .calibrated = calibrated}) {}

void FilePredictor::predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const {
  const auto width = static_cast<int64_t>(columns().size());
  state_.predict(CellRows{cells.cells.data(), width, nullptr}, cells.rows, probabilities.data(), &counts);
}

}  // namespace l0gm
