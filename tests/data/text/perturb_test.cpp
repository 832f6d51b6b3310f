#include "data/text/perturb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

constexpr SpecialTokens special{.cls = 2, .sep = 3, .pad = 0, .mask = 4, .unknown = 1};

Perturbation condition(const std::string& name) {
  for (const Perturbation& perturbation : perturbations()) {
    if (perturbation.name == name) return perturbation;
  }
  throw std::invalid_argument(name);
}

// [CLS], `length` tokens that are not special, [SEP], two of padding.
std::vector<int32_t> text_of(int length) {
  std::vector<int32_t> ids = {2};
  for (int i = 0; i < length; ++i) ids.push_back(10 + i % 50);
  ids.insert(ids.end(), {3, 0, 0});
  return ids;
}

std::vector<size_t> masked(const std::vector<int32_t>& ids, int32_t mask = 4) {
  std::vector<size_t> places;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == mask) places.push_back(i);
  }
  return places;
}

TEST(TokenPerturber, MissingMasksTheShareAndSparesSpecialTokens) {
  for (const char* name : {"missing-0.1", "missing-0.3", "missing-0.5"}) {
    const TokenPerturber perturber(condition(name), 0, special);
    double count = 0;
    constexpr int rows = 200, length = 100;
    for (int row = 0; row < rows; ++row) {
      std::vector<int32_t> ids = text_of(length);
      perturber.apply(row, ids);
      EXPECT_EQ(ids.front(), 2);
      EXPECT_EQ((std::vector<int32_t>(ids.end() - 3, ids.end())), (std::vector<int32_t>{3, 0, 0}));
      count += static_cast<double>(masked(ids).size());
    }
    const double share = condition(name).amount, error = std::sqrt(share * (1 - share) / (rows * length));
    EXPECT_NEAR(count / (rows * length), share, 4.5 * error) << name;
  }
}

TEST(TokenPerturber, OccludesOneSpanOfTheShare) {
  for (const char* name : {"occlude-0.1", "occlude-0.2", "occlude-0.3"}) {
    const TokenPerturber perturber(condition(name), 0, special);
    std::vector<bool> begins(42, false);
    for (int row = 0; row < 300; ++row) {
      std::vector<int32_t> ids = text_of(40);
      perturber.apply(row, ids);
      const std::vector<size_t> places = masked(ids);
      ASSERT_EQ(places.size(), static_cast<size_t>(std::lround(40 * condition(name).amount)));
      EXPECT_EQ(places.back() - places.front() + 1, places.size());
      begins[places.front()] = true;
    }
    EXPECT_GT(std::count(begins.begin(), begins.end(), true), 20) << "each row has its own span";
  }
}

TEST(TokenPerturber, SpecialTokensInsideASpanAreSpared) {
  const TokenPerturber perturber({Damage::occlude, 0.9999, "all"}, 0, special);
  std::vector<int32_t> ids = {2, 10, 3, 11, 3, 0};
  perturber.apply(7, ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{2, 4, 3, 4, 3, 0}));
}

TEST(TokenPerturber, TextsWithoutTokens) {
  for (const Perturbation& perturbation : perturbations()) {
    const TokenPerturber perturber(perturbation, 0, special);
    std::vector<int32_t> none, empty = {2, 3};
    perturber.apply(0, none);
    perturber.apply(0, empty);
    EXPECT_EQ(empty, (std::vector<int32_t>{2, 3}));
    EXPECT_TRUE(none.empty());
  }
}

