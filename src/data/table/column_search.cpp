#include "data/table/column_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "base/threads.h"

namespace l0gm {
namespace {

constexpr uint32_t folds = 3;
constexpr int64_t most_rows = 9000, fewest_rows = 1500;
constexpr int64_t most_small_trees = 60, trees_at_once = 5, rounds_without_gain = 3;
constexpr int64_t depth = 5;
constexpr double rate = 0.2;
constexpr double most_additions = 2.5e10;  // to sums of gradients, all in all: some twenty seconds of one thread
constexpr size_t most_candidates = 24;
constexpr size_t paired = 12;         // of the candidates: the first step upwards tries all pairs of these
constexpr size_t closed_singly = 12;  // with more columns than that a quarter of them goes at once
constexpr int most_exchanges = 4;
constexpr double least_gain = 0.0005;   // of the loss: less is chance
constexpr double errors_to_gain = 0.5;  // on validation rows
constexpr uint64_t rows_stream = 0x636f6c756d6e73;

BoostSettings small_trees() {
  BoostSettings settings;
  settings.depth = depth;
  settings.rate = rate;
  settings.in_threads = false;  // sets are judged at once
  return settings;
}

TreeRows some_rows(const TreeRows& rows, const std::vector<int64_t>& chosen) {
  TreeRows some;
  some.sizes = rows.sizes;
  some.is_category = rows.is_category;
  some.classes = rows.classes;
  some.codes.resize(rows.codes.size());
  for (const int64_t row : chosen) {
    const auto place = static_cast<size_t>(row);
    some.labels.push_back(rows.labels[place]);
    if (!rows.weights.empty()) some.weights.push_back(rows.weights[place]);
    for (size_t i = 0; i < rows.codes.size(); ++i) some.codes[i].push_back(rows.codes[i][place]);
  }
  return some;
}

int64_t count(const ColumnMask& columns) { return std::count(columns.begin(), columns.end(), 1); }

// The loss of rows outside with as many trees as lower it.
double least_loss(Boosting& boosting, const std::vector<uint32_t>& outside, const TreeGrower& grower) {
  double least = boosting.loss(outside);
  int64_t since = 0;
  while (!grower.ends_early() && boosting.trees() < most_small_trees && since < rounds_without_gain) {
    for (int64_t i = 0; i < trees_at_once; ++i) {
      if (!boosting.add_tree()) return std::min(least, boosting.loss(outside));
    }
    const double loss = boosting.loss(outside);
    since = loss < least ? 0 : since + 1;
    least = std::min(least, loss);
  }
  return least;
}

}  // namespace

ColumnSearch::ColumnSearch(const TreeGrower& grower, int64_t size) : grower_(grower), size_(size) {}

// What trees over all columns gain by each.
std::vector<double> ColumnSearch::gains_of_columns(size_t columns) const {
  const std::vector<uint32_t> inputs = grower_.inputs_of(ColumnMask(columns, 1));
  std::vector<double> gains(columns, 0);
  if (inputs.empty()) return gains;
  Boosting over_all(rows_, fitted_[0], small_trees(), 0, inputs);
  least_loss(over_all, judged_[0], grower_);
  for (size_t column = 0; column < columns; ++column) {
    ColumnMask alone(columns, 0);
    alone[column] = 1;
    for (const uint32_t input : grower_.inputs_of(alone)) gains[column] += over_all.gains()[input];
  }
  return gains;
}

// How many columns are candidates, and how many rows judge them, so that the search ends in bounded time. None: it would not.
void ColumnSearch::plan(const ColumnMask& start) {
  const TreeRows& all = grower_.rows();
  const double size = static_cast<double>(size_), fewest_candidates = 4;
  // Sets of columns that are tried, downwards, upwards and by exchanges, times the columns in each.
  const auto work = [&](double rows, double candidates) {
    const double of_a_column = rows * (folds - 1) * static_cast<double>(depth * 2 * all.outputs() * most_small_trees);
    const double open = std::min(size, candidates / 2), fixed = size - open;
    const double down = candidates * candidates * (candidates / 3 + fixed / 2), up = (66 + candidates * open) * size;
    return of_a_column * (down + up + most_exchanges * open * (candidates - open) * size);
  };
  double rows = static_cast<double>(std::min(grower_.training_rows(), most_rows));
  double candidates = static_cast<double>(std::min(start.size(), most_candidates));
  while (work(rows, candidates) > most_additions && (rows > fewest_rows || candidates > fewest_candidates)) {
    if (rows > fewest_rows) rows = std::max(static_cast<double>(fewest_rows), rows * 0.7);
    if (candidates > fewest_candidates) candidates = std::max(fewest_candidates, std::floor(candidates * 0.85));
  }
  candidates_.clear();
  if (work(rows, candidates) > most_additions) return;
  std::vector<int64_t> chosen = RandomStream(rows_stream).permutation(grower_.training_rows());
  chosen.resize(static_cast<size_t>(rows));
  rows_ = some_rows(all, chosen);
  fitted_.assign(folds, {});
  judged_.assign(folds, {});
  for (uint32_t row = 0; row < chosen.size(); ++row)
    for (uint32_t fold = 0; fold < folds; ++fold) (row % folds == fold ? judged_ : fitted_)[fold].push_back(row);

  const std::vector<double> gains = gains_of_columns(start.size());
  std::vector<size_t> open, closed;
  for (size_t column = 0; column < start.size(); ++column) {
    if (grower_.is_read(column) && !grower_.is_coarse(column)) (start[column] != 0 ? open : closed).push_back(column);
  }
  const auto by_gain = [&](size_t a, size_t b) { return gains[a] > gains[b]; };
  std::stable_sort(open.begin(), open.end(), by_gain);
  std::stable_sort(closed.begin(), closed.end(), by_gain);
  const auto most = static_cast<size_t>(candidates);
  const size_t opening = std::min(closed.size(), most - std::min(open.size(), most / 2));
  const size_t closing = std::min(open.size(), most - opening);
  candidates_.assign(open.end() - static_cast<int64_t>(closing), open.end());
  candidates_.insert(candidates_.end(), closed.begin(), closed.begin() + static_cast<int64_t>(opening));
  std::stable_sort(candidates_.begin(), candidates_.end(), by_gain);
}

std::vector<double> ColumnSearch::losses(const std::vector<ColumnMask>& sets) {
  std::vector<double> found(sets.size(), 0.0);
  parallel_for(std::ssize(sets), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end) && !grower_.ends_early(); ++i) {
      if (const auto known = known_.find(sets[i]); known != known_.end()) {
        found[i] = known->second;
        continue;
      }
      const std::vector<uint32_t> inputs = grower_.inputs_of(sets[i]);
      for (uint32_t fold = 0; fold < folds; ++fold) {
        Boosting boosting(rows_, fitted_[fold], small_trees(), 0, inputs);
        found[i] += (inputs.empty() ? boosting.loss(judged_[fold]) : least_loss(boosting, judged_[fold], grower_)) / folds;
      }
    }
  });
  for (size_t i = 0; i < sets.size(); ++i) known_[sets[i]] = found[i];
  return found;
}

