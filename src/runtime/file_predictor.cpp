#include "runtime/file_predictor.h"

#include <utility>

namespace l0gm {

FilePredictor::FilePredictor(const std::filesystem::path& path, std::optional<bool> calibrated)
    : FilePredictor(read_compact(path), calibrated) {}

FilePredictor::FilePredictor(CompactFile file, std::optional<bool> calibrated)
    : state_(std::make_shared<ModelState>(std::move(file), CompactModel::Options{.threads = 1, .calibrated = calibrated})),
      calibrated_(state_->is_calibrated()) {}

FilePredictor::FilePredictor(std::shared_ptr<const ModelState> state, bool calibrated)
    : state_(std::move(state)), calibrated_(calibrated) {}

std::unique_ptr<Predictor> FilePredictor::with_calibration(bool calibrated) const {
  if (calibrated && !state_->has_calibrator()) return nullptr;
  return std::unique_ptr<Predictor>(new FilePredictor(state_, calibrated));  // the constructor is private
}

void FilePredictor::predict(Cells cells, std::span<float> probabilities, InputCounts& counts) const {
  const auto width = static_cast<int64_t>(columns().size());
  state_->predict(CellRows{cells.cells.data(), width, nullptr}, cells.rows, probabilities.data(), &counts, calibrated_);
}

}  // namespace l0gm
