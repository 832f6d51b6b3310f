#include "metrics/isotonic.h"

#include <algorithm>

namespace l0gm {
namespace {

struct Block {
  double first, last;  // logits
  double positives, rows;
};

// Blocks that would fall (or stay level) are merged. Compared as products: no division, no rounding of counts.
bool must_merge(const Block& left, const Block& right) { return left.positives * right.rows >= right.positives * left.rows; }

}  // namespace

double IsotonicCurve::at(double logit) const {
  if (logit <= logits.front()) return probabilities.front();
  if (logit >= logits.back()) return probabilities.back();
  const size_t right = std::upper_bound(logits.begin(), logits.end(), logit) - logits.begin();
  const double share = (logit - logits[right - 1]) / (logits[right] - logits[right - 1]);
  return probabilities[right - 1] + share * (probabilities[right] - probabilities[right - 1]);
}

IsotonicCurve fit_isotonic(std::vector<std::pair<double, bool>> logit_and_outcome) {
  std::sort(logit_and_outcome.begin(), logit_and_outcome.end());
  const auto pool = [](Block& left, const Block& right) {
    left.last = right.last;
    left.positives += right.positives;
    left.rows += right.rows;
  };
  std::vector<Block> blocks;
  for (size_t i = 0; i < logit_and_outcome.size();) {
    const double logit = logit_and_outcome[i].first;
    Block block{logit, logit, 0, 0};
    for (; i < logit_and_outcome.size() && logit_and_outcome[i].first == logit; ++i) {
      block.positives += logit_and_outcome[i].second ? 1 : 0;
      block.rows += 1;
    }
    blocks.push_back(block);
    while (blocks.size() > 1 && must_merge(blocks[blocks.size() - 2], blocks.back())) {
      pool(blocks[blocks.size() - 2], blocks.back());
      blocks.pop_back();
    }
  }
  const double margin = 1.0 / (static_cast<double>(logit_and_outcome.size()) + 2);
  IsotonicCurve curve;
  for (const Block& block : blocks) {
    const double value = std::clamp(block.positives / block.rows, margin, 1 - margin);
    curve.logits.push_back(block.first);
    curve.probabilities.push_back(value);
    if (block.last == block.first) continue;
    curve.logits.push_back(block.last);
    curve.probabilities.push_back(value);
  }
  return curve;
}

}  // namespace l0gm
