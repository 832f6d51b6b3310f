#include "data/graph/prefetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <stdexcept>
#include <thread>

#include "data/graph/sampler_tools.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

// Ten steps an epoch; a plan's only input is its step.
class CountingSampler : public GraphSampler {
 public:
  int64_t steps_per_epoch() const override { return 10; }
  MessagePlan draw(int64_t epoch, int64_t index) const override {
    ++drawn;
    if (10 * epoch + index == fails_at) throw UserError("this step fails");
    MessagePlan plan;
    plan.inputs = {10 * epoch + index};
    return plan;
  }
  mutable std::atomic<int64_t> drawn = 0;
  int64_t fails_at = -1;
};

int64_t taken(Prefetcher& prefetcher, int64_t step) { return prefetcher.take(step / 10, step % 10).inputs.at(0); }

void wait_for(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(Prefetcher, HandsOutWhatTheSamplerDrawsOnAnyNumberOfThreads) {
  const Graph graph = testing::small_graph();
  GraphOptions options;
  options.fanout = {3, 2};
  options.layer_nodes = 10;
  for (const SamplerKind kind : {SamplerKind::neighbour, SamplerKind::fastgcn, SamplerKind::saint_edge}) {
    options.sampler = kind;
    const std::shared_ptr<const GraphSampler> sampler = make_sampler(graph, options, 2, 4, 3);
    const int64_t steps = sampler->steps_per_epoch();
    for (const int64_t threads : {0, 1, 4}) {
      Prefetcher prefetcher(sampler, threads, 3);
      EXPECT_EQ(prefetcher.steps_per_epoch(), steps);
      for (int64_t step = 2; step < 3 * steps; ++step) {
        testing::expect_same(prefetcher.take(step / steps, step % steps), sampler->draw(step / steps, step % steps));
      }
    }
  }
}

TEST(Prefetcher, DrawsAheadButNoFurtherThanItMay) {
  const auto sampler = std::make_shared<CountingSampler>();
  Prefetcher prefetcher(sampler, 2, 4);
  EXPECT_EQ(sampler->drawn, 0);
  EXPECT_EQ(taken(prefetcher, 8), 8);
  wait_for([&] { return sampler->drawn >= 5; });  // step 8 and the four behind it, across the end of the epoch
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(sampler->drawn, 5);
  EXPECT_EQ(taken(prefetcher, 9), 9);
  EXPECT_EQ(taken(prefetcher, 10), 10);
}

TEST(Prefetcher, JumpsWhereItIsAsked) {
  const auto sampler = std::make_shared<CountingSampler>();
  Prefetcher prefetcher(sampler, 3, 5);
  RandomStream random(1);
  for (int i = 0; i < 500; ++i) {
    const auto step = static_cast<int64_t>(random.below(40));
    EXPECT_EQ(taken(prefetcher, step), step);
    for (const int64_t next : {step + 1, step + 2, step}) {  // on for a while, and back
      EXPECT_EQ(taken(prefetcher, next), next);
    }
  }
  EXPECT_THROW(prefetcher.take(0, 10), std::out_of_range);
  EXPECT_THROW(prefetcher.take(-1, 0), std::out_of_range);
}

TEST(Prefetcher, AnExceptionComesOutWhereItsStepIsAskedForAndOnlyThere) {
  for (const int64_t threads : {0, 1, 3}) {
    const auto sampler = std::make_shared<CountingSampler>();
    sampler->fails_at = 4;
    Prefetcher prefetcher(sampler, threads, 8);
    for (int64_t step = 0; step < 4; ++step) EXPECT_EQ(taken(prefetcher, step), step);
    EXPECT_EQ(message_of<UserError>([&] { taken(prefetcher, 4); }), "this step fails") << threads;
    EXPECT_EQ(taken(prefetcher, 5), 5);
    EXPECT_EQ(message_of<UserError>([&] { taken(prefetcher, 4); }), "this step fails") << "also when asked again";
  }
}

// Not only the user's errors: what a thread throws must neither end the program nor be lost.
TEST(Prefetcher, WhateverAThreadThrowsArrivesWithItsWords) {
  class FailingSampler : public GraphSampler {
   public:
    int64_t steps_per_epoch() const override { return 10; }
    MessagePlan draw(int64_t, int64_t index) const override {
      if (index == 1) throw std::runtime_error("node 7 has a broken row");
      if (index == 2) throw std::bad_alloc();
      if (index == 3) throw 3;
      return {};
    }
  };
  for (const int64_t threads : {0, 1, 4}) {
    Prefetcher prefetcher(std::make_shared<FailingSampler>(), threads, 6);
    EXPECT_NO_THROW(prefetcher.take(0, 0));
    EXPECT_EQ(message_of<std::runtime_error>([&] { prefetcher.take(0, 1); }), "node 7 has a broken row") << threads;
    EXPECT_THROW(prefetcher.take(0, 2), std::bad_alloc);
    EXPECT_THROW(prefetcher.take(0, 3), int);
    EXPECT_NO_THROW(prefetcher.take(0, 4)) << "its threads go on";
  }
}

TEST(Prefetcher, EndsWhileThreadsDraw) {
  const Graph star = testing::star_graph(2000);
  GraphOptions options;
  options.sampler = SamplerKind::saint_edge;
  const std::shared_ptr<const GraphSampler> sampler = make_sampler(star, options, 2, 500, 3);
  for (int i = 0; i < 20; ++i) {
    Prefetcher prefetcher(sampler, 3, 50);
    if (i % 2 == 0) {
      EXPECT_FALSE(prefetcher.take(0, 0).inputs.empty());
    }
  }
}

}  // namespace
}  // namespace l0gm
