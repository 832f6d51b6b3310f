#include "runtime/thread_pool.h"

#include <unistd.h>

#include <utility>

namespace l0gm {

ThreadPool::ThreadPool(int workers) : process_(getpid()) {
  workers_.reserve(static_cast<size_t>(workers));
  try {
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { wait_for_work(); });
  } catch (const std::exception&) {
    // The system allows no more threads: go on with those that were started.
  }
}

ThreadPool::~ThreadPool() {
  if (getpid() != process_) {  // after a fork: the workers exist in the parent only and cannot be joined
    for (std::thread& worker : workers_) worker.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begin_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::do_job(const Job& job) noexcept {
  try {
    job.call(job.context);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

bool ThreadPool::run(void (*call)(const void*), const void* context) {
  if (getpid() != process_) return false;
  const std::unique_lock alone(busy_, std::try_to_lock);
  if (!alone.owns_lock()) return false;
  const Job job{call, context};
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++number_;
  }
  begin_.notify_all();
  do_job(job);
  std::unique_lock lock(mutex_);
  job_ = nullptr;
  end_.wait(lock, [this] { return active_ == 0; });
  if (const std::exception_ptr error = std::exchange(error_, nullptr)) {
    lock.unlock();
    std::rethrow_exception(error);
  }
  return true;
}

void ThreadPool::wait_for_work() {
  uint64_t last = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begin_.wait(lock, [&] { return stop_ || (job_ != nullptr && number_ != last); });
    if (stop_) return;
    last = number_;
    const Job job = *job_;
    ++active_;
    lock.unlock();
    do_job(job);
    lock.lock();
    if (--active_ == 0) end_.notify_all();
  }
}

}  // namespace l0gm