double ColumnSearch::loss(const ColumnMask& columns) { return losses({columns})[0]; }

ColumnMask ColumnSearch::best_of(const std::vector<ColumnMask>& sets, double& least) {
  const std::vector<double> found = losses(sets);
  const auto best = std::min_element(found.begin(), found.end());
  least = best == found.end() ? std::numeric_limits<double>::infinity() : *best;
  return best == found.end() ? ColumnMask{} : sets[static_cast<size_t>(best - found.begin())];
}

// All candidates are open, and those go without which least is lost.
ColumnMask ColumnSearch::downwards(const ColumnMask& start) {
  ColumnMask columns = start;
  for (const size_t candidate : candidates_) columns[candidate] = 1;
  while (count(columns) > size_) {
    std::vector<ColumnMask> sets;
    std::vector<size_t> closed;
    for (const size_t candidate : candidates_) {
      if (columns[candidate] == 0) continue;
      sets.push_back(columns);
      sets.back()[candidate] = 0;
      closed.push_back(candidate);
    }
    if (sets.empty()) return start;
    const std::vector<double> found = losses(sets);
    std::vector<size_t> order(sets.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return found[a] < found[b]; });
    const auto open = static_cast<size_t>(count(columns));
    const size_t many = open > closed_singly ? std::max<size_t>(1, open / 4) : 1;
    const size_t most = std::min({many, open - static_cast<size_t>(size_), order.size()});
    for (size_t i = 0; i < most; ++i) columns[closed[order[i]]] = 0;
  }
  return columns;
}

