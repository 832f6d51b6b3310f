#include "data/table/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "base/threads.h"

namespace l0gm {
namespace {

constexpr double least_curvature = 1e-6;
constexpr double tie_noise = 0.05;                  // of a gain, either way: columns that tell nearly the same take turns
constexpr int64_t additions_for_threads = 500'000;  // to sums of gradients: fewer are not worth other threads
constexpr double rounding = 1e-6;
constexpr uint64_t rows_stream = 1, inputs_stream = 2, noise_stream = 3;

float softplus(float value) { return value > 0 ? value + std::log1p(std::exp(-value)) : std::log1p(std::exp(value)); }

double squared_over(double sum, double curvature, double smoothing) { return sum * sum / (std::max(curvature, 0.0) + smoothing); }

}  // namespace

Boosting::Boosting(const TreeRows& rows, std::vector<uint32_t> fitted, const BoostSettings& settings, uint64_t key,
                   const std::vector<uint32_t>& inputs)
    : rows_(rows),
      fitted_(std::move(fitted)),
      allowed_(rows.codes.size(), inputs.empty()),
      settings_(settings),
      outputs_(static_cast<size_t>(rows.outputs())),
      key_(key),
      gains_(rows.codes.size(), 0.0) {
  for (const uint32_t input : inputs) allowed_[input] = true;
  std::vector<double> of_class(static_cast<size_t>(rows.classes), 0.5);
  double all = 0;
  for (const uint32_t row : fitted_) {
    const double weight = rows.weights.empty() ? 1 : static_cast<double>(rows.weights[row]);
    of_class[static_cast<size_t>(rows.labels[row])] += weight;
    all += weight;
  }
  start_.resize(outputs_);
  if (outputs_ == 1) {
    start_[0] = static_cast<float>(std::log(of_class[1] / of_class[0]));
  } else {
    for (size_t c = 0; c < outputs_; ++c) start_[c] = static_cast<float>(std::log(of_class[c] / all));
  }
  for (int64_t row = 0; row < rows.rows(); ++row) log_odds_.insert(log_odds_.end(), start_.begin(), start_.end());
}

void Boosting::draw_rows() {
  drawn_.clear();
  RandomStream random(mix_key(key_, rows_stream, static_cast<uint64_t>(trees_)));
  const auto below = static_cast<uint32_t>(std::min(settings_.rows_share, 1.0) * 4294967295.0);
  for (const uint32_t row : fitted_) {
    if (random.bits() <= below) drawn_.push_back(row);
  }
  leaf_.assign(drawn_.size(), 0);
}

void Boosting::compute_gradients() {
  gradients_.resize(drawn_.size() * outputs_ * 2);
  std::vector<float> shares(outputs_);
  for (size_t i = 0; i < drawn_.size(); ++i) {
    const uint32_t row = drawn_[i];
    const float* odds = log_odds_.data() + row * outputs_;
    const auto label = static_cast<size_t>(rows_.labels[row]);
    if (outputs_ == 1) {
      shares[0] = 1 / (1 + std::exp(-odds[0]));
    } else {
      const float most = *std::max_element(odds, odds + outputs_);
      float sum = 0;
      for (size_t c = 0; c < outputs_; ++c) sum += shares[c] = std::exp(odds[c] - most);
      for (float& share : shares) share /= sum;
    }
    const float weight = rows_.weights.empty() ? 1.0F : rows_.weights[row];
    for (size_t c = 0; c < outputs_; ++c) {
      const float wanted = (outputs_ == 1 ? label == 1 : label == c) ? 1.0F : 0.0F;
      float* to = gradients_.data() + (i * outputs_ + c) * 2;
      to[0] = weight * (shares[c] - wanted);
      to[1] = weight * std::max(shares[c] * (1 - shares[c]), static_cast<float>(least_curvature));
    }
  }
}

bool Boosting::holds(int32_t input, int32_t code, uint32_t row) const {
  const int32_t found = rows_.codes[static_cast<size_t>(input)][row];
  return rows_.is_category[static_cast<size_t>(input)] ? found == code : found > code;
}

// The gain of every code of an input as the split of all leaves of a level.
void Boosting::gains_of(uint32_t input, int64_t level, std::vector<float>& sums, std::vector<double>& gains) const {
  const auto codes = static_cast<size_t>(rows_.sizes[input]), width = 2 * outputs_, leaves = size_t{1} << level;
  sums.assign(leaves * codes * width, 0.0F);
  const uint8_t* code = rows_.codes[input].data();
  for (size_t i = 0; i < drawn_.size(); ++i) {
    float* to = sums.data() + (leaf_[i] * codes + code[drawn_[i]]) * width;
    const float* from = gradients_.data() + i * width;
    for (size_t k = 0; k < width; ++k) to[k] += from[k];
  }
  gains.assign(codes, 0.0);
  std::vector<double> all(width), below(width);
  const bool category = rows_.is_category[input];
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    const float* of_leaf = sums.data() + leaf * codes * width;
    std::fill(all.begin(), all.end(), 0.0);
    for (size_t c = 0; c < codes; ++c)
      for (size_t k = 0; k < width; ++k) all[k] += of_leaf[c * width + k];
    std::fill(below.begin(), below.end(), 0.0);
    for (size_t c = 0; c < codes; ++c) {
      for (size_t k = 0; k < width; ++k) below[k] = of_leaf[c * width + k] + (category ? 0.0 : below[k]);
      for (size_t k = 0; k < width; k += 2) {
        gains[c] += squared_over(below[k], below[k + 1], settings_.smoothing) +
                    squared_over(all[k] - below[k], all[k + 1] - below[k + 1], settings_.smoothing);
      }
    }
  }
}

