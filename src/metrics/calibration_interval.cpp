#include "metrics/calibration_interval.h"

#include <algorithm>
#include <cmath>
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
  for (size_t k = 0; k < count; ++k) deviation[k] = std::sqrt(variance(cells[k], gaps[k]));
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

// Sums of a class drawn for each row minus its probabilities, per cell; the total of |.| of each draw goes to `totals`.
CellNoise classwise_noise(const Predictions& predictions, const ClasswiseCells& found, RandomStream& random, int draws,
                          std::vector<double>& totals) {
  const int64_t classes = predictions.class_count(), rows = static_cast<int64_t>(found.rows.size());
  const bool all = rows <= simulated_rows;
  const int64_t used = all ? rows : simulated_rows;
  const double scale = std::sqrt(static_cast<double>(rows) / static_cast<double>(used));
  std::vector<double> cumulated(rows * classes);
  for (int64_t i = 0; i < rows; ++i) {
    const auto row = predictions.row(found.rows[i]);
    std::partial_sum(row.begin(), row.end(), cumulated.begin() + i * classes);
  }
  const size_t count = found.cells.size();
  CellNoise noise{draws, std::vector<float>(draws * count)};
  std::vector<double> sums(count);
  for (int r = 0; r < draws; ++r) {
    for (size_t k = 0; k < count; ++k) sums[k] = all ? -found.cells[k].expected : 0;
    for (int64_t j = 0; j < used; ++j) {
      const int64_t i = all ? j : static_cast<int64_t>(random.below(static_cast<uint64_t>(rows)));
      const double* begin = cumulated.data() + i * classes;
      const double* end = begin + classes;
      const double* drawn = std::min(std::upper_bound(begin, end, random.uniform() * end[-1]), end - 1);
      sums[found.cell_of[i * classes + (drawn - begin)]] += 1;
      if (all) continue;
      for (int64_t c = 0; c < classes; ++c) sums[found.cell_of[i * classes + c]] -= begin[c] - (c > 0 ? begin[c - 1] : 0);
    }
    double total = 0;
    for (size_t k = 0; k < count; ++k) {
      const double deviation = std::sqrt(variance(found.cells[k], 0));
      total += std::abs(scale * sums[k]);
      noise.values[r * count + k] = deviation > 0 ? static_cast<float>(scale * sums[k] / deviation) : 0;
    }
    totals.push_back(total);
  }
  return noise;
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

ClasswiseUncertainty classwise_uncertainty(const Predictions& predictions, uint64_t seed, int draws) {
  const ClasswiseCells found = classwise_cells(predictions);
  if (found.rows.empty()) return {{undefined, undefined}, {undefined, undefined}};
  RandomStream random(seed, 4);
  std::vector<double> totals;
  const CellNoise noise = classwise_noise(predictions, found, random, draws, totals);
  const Interval total = total_gap_interval(found.cells, noise);
  const double scale = 1 / static_cast<double>(found.rows.size()) / static_cast<double>(predictions.class_count());
  const double mean = std::accumulate(totals.begin(), totals.end(), 0.0) / draws;
  double squares = 0;
  for (const double sum : totals) squares += (sum - mean) * (sum - mean);
  const double deviation = draws > 1 ? std::sqrt(squares / (draws - 1)) : undefined;
  return {{total.low * scale, total.high * scale}, {mean * scale, deviation * scale}};
}

}  // namespace l0gm
