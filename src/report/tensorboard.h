#pragma once

#include <memory>

#include "report/event_file.h"
#include "run/observer.h"

namespace l0gm {

// Follows a run and writes what TensorBoard shows: losses, price, temperature, active fraction, and the spread of P(open) of each
// gate site. The file appears with the first step, when the run's folder is there.
class TensorBoardObserver : public Observer {
 public:
  explicit TensorBoardObserver(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void step_finished(int64_t step, int64_t steps, double loss) override;
  void epoch_finished(const EpochRecord& record) override;

 private:
  EventFile& file(int64_t step);
  std::filesystem::path folder_;
  std::unique_ptr<EventFile> file_;
};

}  // namespace l0gm
