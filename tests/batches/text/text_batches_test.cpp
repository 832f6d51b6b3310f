#include "batches/text/text_batches.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace l0gm {
namespace {

std::vector<int64_t> numbers_of(const torch::Tensor& tensor) {
  const torch::Tensor t = tensor.to(torch::kInt64).contiguous();
  return {t.data_ptr<int64_t>(), t.data_ptr<int64_t>() + t.numel()};
}

TEST(TextBatches, TextsArePackedWithoutPadding) {
  const std::vector<std::vector<int32_t>> texts = {{5, 6, 7}, {8}, {9, 10}};
  const std::vector<std::span<const int32_t>> spans(texts.begin(), texts.end());
  TextBatch batch = make_text_batch(spans, torch::kCPU);
  EXPECT_EQ(numbers_of(batch.tokens), (std::vector<int64_t>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(numbers_of(batch.positions), (std::vector<int64_t>{0, 1, 2, 0, 0, 1}));
  EXPECT_EQ(numbers_of(batch.example), (std::vector<int64_t>{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(numbers_of(batch.first), (std::vector<int64_t>{0, 3, 4}));
  EXPECT_EQ(numbers_of(batch.texts.offsets), (std::vector<int64_t>{0, 3, 4, 6}));
  EXPECT_EQ(batch.texts.offsets.scalar_type(), torch::kInt32);
  EXPECT_EQ(batch.texts.longest, 3);
  EXPECT_EQ(batch.examples(), 3);
  batch.example_ids = at::tensor({100, 2, 7}, torch::kInt64);
  const std::vector<int64_t> keys = numbers_of(batch.token_ids());
  EXPECT_EQ(std::set<int64_t>(keys.begin(), keys.end()).size(), 6U);
  EXPECT_EQ(keys[1], (int64_t{100} << 20) + 1);
}

TEST(TextBatches, ATextWithoutTokensIsOurMistake) {
  const std::vector<std::span<const int32_t>> spans(1);
  EXPECT_THROW(make_text_batch(spans, torch::kCPU), std::logic_error);
}

std::vector<int64_t> some_lengths(int64_t count) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < count; ++i) lengths.push_back(2 + i * 7919 % 251);
  return lengths;
}

TEST(LengthOrder, EveryEpochReadsEveryTextOnce) {
  const LengthOrder order(some_lengths(1003), {.batch = 8, .seed = 3, .chunk = 50});
  EXPECT_EQ(order.batches(), 126);
  for (const int64_t epoch : {0, 1, 5}) {
    std::vector<int64_t> seen;
    for (int64_t i = 0; i < order.batches(); ++i) {
      const std::vector<int64_t> batch = order.batch(epoch, i);
      EXPECT_LE(batch.size(), 8U);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
    std::sort(seen.begin(), seen.end());
    std::vector<int64_t> all(1003);
    std::iota(all.begin(), all.end(), int64_t{0});
    EXPECT_EQ(seen, all);
  }
}

TEST(LengthOrder, IsAFunctionOfSeedEpochAndIndex) {
  const LengthOrder one(some_lengths(500), {.batch = 8, .seed = 3}), two(some_lengths(500), {.batch = 8, .seed = 3}),
      other(some_lengths(500), {.batch = 8, .seed = 4});
  const std::vector<int64_t> wanted = one.batch(2, 17);
  EXPECT_EQ(two.batch(2, 17), wanted);  // without having read what came before
  one.batch(0, 1);
  EXPECT_EQ(one.batch(2, 17), wanted);
  EXPECT_NE(other.batch(2, 17), wanted);
  EXPECT_NE(one.batch(3, 17), wanted);
}

TEST(LengthOrder, BatchesHoldTextsOfSimilarLengthInAnyOrder) {
  const std::vector<int64_t> lengths = some_lengths(4000);
  const LengthOrder order(lengths, {.batch = 16, .seed = 1});
  int64_t padded = 0, total = 0, rising = 0, before = 0;
  for (int64_t i = 0; i < order.batches(); ++i) {
    int64_t longest = 0;
    for (const int64_t text : order.batch(0, i)) {
      total += lengths[static_cast<size_t>(text)];
      longest = std::max(longest, lengths[static_cast<size_t>(text)]);
    }
    padded += longest * static_cast<int64_t>(order.batch(0, i).size());
    rising += longest > before ? 1 : 0;
    before = longest;
  }
  EXPECT_LT(static_cast<double>(padded), 1.05 * static_cast<double>(total));
  EXPECT_GT(rising, order.batches() / 4);
  EXPECT_LT(rising, order.batches() * 3 / 4);
}

TEST(TextBatches, BlocksOfEvaluationHoldAllTextsWithinTheirTokens) {
  const std::vector<int64_t> lengths = {3, 100, 7, 40, 40, 9, 300};
  const auto blocks = blocks_by_length(lengths, 100);
  std::vector<int64_t> seen;
  for (const auto& block : blocks) {
    int64_t tokens = 0;
    for (const int64_t text : block) tokens += lengths[static_cast<size_t>(text)];
    EXPECT_TRUE(tokens <= 100 || block.size() == 1);
    seen.insert(seen.end(), block.begin(), block.end());
  }
  EXPECT_EQ(seen, (std::vector<int64_t>{6, 1, 3, 4, 5, 2, 0}));
  EXPECT_EQ(blocks.size(), 3U);
  EXPECT_TRUE(blocks_by_length({}, 100).empty());
}

TEST(WithoutSome, LeavesOutAShareInOrderAndKeepsTheEnds) {
  std::vector<int32_t> ids(2000);
  std::iota(ids.begin(), ids.end(), 0);
  const std::vector<int32_t> kept = without_some(ids, 0.3, 7);
  EXPECT_NEAR(static_cast<double>(kept.size()), 1400, 62) << "three standard errors";
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  EXPECT_EQ(kept.front(), 0);
  EXPECT_EQ(kept.back(), 1999);
  EXPECT_EQ(kept, without_some(ids, 0.3, 7)) << "a pure function of the key";
  EXPECT_NE(kept, without_some(ids, 0.3, 8));
  EXPECT_EQ(without_some(ids, 0, 7), ids);
  EXPECT_EQ(without_some(std::vector<int32_t>{5}, 0.99, 7), std::vector<int32_t>{5});
}

}  // namespace
}  // namespace l0gm
