#include "training/step_capture.h"

#include <fmt/format.h>

#include "base/log.h"
#ifdef L0GM_HAS_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace l0gm {

#ifdef L0GM_HAS_CUDA

namespace {
constexpr int64_t steps_before_capture = 2;  // kernels choose their shapes, libraries allocate what they need

// Captures what `work` queues. UserErrors and others leave the stream as it was.
void capture_into(at::cuda::CUDAGraph& recorded, at::cuda::MempoolId_t pool, const std::function<void()>& work) {
  recorded.capture_begin(pool);
  try {
    work();
  } catch (...) {
    try {
      recorded.capture_end();
    } catch (const c10::Error&) {  // it was given up by what went wrong
    }
    static_cast<void>(cudaGetLastError());
    throw;
  }
  recorded.capture_end();
}

}  // namespace

struct StepCapture::Recording {
  at::cuda::CUDAGraph gradients, update;
  std::shared_ptr<Batch> batch;  // whose memory they read
};

struct StepCapture::Stream::Guard {
  c10::cuda::CUDAStreamGuard guard{c10::cuda::getStreamFromPool()};
};

bool StepCapture::is_possible() { return true; }

// Work on the default stream cannot be captured. Both ends wait: what lies before and behind is on that stream.
StepCapture::Stream::Stream(bool wanted) {
  if (!wanted) return;
  c10::cuda::device_synchronize();
  guard_ = std::make_unique<Guard>();
}

StepCapture::Stream::~Stream() {
  if (guard_ != nullptr) guard_->guard.current_stream().synchronize();
}

bool StepCapture::capture(const std::shared_ptr<Batch>& batch, const StepParts& parts) {
  recording_.reset();
  auto made = std::make_unique<Recording>();
  made->batch = batch;
  const at::cuda::MempoolId_t pool = at::cuda::graph_pool_handle();
  bool decided = false;
  try {
    capture_into(made->gradients, pool, [&] { parts.gradients(*batch); });
    made->gradients.replay();
    parts.decide();
    decided = true;
    capture_into(made->update, pool, parts.update);
    made->update.replay();
  } catch (const c10::Error& error) {
    refused_ = true;
    log_info(fmt::format("steps are not replayed as CUDA graphs: {}", error.what_without_backtrace()));
    if (decided) parts.update();
    return decided;
  }
  recording_ = std::move(made);
  return true;
}

void StepCapture::run(int64_t kind, bool replayable, const std::shared_ptr<Batch>& batch, const StepParts& parts) {
  replays_ = false;
  if (!replayable || refused_) return run_as_it_is(*batch, parts);
  if (kind != kind_) {
    recording_.reset();
    kind_ = kind;
    seen_ = 0;
  }
  if (recording_ != nullptr && recording_->batch->take(*batch)) {
    recording_->gradients.replay();
    parts.decide();
    recording_->update.replay();
    replays_ = true;
    return;
  }
  // The last batch of an epoch may be shorter: what is captured is the step of the longer ones.
  const bool is_longer = recording_ == nullptr || batch->targets.size(0) > recording_->batch->targets.size(0);
  if (++seen_ > steps_before_capture && is_longer && capture(batch, parts)) return;
  run_as_it_is(*batch, parts);
}

#else

struct StepCapture::Recording {};
struct StepCapture::Stream::Guard {};

bool StepCapture::is_possible() { return false; }
StepCapture::Stream::Stream(bool) {}
StepCapture::Stream::~Stream() = default;
bool StepCapture::capture(const std::shared_ptr<Batch>&, const StepParts&) { return false; }
void StepCapture::run(int64_t, bool, const std::shared_ptr<Batch>& batch, const StepParts& parts) { run_as_it_is(*batch, parts); }

#endif

StepCapture::StepCapture() = default;
StepCapture::~StepCapture() = default;

bool StepCapture::replays() const { return replays_; }

void StepCapture::run_as_it_is(const Batch& batch, const StepParts& parts) {
  parts.gradients(batch);
  parts.decide();
  parts.update();
}

}  // namespace l0gm
