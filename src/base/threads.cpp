#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace l0gm {

namespace {
std::atomic<int64_t> most_threads{0};
}

void set_thread_limit(int64_t most) { most_threads = most; }

int64_t thread_limit() {
  const int64_t most = most_threads;
  return most > 0 ? most : std::max<int64_t>(std::thread::hardware_concurrency(), 1);
}

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& work) {
  grain = std::max<int64_t>(grain, 1);
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&] {
    try {
      for (int64_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain))
        work(begin, std::min(begin + grain, count));
    } catch (...) {
      next = count;  // no thread begins another piece
      const std::lock_guard hold(failure_lock);
      if (!failure) failure = std::current_exception();
    }
  };
  const int64_t pieces = (count + grain - 1) / grain, wanted = std::min<int64_t>(pieces, thread_limit());
  std::vector<std::jthread> helpers;
  try {
    for (int64_t i = 1; i < wanted; ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // No more threads available: those already started do the work.
  }
  run();
  helpers.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace l0gm