// None of the candidates is open, and those come that gain most; of the first two each pair is tried.
ColumnMask ColumnSearch::upwards(const ColumnMask& start) {
  ColumnMask columns = start;
  for (const size_t candidate : candidates_) columns[candidate] = 0;
  double least = 0;
  if (size_ - count(columns) >= 2) {
    std::vector<ColumnMask> sets;
    for (size_t i = 0; i < std::min(paired, candidates_.size()); ++i) {
      for (size_t j = 0; j < i; ++j) {
        sets.push_back(columns);
        sets.back()[candidates_[i]] = sets.back()[candidates_[j]] = 1;
      }
    }
    if (sets.empty()) return start;
    columns = best_of(sets, least);
  }
  while (count(columns) < size_) {
    std::vector<ColumnMask> sets;
    for (const size_t candidate : candidates_) {
      if (columns[candidate] != 0) continue;
      sets.push_back(columns);
      sets.back()[candidate] = 1;
    }
    if (sets.empty()) return start;
    columns = best_of(sets, least);
  }
  return columns;
}

ColumnMask ColumnSearch::exchanged(ColumnMask columns) {
  double now = loss(columns);
  for (int i = 0; i < most_exchanges; ++i) {
    std::vector<ColumnMask> sets;
    for (const size_t from : candidates_) {
      for (const size_t to : candidates_) {
        if (columns[from] == 0 || columns[to] != 0) continue;
        sets.push_back(columns);
        sets.back()[from] = 0;
        sets.back()[to] = 1;
      }
    }
    double least = 0;
    const ColumnMask best = best_of(sets, least);
    if (!(least < now * (1 - least_gain))) return columns;
    columns = best;
    now = least;
  }
  return columns;
}

ColumnMask ColumnSearch::improved(const ColumnMask& start) {
  if (!grower_.can_grow() || count(start) != size_) return start;
  plan(start);
  if (candidates_.size() < 2) return start;
  double least = 0;
  return exchanged(best_of({start, downwards(start), upwards(start)}, least));
}

std::optional<ColumnMask> better_columns(const TreeGrower& grower, const ColumnMask& open) {
  const int64_t size = count(open);
  if (!grower.can_grow() || size == std::ssize(open)) return std::nullopt;
  const ColumnMask found = ColumnSearch(grower, size).improved(open);
  if (found == open) return std::nullopt;
  const std::vector<double> now = grower.valid_losses(open), then = grower.valid_losses(found);
  if (grower.ends_early()) return std::nullopt;
  const auto rows = static_cast<double>(now.size());
  const std::vector<float> weights = grower.valid_weights();
  double sum = 0, squares = 0;
  for (size_t i = 0; i < now.size(); ++i) {
    const double gain = (now[i] - then[i]) * (weights.empty() ? 1 : static_cast<double>(weights[i]));
    sum += gain;
    squares += gain * gain;
  }
  const double error = std::sqrt(std::max(squares - sum * sum / rows, 0.0));
  return sum > errors_to_gain * error ? std::optional(found) : std::nullopt;
}

}  // namespace l0gm