double Boosting::gain_of_leaves(int64_t level) const {
  const size_t width = 2 * outputs_;
  std::vector<double> sums((size_t{1} << level) * width, 0.0);
  for (size_t i = 0; i < drawn_.size(); ++i)
    for (size_t k = 0; k < width; ++k) sums[leaf_[i] * width + k] += gradients_[i * width + k];
  double gain = 0;
  for (size_t k = 0; k < sums.size(); k += 2) gain += squared_over(sums[k], sums[k + 1], settings_.smoothing);
  return gain;
}

Boosting::Split Boosting::best_split(int64_t level, const std::vector<uint32_t>& inputs) const {
  RandomStream random(mix_key(key_, noise_stream, static_cast<uint64_t>(trees_), static_cast<uint64_t>(level)));
  const double before = gain_of_leaves(level);
  Split best;
  best.gain = rounding * before;  // sums of floats differ by so much
  std::vector<std::vector<double>> gains(inputs.size());
  const auto additions = static_cast<int64_t>(drawn_.size() * inputs.size() * outputs_);
  const int64_t at_once = !settings_.in_threads || additions < additions_for_threads
                              ? std::ssize(inputs)
                              : (std::ssize(inputs) + thread_limit() - 1) / thread_limit();
  parallel_for(std::ssize(inputs), std::max<int64_t>(at_once, 1), [&](int64_t begin, int64_t end) {
    std::vector<float> sums;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) gains_of(inputs[i], level, sums, gains[i]);
  });
  for (size_t i = 0; i < inputs.size(); ++i) {
    gains[i].pop_back();  // above the last code there is nothing; a category's last one is no single category
    for (size_t code = 0; code < gains[i].size(); ++code) {
      const double gain = (gains[i][code] - before) * (1 + tie_noise * (2 * random.uniform() - 1));
      if (gain > best.gain) best = {static_cast<int32_t>(inputs[i]), static_cast<int32_t>(code), gain};
    }
  }
  return best;
}

