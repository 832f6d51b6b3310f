#include "training/kept_memory.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace l0gm {
namespace {

constexpr int64_t megabyte = 1 << 20;

torch::Tensor block(int64_t megabytes) { return at::empty({megabytes * megabyte}, at::kByte); }

// One process, one allocator: what earlier tests left is counted from.
class KeptMemory : public testing::Test {
 protected:
  void SetUp() override { keep_freed_memory(); }
};

TEST_F(KeptMemory, AFreedBlockServesTheNextOfItsSize) {
  void* first = nullptr;
  {
    const torch::Tensor x = block(40);
    first = x.data_ptr();
  }
  EXPECT_EQ(block(40).data_ptr(), first);
  EXPECT_EQ(block(38).data_ptr(), first) << "an eighth may be wasted";
  EXPECT_NE(block(20).data_ptr(), first) << "half may not";
}

TEST_F(KeptMemory, SmallBlocksAreNotTouched) {
  const int64_t before = large_blocks().used;
  const torch::Tensor x = at::zeros({1000});
  EXPECT_EQ(large_blocks().used, before);
}

TEST_F(KeptMemory, NeverHoldsMoreThanWasUsedAtOnce) {
  for (int64_t size = 10; size < 400; size = size * 5 / 4) {  // no block fits the next: all would stay
    const torch::Tensor x = block(size);
    const LargeBlocks now = large_blocks();
    EXPECT_LE(now.used + now.kept, now.most_used) << size;
  }
}

TEST_F(KeptMemory, ABlockThatGrowsKeepsItsContent) {
  torch::Tensor x = at::arange(3 * megabyte);
  x.resize_({6 * megabyte});
  EXPECT_EQ(x[3 * megabyte - 1].item<int64_t>(), 3 * megabyte - 1);
}

TEST_F(KeptMemory, ThreadsGetBlocksOfTheirOwn) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([number, &wrong] {
      for (int round = 0; round < 20; ++round) {
        const torch::Tensor x = at::full({2 * megabyte + round * megabyte / 2}, number, at::kInt);
        if (x.ne(number).any().item<bool>()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace l0gm
