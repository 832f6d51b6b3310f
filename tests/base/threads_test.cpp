#include "base/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace l0gm {
namespace {

TEST(GraphThreads, EveryNumberComesOnceInPiecesOfTheGrain) {
  for (const int64_t count : {0, 1, 99, 100, 101, 12345}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    std::atomic<int64_t> largest{0};
    in_own_threads(count, 100, [&](int64_t begin, int64_t end) {
      for (int64_t seen = largest; end - begin > seen && !largest.compare_exchange_weak(seen, end - begin);) {
      }
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    });
    EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](const auto& times) { return times == 1; })) << count;
    EXPECT_LE(largest, 100);
  }
}

TEST(GraphThreads, AsManyAsAllowed) {
  EXPECT_GE(own_threads(), 1);
  limit_own_threads(1);
  const auto here = std::this_thread::get_id();
  in_own_threads(100, 1, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), here); });
  limit_own_threads(0);
}

TEST(GraphThreads, AnExceptionArrives) {
  EXPECT_THROW(in_own_threads(1000, 1,
                              [](int64_t begin, int64_t) {
                                if (begin == 500) throw std::runtime_error("no");
                              }),
               std::runtime_error);
}

}  // namespace
}  // namespace l0gm