bool Boosting::add_tree() {
  draw_rows();
  compute_gradients();
  std::vector<uint32_t> inputs;
  RandomStream random(mix_key(key_, inputs_stream, static_cast<uint64_t>(trees_)));
  for (uint32_t input = 0; input < rows_.codes.size(); ++input) {
    const bool drawn = random.uniform() < settings_.inputs_share;
    if (drawn && allowed_[input] && rows_.sizes[input] > 1) inputs.push_back(input);
  }
  std::vector<int32_t> splits;
  for (int64_t level = 0; level < settings_.depth; ++level) {
    const Split split = best_split(level, inputs);
    if (split.input < 0) break;
    splits.insert(splits.end(), {split.input, split.code});
    gains_[static_cast<size_t>(split.input)] += split.gain;
    for (size_t i = 0; i < drawn_.size(); ++i)
      leaf_[i] |= static_cast<uint16_t>(static_cast<unsigned>(holds(split.input, split.code, drawn_[i])) << level);
  }
  if (splits.empty()) return false;
  while (std::ssize(splits) < 2 * settings_.depth) {  // levels that nothing passes
    splits.insert(splits.end(),
                  {splits[0],
                   rows_.is_category[static_cast<size_t>(splits[0])] ? -1 : rows_.sizes[static_cast<size_t>(splits[0])] - 1});
  }
  const size_t leaves = size_t{1} << settings_.depth;
  std::vector<double> sums(leaves * outputs_ * 2, 0.0);
  for (size_t i = 0; i < drawn_.size(); ++i)
    for (size_t k = 0; k < 2 * outputs_; ++k) sums[leaf_[i] * 2 * outputs_ + k] += gradients_[i * 2 * outputs_ + k];
  for (size_t k = 0; k < sums.size(); k += 2)
    leaves_.push_back(static_cast<float>(-settings_.rate * sums[k] / (sums[k + 1] + settings_.smoothing)));
  splits_.insert(splits_.end(), splits.begin(), splits.end());
  ++trees_;
  for (uint32_t row = 0; row < rows_.labels.size(); ++row) {
    const float* added = leaves_.data() + (static_cast<size_t>(trees_ - 1) * leaves + leaf_of(row, trees_ - 1)) * outputs_;
    for (size_t c = 0; c < outputs_; ++c) log_odds_[row * outputs_ + c] += added[c];
  }
  return true;
}

size_t Boosting::leaf_of(uint32_t row, int64_t tree) const {
  const int32_t* split = splits_.data() + 2 * settings_.depth * tree;
  size_t leaf = 0;
  for (int64_t level = 0; level < settings_.depth; ++level, split += 2)
    leaf |= static_cast<size_t>(holds(split[0], split[1], row)) << level;
  return leaf;
}

std::vector<float> Boosting::log_odds(uint32_t row, int64_t trees) const {
  std::vector<float> sum = start_;
  const size_t leaves = size_t{1} << settings_.depth;
  for (int64_t tree = 0; tree < trees; ++tree) {
    const float* added = leaves_.data() + (static_cast<size_t>(tree) * leaves + leaf_of(row, tree)) * outputs_;
    for (size_t c = 0; c < outputs_; ++c) sum[c] += added[c];
  }
  return sum;
}

double Boosting::loss_of(uint32_t row, const float* log_odds) const {
  const auto label = static_cast<size_t>(rows_.labels[row]);
  if (outputs_ == 1) return static_cast<double>(softplus(label == 1 ? -log_odds[0] : log_odds[0]));
  const float most = *std::max_element(log_odds, log_odds + outputs_);
  double exponentials = 0;
  for (size_t c = 0; c < outputs_; ++c) exponentials += static_cast<double>(std::exp(log_odds[c] - most));
  return std::log(exponentials) + static_cast<double>(most - log_odds[label]);
}

double Boosting::loss(const std::vector<uint32_t>& of_rows) const {
  double sum = 0, weights = 0;
  for (const uint32_t row : of_rows) {
    const double weight = rows_.weights.empty() ? 1 : static_cast<double>(rows_.weights[row]);
    weights += weight;
    sum += weight * loss_of(row, log_odds_.data() + row * outputs_);
  }
  return sum / weights;
}

}  // namespace l0gm
