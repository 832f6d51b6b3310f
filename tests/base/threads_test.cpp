#include "base/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace l0gm {
namespace {

TEST(ParallelFor, EveryNumberComesOnceInPiecesOfTheGrain) {
  for (const int64_t count : {0, 1, 99, 100, 101, 12345}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    std::atomic<int64_t> largest{0};
    parallel_for(count, 100, [&](int64_t begin, int64_t end) {
      for (int64_t seen = largest; end - begin > seen && !largest.compare_exchange_weak(seen, end - begin);) {
      }
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](const auto& times) { return times == 1; })) << count;
    EXPECT_LE(largest, 100);
  }
}

TEST(ParallelFor, AsManyAsAllowed) {
  EXPECT_GE(thread_limit(), 1);
  set_thread_limit(1);
  const auto here = std::this_thread::get_id();
  parallel_for(100, 1, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
  set_thread_limit(0);
}

TEST(ParallelFor, AnExceptionArrives) {
  EXPECT_THROW(parallel_for(1000, 1,
                            [](int64_t begin, int64_t) {
                              if (begin == 500) throw std::runtime_error("no");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace l0gm
