#include "metrics/ranking.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <vector>

namespace l0gm {

double place_among(double score, std::span<const double> others) {
  double place = 1;
  for (const double other : others)
    place += other < score ? 0 : other == score ? 0.5 : 1;  // the last also where one is not a number
  return place;
}

RankScores rank_scores(std::span<const double> places) {
  if (places.empty()) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, none, none, none};
  }
  RankScores sums;
  for (const double place : places) {
    sums.mrr += 1 / place;
    sums.hits_1 += place <= 1;
    sums.hits_10 += place <= 10;
    sums.hits_50 += place <= 50;
    sums.hits_100 += place <= 100;
  }
  const auto count = static_cast<double>(places.size());
  return {sums.mrr / count, sums.hits_1 / count, sums.hits_10 / count, sums.hits_50 / count, sums.hits_100 / count};
}

RankScores rank_scores(std::span<const double> positives, std::span<const double> negatives) {
  if (positives.empty() ? !negatives.empty() : negatives.size() % positives.size() != 0) {
    throw std::invalid_argument(
        fmt::format("{} scores cannot be shared out evenly to {} links", negatives.size(), positives.size()));
  }
  std::vector<double> places;
  places.reserve(positives.size());
  const size_t each = positives.empty() ? 0 : negatives.size() / positives.size();
  for (size_t i = 0; i < positives.size(); ++i) places.push_back(place_among(positives[i], negatives.subspan(i * each, each)));
  return rank_scores(places);
}

}  // namespace l0gm
