#include "metrics/calibration_interval.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "metrics/scores.h"

namespace l0gm {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double tail = 0.025;

// Of the sum of outcomes, where every row of the cell occurs with probability p + gap / rows.
double variance(const CalibrationCell& cell, double gap) {
  const double shift = gap / cell.rows;
  return std::max(0.0, cell.expected + gap - cell.squares - 2 * shift * cell.expected - shift * gap);
}

// How a total is divided over cells: start + lambda * weight, within 0 … most. A cell without variance keeps its start.
struct Division {
  std::vector<double> start, weight, most, sign;

  void add(double start_here, double weight_here, double most_here, double sign_here) {
    start.push_back(start_here);
    weight.push_back(weight_here);
    most.push_back(weight_here > 0 ? most_here : start_here);
    sign.push_back(sign_here);
  }
  double capacity() const { return std::accumulate(most.begin(), most.end(), 0.0); }

  std::vector<double> gaps(double total) const {
    double low = 0, high = 0;
    for (size_t k = 0; k < start.size(); ++k) {
      if (weight[k] == 0) continue;
      low = std::min(low, -start[k] / weight[k]);
      high = std::max(high, (most[k] - start[k]) / weight[k]);
    }
    std::vector<double> out(start.size());
    const auto fill = [&](double lambda) {
      double sum = 0;
      for (size_t k = 0; k < out.size(); ++k) sum += out[k] = std::clamp(start[k] + lambda * weight[k], 0.0, most[k]);
      return sum;
    };
    for (int step = 0; step < 60; ++step) {
      const double middle = (low + high) / 2;
      (fill(middle) < total ? low : high) = middle;
    }
    fill((low + high) / 2);
    for (size_t k = 0; k < out.size(); ++k) out[k] *= sign[k];
    return out;
  }
};

// Maximises the Gaussian likelihood of the measured gaps given their total.
Division most_probable(std::span<const CalibrationCell> cells) {
  Division out;
  for (const CalibrationCell& cell : cells) {
    const bool above = cell.gap >= 0;
    const double most = above ? cell.rows - cell.expected : cell.expected;
    out.add(std::min(std::abs(cell.gap), most), std::max(variance(cell, 0), variance(cell, cell.gap)), most, above ? 1 : -1);
  }
  return out;
}

// E|gap| is convex in the true gap: of all divisions of a total, equal numbers of standard deviations give the smallest sum.
Division best_hidden(std::span<const CalibrationCell> cells) {
  Division out;
  for (const CalibrationCell& cell : cells) {
    const bool above = cell.rows > 2 * cell.expected;
    const double most = above ? cell.rows - cell.expected : cell.expected;
    out.add(0, std::sqrt(std::max(variance(cell, 0), variance(cell, cell.gap))), most, above ? 1 : -1);
  }
  return out;
}

double share_not_above(std::span<const CalibrationCell> cells, const CellNoise& noise, const std::vector<double>& gaps,
                       double measured) {
  const size_t count = cells.size();
  std::vector<double> deviation(count);
  for (size_t k = 0; k < count; ++k) {
    deviation[k] = std::sqrt(std::max(variance(cells[k], gaps[k]), variance(cells[k], cells[k].gap)));
  }
  int found = 0;
  for (int r = 0; r < noise.draws; ++r) {
    const float* drawn = noise.values.data() + r * count;
    double sum = 0;
    for (size_t k = 0; k < count; ++k) sum += std::abs(gaps[k] + deviation[k] * drawn[k]);
    found += sum <= measured;
  }
  return static_cast<double>(found) / noise.draws;
}

// The largest total under which a sum up to the measured one is still drawn with at least this share.
double largest_total(std::span<const CalibrationCell> cells, const CellNoise& noise, const Division& division, double measured,
                     double share) {
  const auto holds = [&](double total) { return share_not_above(cells, noise, division.gaps(total), measured) >= share; };
  if (!holds(0)) return 0;
  double low = 0, high = division.capacity();
  for (int step = 0; step < 24; ++step) {
    const double middle = (low + high) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

struct ClasswiseCells {
  std::vector<CalibrationCell> cells;  // of all classes, without the empty ones
  std::vector<int64_t> rows;           // labelled ones
  std::vector<int32_t> cell_of;        // rows x classes
};

ClasswiseCells classwise_cells(const Predictions& predictions) {
  ClasswiseCells out;
  const int64_t classes = predictions.class_count();
  for (int64_t i = 0; i < predictions.size(); ++i) {
    if (predictions.labels[i] >= 0) out.rows.push_back(i);
  }
  const auto rows = static_cast<int64_t>(out.rows.size());
  out.cell_of.resize(rows * classes);
  for (int64_t c = 0; c < classes; ++c) {
    const Forecasts forecasts = class_forecasts(predictions, c);
    const std::vector<uint8_t> bins = equal_width_bins(forecasts.probability);
    std::vector<int32_t> place(calibration_bins, -1);
    for (int64_t i = 0; i < rows; ++i) {
      if (place[bins[i]] < 0) {
        place[bins[i]] = static_cast<int32_t>(out.cells.size());
        out.cells.emplace_back();
      }
      const double p = forecasts.probability[i];
      CalibrationCell& cell = out.cells[place[bins[i]]];
      cell.rows += 1;
      cell.gap += forecasts.outcome[i] - p;
      cell.expected += p;
      cell.squares += p * p;
      out.cell_of[i * classes + c] = place[bins[i]];
    }
  }
  return out;
}

// Draws a class for each row: out of its probabilities or, in the given share of cases, any class alike.
class ClassDraws {
 public:
  ClassDraws(const Predictions& predictions, const ClasswiseCells& found, double share_alike)
      : found_(found), classes_(predictions.class_count()), rows_(static_cast<int64_t>(found.rows.size())), alike_(share_alike) {
    for (const int64_t i : found.rows) {
      const auto row = predictions.row(i);
      std::partial_sum(row.begin(), row.end(), std::back_inserter(cumulated_));
    }
    const double even = alike_ / static_cast<double>(classes_), kept = 1 - alike_;
    for (const CalibrationCell& cell : found.cells) {
      drawn_.push_back({cell.rows, 0, kept * cell.expected + even * cell.rows,
                        kept * kept * cell.squares + 2 * kept * even * cell.expected + even * even * cell.rows});
    }
  }

  // Per cell: how often its class was drawn, minus the expectation.
  void draw(RandomStream& random, std::vector<double>& sums) const {
    const bool all = rows_ <= simulated_rows;
    const int64_t used = all ? rows_ : simulated_rows;
    const double even = alike_ / static_cast<double>(classes_);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] = all ? -drawn_[k].expected : 0;
    for (int64_t j = 0; j < used; ++j) {
      const int64_t i = all ? j : static_cast<int64_t>(random.below(static_cast<uint64_t>(rows_)));
      const double* cumulated = cumulated_.data() + i * classes_;
      const int32_t* cells = found_.cell_of.data() + i * classes_;
      sums[cells[draw_class(cumulated, random.uniform())]] += 1;
      if (all) continue;
      for (int64_t c = 0; c < classes_; ++c) {
        sums[cells[c]] -= (1 - alike_) * (cumulated[c] - (c > 0 ? cumulated[c - 1] : 0)) + even;
      }
    }
    const double scale = std::sqrt(static_cast<double>(rows_) / static_cast<double>(used));
    for (double& sum : sums) sum *= scale;
  }
  double deviation(size_t cell) const { return std::sqrt(variance(drawn_[cell], 0)); }

 private:
  int64_t draw_class(const double* cumulated, double u) const {
    if (u < alike_) return std::min(static_cast<int64_t>(u / alike_ * static_cast<double>(classes_)), classes_ - 1);
    const double* end = cumulated + classes_;
    const double wanted = (u - alike_) / (1 - alike_) * end[-1];
    return std::min(std::upper_bound(cumulated, end, wanted), end - 1) - cumulated;
  }

  const ClasswiseCells& found_;
  int64_t classes_, rows_;
  double alike_;
  std::vector<double> cumulated_;
  std::vector<CalibrationCell> drawn_;  // as the drawn classes are distributed
};

// The even share keeps the noise of cells with hardly any expected outcome near to Gaussian; deviations come from the cells.
CellNoise classwise_noise(const Predictions& predictions, const ClasswiseCells& found, RandomStream& random, int draws) {
  const ClassDraws source(predictions, found, 0.1);
  const size_t count = found.cells.size();
  CellNoise noise{draws, std::vector<float>(draws * count)};
  std::vector<double> sums(count);
  for (int r = 0; r < draws; ++r) {
    source.draw(random, sums);
    for (size_t k = 0; k < count; ++k) {
      const double deviation = source.deviation(k);
      noise.values[r * count + k] = deviation > 0 ? static_cast<float>(sums[k] / deviation) : 0;
    }
  }
  return noise;
}

NoiseFloor classwise_floor(const Predictions& predictions, const ClasswiseCells& found, RandomStream& random, int draws) {
  const ClassDraws source(predictions, found, 0);
  std::vector<double> sums(found.cells.size()), totals;
  for (int r = 0; r < draws; ++r) {
    source.draw(random, sums);
    totals.push_back(0);
    for (const double sum : sums) totals.back() += std::abs(sum);
  }
  const double mean = std::accumulate(totals.begin(), totals.end(), 0.0) / draws;
  double squares = 0;
  for (const double total : totals) squares += (total - mean) * (total - mean);
  return {mean, draws > 1 ? std::sqrt(squares / (draws - 1)) : undefined};
}

}  // namespace

Interval total_gap_interval(std::span<const CalibrationCell> cells, const CellNoise& noise) {
  double measured = 0;
  for (const CalibrationCell& cell : cells) measured += std::abs(cell.gap);
  const Division probable = most_probable(cells), hidden = best_hidden(cells);
  Interval out;
  out.low = largest_total(cells, noise, probable, measured, 1 - tail);
  out.high = std::max(
      {out.low, largest_total(cells, noise, probable, measured, tail), largest_total(cells, noise, hidden, measured, tail)});
  // A sum that is too small even for a calibrated model contradicts every total; what was measured is still possible.
  if (out.high == 0) out.high = measured;
  return out;
}

Interval calibration_interval(const Forecasts& forecasts, std::span<const uint8_t> bin_of_row, uint64_t seed, int draws) {
  if (forecasts.size() == 0) return {undefined, undefined};
  std::vector<CalibrationCell> cells(static_cast<size_t>(*std::max_element(bin_of_row.begin(), bin_of_row.end())) + 1);
  for (int64_t i = 0; i < forecasts.size(); ++i) {
    const double p = forecasts.probability[i];
    CalibrationCell& cell = cells[bin_of_row[i]];
    cell.rows += 1;
    cell.gap += forecasts.outcome[i] - p;
    cell.expected += p;
    cell.squares += p * p;
  }
  std::erase_if(cells, [](const CalibrationCell& cell) { return cell.rows == 0; });
  RandomStream random(seed, 1);
  CellNoise noise{draws, std::vector<float>(draws * cells.size())};
  for (float& value : noise.values) value = static_cast<float>(random.normal());
  const Interval total = total_gap_interval(cells, noise);
  const auto rows = static_cast<double>(forecasts.size());
  return {total.low / rows, total.high / rows};
}

ClasswiseUncertainty classwise_uncertainty(const Predictions& predictions, uint64_t seed, int draws, int floor_draws) {
  const ClasswiseCells found = classwise_cells(predictions);
  if (found.rows.empty()) return {{undefined, undefined}, {undefined, undefined}};
  RandomStream random(seed, 4), floor_random(seed, 5);
  const Interval total = total_gap_interval(found.cells, classwise_noise(predictions, found, random, draws));
  const NoiseFloor floor = classwise_floor(predictions, found, floor_random, floor_draws);
  const double scale = 1 / static_cast<double>(found.rows.size()) / static_cast<double>(predictions.class_count());
  const bool few = std::ssize(found.rows) < covered_rows_per_class * predictions.class_count();
  return {{few ? 0 : total.low * scale, total.high * scale}, {floor.mean * scale, floor.standard_deviation * scale}};
}

}  // namespace l0gm
