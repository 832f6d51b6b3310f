#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace l0gm {

// Threads that wait for work, so that a call that wants help starts none. One job at a time.
class ThreadPool {
 public:
  explicit ThreadPool(int workers);  // besides the caller of try_run
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Calls work() on the caller's thread and, as soon as they wake, on the workers; returns when all that began have ended. A
  // worker that wakes after the caller is done does not begin, so `work` must itself share out what is to be done and the
  // caller's call must see to the end of it. What a call throws is thrown here (the first of several). Returns false, without a
  // call, when the pool is busy. Allocates nothing.
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

  const int process_;  // whose threads these are; a child of fork() has none
  std::mutex busy_;    // held by whoever runs a job
  std::mutex mutex_;   // of all below
  std::condition_variable begin_, end_;
  const Job* job_ = nullptr;  // none: nothing to begin
  uint64_t number_ = 0;       // of the job: a worker takes part once
  int active_ = 0;            // workers inside the job
  bool stop_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

}  // namespace l0gm
