#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "batches/batch.h"

namespace l0gm {

// The parts of a training step. `gradients` and `update` do nothing but queue work of fixed shape on the device; what the host
// has to decide or to count lies before them or in `decide`.
struct StepParts {
  std::function<void(const Batch&)> gradients;
  std::function<void()> decide;
  std::function<void()> update;
};

// Runs training steps on a GPU: the first ones of a kind as they are, the next is captured as two CUDA graphs, which all that
// follow replay. A step is then two launches in place of hundreds. A replay gives what the step as it is would have given, bit for bit.
//   StepCapture capture;  const StepCapture::Stream stream(capture);  // while it lives, work goes to a stream of its own
//   capture.run(phase, batch, {…});
class StepCapture {
 public:
  StepCapture();
  ~StepCapture();

  // Without CUDA in this build: false, and run() runs every step as it is.
  static bool is_possible();

  // `kind`: steps of another kind are captured anew. `replayable` = false: this one runs as it is.
  void run(int64_t kind, bool replayable, const std::shared_ptr<Batch>& batch, const StepParts& parts);
  bool replays() const;  // the last step was a replay

  class Stream {
   public:
    explicit Stream(bool wanted);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

   private:
    struct Guard;
    std::unique_ptr<Guard> guard_;
  };

 private:
  struct Recording;
  void run_as_it_is(const Batch& batch, const StepParts& parts);
  bool capture(const std::shared_ptr<Batch>& batch, const StepParts& parts);

  std::unique_ptr<Recording> recording_;  // none: nothing is captured
  int64_t kind_ = -1;
  int64_t seen_ = 0;  // steps of this kind
  bool refused_ = false, replays_ = false;
};

}  // namespace l0gm
