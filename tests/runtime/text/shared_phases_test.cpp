#include "runtime/text/shared_phases.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace l0gm {
namespace {

struct Own {
  int64_t items = 0;
};

// Runs by so many threads at once, each with memory of its own.
template <class Run>
void at_once(int threads, const Run& run) {
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(run);
}

TEST(SharedPhases, EveryItemIsDoneOnceAndSeesAllPhasesBefore) {
  for (int round = 0; round < 300; ++round) {
    constexpr int64_t items = 17, count = 6;
    std::array<std::array<int, items>, count> done{};
    SharedPhases<Own> phases;
    std::atomic<int> early{0};
    std::atomic<int64_t> taken{0};
    for (size_t phase = 0; phase < count; ++phase) {
      phases.add(phase == 3 ? 1 : items, [&, phase](int64_t item, Own& own) {
        ++done[phase][static_cast<size_t>(item)];
        ++own.items;
        if (phase == 0) return;
        for (int64_t other = 0; other < (phase == 4 ? 1 : items); ++other)
          early += done[phase - 1][static_cast<size_t>(other)] == 1 ? 0 : 1;
      });
    }
    at_once(4, [&] {
      Own own;
      phases.run(own);
      taken += own.items;
    });
    ASSERT_EQ(early, 0) << round;
    ASSERT_EQ(taken, (count - 1) * items + 1) << round;
    for (size_t phase = 0; phase < count; ++phase) {
      for (size_t item = 0; item < (phase == 3 ? 1 : items); ++item) ASSERT_EQ(done[phase][item], 1) << phase << " " << item;
    }
  }
}

TEST(SharedPhases, AThreadThatComesLateOrAloneDoesWhatIsLeft) {
  SharedPhases<Own> phases;
  for (int phase = 0; phase < 3; ++phase) phases.add(phase == 1 ? 0 : 5, [](int64_t, Own& own) { ++own.items; });
  Own alone, late;
  phases.run(alone);
  phases.run(late);
  EXPECT_EQ(alone.items, 10);
  EXPECT_EQ(late.items, 0);
}

// Whoever waits for an item that threw must not wait for ever.
TEST(SharedPhases, AnExceptionEndsTheRunOfEveryThread) {
  for (int round = 0; round < 100; ++round) {
    SharedPhases<Own> phases;
    std::atomic<int> thrown{0}, after{0};
    phases.add(8, [](int64_t item, Own&) {
      if (item == 5) throw std::runtime_error("failure");
    });
    phases.add(8, [&](int64_t, Own&) { ++after; });
    at_once(4, [&] {
      Own own;
      try {
        phases.run(own);
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    });
    ASSERT_EQ(thrown, 1) << round;
    ASSERT_EQ(after, 0) << round;
  }
}

}  // namespace
}  // namespace l0gm