TEST(TokenPerturber, FollowsSeedConditionRowAndPositionAlone) {
  const auto masked_places = [](const char* name, uint64_t seed, int64_t row, int length) {
    std::vector<int32_t> ids = text_of(length);
    TokenPerturber(condition(name), seed, special).apply(row, ids);
    return masked(ids);
  };
  const auto places = masked_places("missing-0.3", 1, 2, 60);
  EXPECT_EQ(masked_places("missing-0.3", 1, 2, 60), places);
  EXPECT_NE(masked_places("missing-0.3", 2, 2, 60), places);
  EXPECT_NE(masked_places("missing-0.3", 1, 3, 60), places);
  EXPECT_NE(masked_places("missing-0.1", 1, 2, 60), places);
  // A longer text has the same tokens masked at the places that both have.
  auto longer = masked_places("missing-0.3", 1, 2, 90);
  std::erase_if(longer, [](size_t place) { return place > 60; });
  EXPECT_EQ(longer, places);
  // Written out by another implementation of the generator: the convention must not change.
  EXPECT_EQ(masked_places("missing-0.1", 0, 0, 30), (std::vector<size_t>{25}));
  EXPECT_EQ(masked_places("missing-0.5", 3, 41, 12), (std::vector<size_t>{2, 3, 9, 10, 12}));
  EXPECT_EQ(masked_places("occlude-0.3", 3, 41, 12), (std::vector<size_t>{1, 2, 3, 4}));
}

TEST(TokenPerturber, NoiseAndQuantisationLeaveTokensAlone) {
  for (const Perturbation& perturbation : perturbations()) {
    std::vector<int32_t> ids = text_of(50);
    TokenPerturber(perturbation, 0, special).apply(0, ids);
    EXPECT_EQ(ids == text_of(50), !changes_tokens(perturbation)) << perturbation.name;
  }
}

TEST(TokenPerturber, WithoutAMaskTheUnknownTokenServes) {
  std::vector<int32_t> ids = text_of(100);
  TokenPerturber(condition("missing-0.5"), 0, {.cls = 2, .sep = 3, .pad = 0, .mask = -1, .unknown = 1}).apply(0, ids);
  EXPECT_GT(masked(ids, 1).size(), 30u);
  const SpecialTokens none{.cls = 2, .sep = 3, .pad = 0, .mask = -1, .unknown = -1};
  const std::string message = message_of<UserError>([&] { TokenPerturber(condition("missing-0.5"), 0, none); });
  EXPECT_NE(message.find("neither a mask nor an unknown token"), std::string::npos) << message;
  EXPECT_NO_THROW(TokenPerturber(condition("noise-0.1"), 0, none));
}

TEST(TokenNoise, StandardNormalByKeyPositionAndDimension) {
  const uint64_t key = token_noise_key(condition("noise-0.1"), 3, 17);
  constexpr int64_t tokens = 200, width = 99;
  std::vector<float> noise(tokens * width), shorter(5 * width), narrower(5 * 40);
  draw_token_noise(key, tokens, width, noise.data());
  draw_token_noise(key, 5, width, shorter.data());
  draw_token_noise(key, 5, 40, narrower.data());
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), noise.begin()));
  for (int64_t position = 0; position < 5; ++position) {
    for (int64_t j = 0; j < 40; ++j)
      EXPECT_EQ(narrower[static_cast<size_t>(position * 40 + j)], noise[static_cast<size_t>(position * width + j)]);
  }
  double sum = 0, squares = 0, neighbours = 0;
  for (size_t i = 0; i < noise.size(); ++i) {
    sum += noise[i];
    squares += noise[i] * noise[i];
    if (i > 0) neighbours += noise[i] * noise[i - 1];
  }
  const auto count = static_cast<double>(noise.size());
  EXPECT_NEAR(sum / count, 0, 4.5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 4.5 * std::sqrt(2 / count));
  EXPECT_NEAR(neighbours / count, 0, 4.5 / std::sqrt(count));
  EXPECT_NE(token_noise_key(condition("noise-0.2"), 3, 17), key);
  EXPECT_NE(token_noise_key(condition("noise-0.1"), 4, 17), key);
  EXPECT_NE(token_noise_key(condition("noise-0.1"), 3, 18), key);
}

}  // namespace
}  // namespace l0gm
