#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace l0gm {

// Work in phases, each of items that do not depend on each other and need all phases before. Any number of threads may run() it
// at once, whenever they come: each takes items that nobody took yet. One thread alone does it all.
//   SharedPhases<Memory> phases;  phases.add(8, [&](int64_t item, Memory& own) { … });  phases.run(memory);
template <class Memory>
class SharedPhases {
 public:
  using Work = std::function<void(int64_t item, Memory& own)>;
  void add(int64_t items, Work work) { phases_.emplace_back(items, std::move(work)); }

  // Returns when every item of every phase is done; throws what an item threw on this thread. After an exception on another one
  // it returns as well, and the results are worthless: that thread throws.
  void run(Memory& own) {
    for (Phase& phase : phases_) {
      for (int64_t item = phase.next++; item < phase.items && !failed_; item = phase.next++) {
        try {
          phase.work(item, own);
        } catch (...) {
          failed_ = true;
          throw;
        }
        phase.done.fetch_add(1, std::memory_order_release);
      }
      for (int64_t spins = 0; phase.done.load(std::memory_order_acquire) < phase.items; ++spins) {
        if (failed_) return;
        rest(spins);
      }
    }
  }

 private:
  struct Phase {
    Phase(int64_t count, Work given) : items(count), work(std::move(given)) {}
    int64_t items;
    Work work;
    std::atomic<int64_t> next{0}, done{0};
  };
  static void rest(int64_t spins) {
    if (spins > 2000) return std::this_thread::yield();  // the others may wait for this core
#if defined(__x86_64__)
    _mm_pause();
#endif
  }
  std::deque<Phase> phases_;
  std::atomic<bool> failed_{false};
};

}  // namespace l0gm
