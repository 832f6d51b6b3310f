#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace l0gm {

// Threads that wait for work, so that a call need not start any. One job at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int workers);  // besides the caller of try_run
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work() on the caller's thread and, as soon as they wake up, on the workers; returns when all calls that began have
  // ended. A worker that wakes up after the caller's call has returned does not begin, so `work` must itself divide the work, and
  // must not return on the caller's thread before all of it is taken. An exception of any call is rethrown here (the first of
  // several). Returns false, without a call, when the pool is busy. Allocates nothing.
  template <class Work>
  bool try_run(const Work& work) {
    return run([](const void* context) { (*static_cast<const Work*>(context))(); }, &work);
  }

 private:
  struct Job {
    void (*call)(const void*);
    const void* context;
  };
  bool run(void (*call)(const void*), const void* context);
  void wait_for_work();
  void do_job(const Job& job) noexcept;

  const int process_;  // that started the threads; a child of fork() has none of them
  std::mutex busy_;    // held while a job runs
  std::mutex mutex_;   // guards all members below
  std::condition_variable begin_, end_;
  const Job* job_ = nullptr;  // null: no job to begin
  uint64_t number_ = 0;       // of the job: a worker takes part once
  int active_ = 0;            // workers inside the job
  bool stop_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

}  // namespace l0gm
