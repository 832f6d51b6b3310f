#include "runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace l0gm {
namespace {

TEST(ThreadPool, SharedWorkIsDoneOnce) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> done(1000, 0);
    std::atomic<size_t> next{0};
    ASSERT_TRUE(pool.try_run([&] {
      for (size_t i = next++; i < done.size(); i = next++) ++done[i];
    }));
    for (const int times : done) ASSERT_EQ(times, 1) << round;
  }
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(2);
  std::atomic<int> inside{0};
  // Each call waits until all three have begun: it ends only if both workers take part.
  ASSERT_TRUE(pool.try_run([&] {
    ++inside;
    while (inside < 3) std::this_thread::yield();
  }));
  EXPECT_EQ(inside, 3);
}

TEST(ThreadPool, ABusyPoolReturnsFalse) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  int inner_calls = 0;
  bool inner = true;
  ASSERT_TRUE(pool.try_run([&] {
    if (std::this_thread::get_id() != caller) return;
    std::thread([&] { inner = pool.try_run([&] { ++inner_calls; }); }).join();
  }));
  EXPECT_FALSE(inner);
  EXPECT_EQ(inner_calls, 0);
  EXPECT_TRUE(pool.try_run([] {})) << "free again";
}

TEST(ThreadPool, AnExceptionOfAnyCallIsRethrown) {
  ThreadPool pool(2);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> inside{0};
  for (const bool by_caller : {true, false}) {
    inside = 0;
    const auto work = [&] {
      ++inside;
      while (inside < 3) std::this_thread::yield();
      if ((std::this_thread::get_id() == caller) == by_caller) throw std::runtime_error("failure");
    };
    EXPECT_THROW(pool.try_run(work), std::runtime_error);
    EXPECT_TRUE(pool.try_run([] {})) << "the error does not outlast the call";
  }
}

TEST(ThreadPool, ManyCallersAtOnce) {
  ThreadPool pool(2);
  std::atomic<int> ran{0}, refused{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::atomic<bool> own{false};
        const bool accepted = pool.try_run([&] { own = true; });
        (accepted ? ran : refused)++;
        if (own != accepted) ADD_FAILURE() << "work must be called if and only if try_run returns true";
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ran + refused, 800);
  EXPECT_GT(ran, 0);
}

TEST(ThreadPool, WithoutWorkersTheCallerWorksAlone) {
  ThreadPool pool(0);
  int calls = 0;
  EXPECT_TRUE(pool.try_run([&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace l0gm
