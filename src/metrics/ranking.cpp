#include "metrics/ranking.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>
#include <vector>

namespace l0gm {

double rank_among(double score, std::span<const double> others) {
  double rank = 1;
  for (const double other : others) rank += other < score ? 0 : other == score ? 0.5 : 1;  // 1 also if one of them is NaN
  return rank;
}

RankScores rank_scores(std::span<const double> ranks) {
  if (ranks.empty()) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none, none, none, none};
  }
  RankScores sums;
  for (const double rank : ranks) {
    sums.mrr += 1 / rank;
    sums.hits_1 += rank <= 1;
    sums.hits_10 += rank <= 10;
    sums.hits_50 += rank <= 50;
    sums.hits_100 += rank <= 100;
  }
  const auto count = static_cast<double>(ranks.size());
  return {sums.mrr / count, sums.hits_1 / count, sums.hits_10 / count, sums.hits_50 / count, sums.hits_100 / count};
}

RankScores rank_scores(std::span<const double> positives, std::span<const double> negatives) {
  if (positives.empty() ? !negatives.empty() : negatives.size() % positives.size() != 0) {
    throw std::invalid_argument(fmt::format("{} scores of negatives for {} links: wanted the same number for each link",
                                            negatives.size(), positives.size()));
  }
  std::vector<double> ranks;
  ranks.reserve(positives.size());
  const size_t each = positives.empty() ? 0 : negatives.size() / positives.size();
  for (size_t i = 0; i < positives.size(); ++i) ranks.push_back(rank_among(positives[i], negatives.subspan(i * each, each)));
  return rank_scores(ranks);
}

}  // namespace l0gm
