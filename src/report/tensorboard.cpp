#include "report/tensorboard.h"

#include <algorithm>
#include <chrono>

namespace l0gm {
namespace {

constexpr int64_t most_steps_told = 2000;  // of one run: as many as a curve can show

double now_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace

EventFile& TensorBoardObserver::file(int64_t step) {
  if (file_ == nullptr) {
    file_ = std::make_unique<EventFile>(folder_);
    if (step > 1) file_->add(restart_event(now_s(), step));  // a resumed run
  }
  return *file_;
}

void TensorBoardObserver::step_finished(int64_t step, int64_t steps, double loss) {
  const int64_t every = std::max<int64_t>(1, steps / most_steps_told);
  if (step % every == 0 || file_ == nullptr) file(step).add(scalar_event(now_s(), step, {{"loss/step", loss}}));
}

void TensorBoardObserver::epoch_finished(const EpochRecord& record) {
  std::vector<Scalar> scalars = {{"loss/train", record.train_loss}, {"loss/valid_nll", record.valid_nll}};
  if (!record.gates.empty()) {
    scalars.insert(scalars.end(), {{"gate/tau", record.tau},
                                   {"gate/lambda", record.lambda},
                                   {"gate/mu", record.mu},
                                   {"gate/active_fraction", record.active_fraction},
                                   {"gate/expected_active_fraction", record.expected_active_fraction}});
  }
  file(record.step).add(scalar_event(now_s(), record.step, scalars));
  for (const GateHistogram& histogram : record.gates) {
    file(record.step).add(histogram_event(now_s(), record.step, "gate/" + histogram.site + "/open_probability", histogram));
  }
}

}  // namespace l0gm
