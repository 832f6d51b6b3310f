#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "server/predict_job.h"

namespace l0gm {

struct BatchOptions {
  int64_t rows = 1024;                // predicted together at most, unless one request has more
  int64_t tokens = 16384;             // the same for texts
  std::chrono::microseconds wait{0};  // that a request may wait for others to be predicted with; 0: only while workers are busy
  std::chrono::milliseconds limit{10000};  // from its arrival, after which a request is given up
  int64_t most_rows = 10000;               // of one request
  int threads = 1;
};

// Threads that predict what waits: each takes one request, and further ones of the same model as long as the batch has room, so
// that batches grow by themselves when there is much to do and nobody waits when there is little.
class PredictWorkers {
 public:
  using Reply = std::pair<uint64_t, HttpResponse>;  // the connection's number, and what it gets
  // Called by any worker with the answers of a batch.
  using Deliver = std::function<void(std::vector<Reply>)>;

  PredictWorkers(BatchOptions options, Deliver deliver);
  ~PredictWorkers();                                          // finishes what waits, unless it was abandoned
  void abandon();                                             // nobody waits for answers any more
  void push(std::vector<std::unique_ptr<PredictJob>>& jobs);  // takes all of them
  // Predicts on the caller's thread what takes less time than waking another one, and takes it out of `jobs`. By one thread only.
  std::vector<Reply> predict_here(std::vector<std::unique_ptr<PredictJob>>& jobs);

 private:
  struct Batch;
  void work();
  bool gather(Batch& batch);
  std::unique_ptr<PredictJob> take(const ServedModel* of, ServerClock::time_point until);
  void wake_another();
  bool is_small(const PredictJob& job) const;
  bool read(PredictJob& job, Batch& batch) const;
  int64_t budget(const PredictJob& job) const;
  void predict(Batch& batch) const;
  bool predict_together(Batch& batch) const;
  void predict_alone(const PredictJob& job, Batch& batch) const;
  void predict_or_refuse(const PredictJob& job, Batch& batch) const;
  void answer(const PredictJob& job, HttpResponse response, Batch& batch) const;

  BatchOptions options_;
  Deliver deliver_;
  std::unique_ptr<Batch> here_;  // of predict_here
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::unique_ptr<PredictJob>> waiting_;
  bool stopping_ = false;
  std::atomic<bool> abandoned_{false};
  std::vector<std::thread> threads_;
};

}  // namespace l0gm
