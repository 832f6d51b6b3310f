#pragma once

#include <span>

namespace l0gm {

// How well links are told from pairs without one, each against its own. All NaN without a link.
struct RankScores {
  double mrr = 0;                                             // mean of 1 / place
  double hits_1 = 0, hits_10 = 0, hits_50 = 0, hits_100 = 0;  // share with place <= k
};

// The place of a score among those it competes with: 1 is the best, a tie counts half a place. Not a number: the worst of it is
// assumed.
double place_among(double score, std::span<const double> others);

RankScores rank_scores(std::span<const double> places);
// The scores of links [n], and of what each of them competes with [n, k], row-major.
RankScores rank_scores(std::span<const double> positives, std::span<const double> negatives);

}  // namespace l0gm
