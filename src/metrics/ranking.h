#pragma once

#include <span>

namespace l0gm {

// How well links are ranked above pairs without a link, each link among its own negatives. All NaN without a link.
struct RankScores {
  double mrr = 0;                                             // mean of 1 / rank
  double hits_1 = 0, hits_10 = 0, hits_50 = 0, hits_100 = 0;  // share with rank <= k
};

// The rank of a score among those it competes with: 1 is the best, a tie counts half a rank. NaN, of either score, counts
// against the score.
double rank_among(double score, std::span<const double> others);

RankScores rank_scores(std::span<const double> ranks);
// The scores of links [n], and of the negatives of each link [n, k], row-major.
RankScores rank_scores(std::span<const double> positives, std::span<const double> negatives);

}  // namespace l0gm
