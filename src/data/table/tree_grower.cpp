#include "data/table/tree_grower.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/table/encoded.h"
#include "data/table/key_columns.h"
#include "data/table/statistic_groups.h"
#include "encode/table/statistic_json.h"

namespace l0gm {
namespace {

constexpr int64_t ranges_of_a_column = 64;
constexpr int32_t most_categories = 33;  // that a split may ask for: missing, rare and the most frequent
constexpr int64_t fewest_rows = 100, fewest_trees = 40, most_grown = 1000, patience = 50;
constexpr double most_additions = 6e9;  // some ten seconds of one thread
constexpr double rows_of_a_tree = 60'000, inputs_of_a_tree = 100;
constexpr double least_gain = 0.005;  // of the loss that the shares of classes have

// What one can split: a cut of each numeric column, by the first rows, which the schema gets, and the codes of each column of
// categories.
std::vector<KeyPart> split_inputs(Schema& schema, const EncodedTable& rows, size_t first, const TextTable& texts) {
  const KeyColumns columns(schema, rows, &texts);
  std::vector<KeyPart> inputs;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const auto column = static_cast<int64_t>(c);
    if (schema.columns[c].type == ColumnType::numeric) {
      std::vector<double> numbers = columns.numbers(column);
      numbers.resize(first);
      const std::vector<double> edges = cut_edges(sorted_finite(std::move(numbers)), ranges_of_a_column);
      if (!edges.empty()) inputs.push_back(part_of_cut(schema, column, edges));
      continue;
    }
    const auto is_its_own = [&](const Field& field) { return field.column == column && field.kind == FieldKind::categorical; };
    const auto found = std::find_if(schema.fields.begin(), schema.fields.end(), is_its_own);
    if (found != schema.fields.end()) inputs.emplace_back(found - schema.fields.begin());
  }
  return inputs;
}

// Where the training rows that the table has are in the order of their numbers.
std::vector<size_t> places_by_number(const EncodedTable& table) {
  std::vector<size_t> places(table.row_numbers.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::sort(places.begin(), places.end(), [&](size_t a, size_t b) { return table.row_numbers[a] < table.row_numbers[b]; });
  return places;
}

// The edges of a statistic's slopes, for splits.
std::vector<float> slope_edges(const std::vector<float>& slopes) {
  std::vector<float> edges;
  for (const double edge : cut_edges(sorted_finite({slopes.begin(), slopes.end()}), ranges_of_a_column))
    edges.push_back(static_cast<float>(edge));
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// How trees are grown on so many rows, and how many at most, in bounded time.
struct Plan {
  BoostSettings settings;
  int64_t trees = 0;
};
Plan plan_for(int64_t train, int64_t inputs, int64_t outputs) {
  const auto rows = static_cast<double>(train), columns = static_cast<double>(inputs);
  Plan plan;
  plan.settings.rows_share = std::min(0.8, rows_of_a_tree / rows);
  plan.settings.inputs_share = std::min(1.0, inputs_of_a_tree / columns);
  const auto depth = static_cast<double>(plan.settings.depth), width = static_cast<double>(2 * outputs);
  // Sums of gradients of the rows that a tree is grown on, and its leaf for every row.
  const double additions =
      rows * (depth * width * plan.settings.rows_share * columns * plan.settings.inputs_share + depth + width + 4);
  plan.trees = static_cast<int64_t>(std::min(most_additions / additions, static_cast<double>(most_grown)));
  plan.settings.rate = std::clamp(20.0 / static_cast<double>(std::max<int64_t>(plan.trees, 1)), 0.05, 0.3);
  return plan;
}

// Inputs that no tree reads are left out, and with them their columns.
GrownTrees trees_of(const Boosting& boosting, int64_t count, const Schema& schema, const std::vector<TreeInput>& inputs) {
  GrownTrees grown;
  TreeScores& trees = grown.trees;
  trees.depth = BoostSettings{}.depth;
  trees.outputs = schema.tracked_classes();
  trees.start = boosting.start();
  trees.splits.assign(boosting.splits().begin(), boosting.splits().begin() + count * 2 * trees.depth);
  trees.leaves.assign(boosting.leaves().begin(), boosting.leaves().begin() + count * trees.leaf_values());
  std::vector<int32_t> number(inputs.size(), -1);
  for (size_t i = 0; i < trees.splits.size(); i += 2) number[static_cast<size_t>(trees.splits[i])] = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (number[i] < 0) continue;
    number[i] = static_cast<int32_t>(trees.inputs.size());
    TreeInput input = inputs[i];
    if (input.part.cut >= 0) {
      grown.cuts.push_back(schema.cuts[static_cast<size_t>(input.part.cut)]);
      input.part = KeyPart::of_cut(std::ssize(grown.cuts) - 1);
    }
    trees.inputs.push_back(std::move(input));
  }
  for (size_t i = 0; i < trees.splits.size(); i += 2) trees.splits[i] = number[static_cast<size_t>(trees.splits[i])];
  return grown;
}

// Of rows, 1 on average over the first ones; none where each counts the same.
std::vector<float> weights_of(const std::vector<int64_t>& numbers, size_t first, const std::vector<double>& by_number) {
  if (by_number.empty()) return {};
  double sum = 0;
  for (size_t i = 0; i < first; ++i) sum += by_number[static_cast<size_t>(numbers[i])];
  std::vector<float> weights;
  for (const int64_t number : numbers)
    weights.push_back(static_cast<float>(by_number[static_cast<size_t>(number)] * static_cast<double>(first) / sum));
  return weights;
}

std::vector<uint32_t> range(size_t begin, size_t end) {
  std::vector<uint32_t> numbers(end - begin);
  std::iota(numbers.begin(), numbers.end(), static_cast<uint32_t>(begin));
  return numbers;
}

}  // namespace

bool TreeGrower::end_in_time(int64_t rows, int64_t columns, int64_t outputs) {
  return plan_for(rows, columns, outputs).trees >= fewest_trees;
}

TreeGrower::TreeGrower(const Schema& schema, const TextTable& texts, const std::vector<int64_t>& train,
                       const std::vector<int64_t>& valid, const std::vector<double>& weights, const EncodedTable* with_statistics)
    : schema_(without_statistics(schema)),
      coarse_(schema.columns.size(), 0),
      read_(schema.columns.size(), 0),
      training_rows_(std::ssize(train)),
      valid_(valid) {
  if (training_rows_ < fewest_rows || valid.empty() || schema.tracked_classes() > most_tree_outputs) return;
  std::sort(valid_.begin(), valid_.end());
  std::vector<int64_t> numbers = train;
  std::sort(numbers.begin(), numbers.end());
  numbers.insert(numbers.end(), valid_.begin(), valid_.end());
  EncodedTable encoded = encode_rows(texts, RowEncoder(schema_), numbers, true);
  encoded.weights = weights_of(numbers, train.size(), weights);
  add_columns(encoded, texts);
  can_grow_ = !inputs_.empty() && std::ssize(schema_.cuts) + std::ssize(schema.cuts) <= most_cuts;
  const int64_t all_inputs = std::ssize(inputs_) + schema.statistic_slots();
  if (can_grow_ && with_statistics != nullptr && end_in_time(training_rows_, all_inputs, schema.tracked_classes()))
    add_statistics(schema, texts, *with_statistics);
}

// The schema gets cuts.
void TreeGrower::add_columns(const EncodedTable& encoded, const TextTable& texts) {
  const std::vector<KeyPart> parts = split_inputs(schema_, encoded, static_cast<size_t>(training_rows_), texts);
  const KeyColumns columns(schema_, encoded, &texts);
  rows_.classes = std::ssize(schema_.classes);
  rows_.labels = encoded.labels;
  rows_.weights = encoded.weights;
  rows_.codes.resize(parts.size());
  rows_.sizes.resize(parts.size());
  std::vector<uint8_t> coarse(parts.size(), 0);
  for_each_at_once(encoded.rows(), std::ssize(parts), [&](size_t i) {
    const KeyColumn column = columns.of(parts[i]);
    const int64_t last = parts[i].cut < 0 ? std::min<int64_t>(most_categories, column.count) : column.count - 1;
    rows_.sizes[i] = static_cast<int32_t>(last) + 1;
    coarse[i] = parts[i].cut < 0 && column.count > most_categories ? 1 : 0;
    rows_.codes[i].reserve(column.codes.size());
    for (const int32_t code : column.codes) rows_.codes[i].push_back(static_cast<uint8_t>(std::min<int64_t>(code, last)));
  });
  for (size_t i = 0; i < parts.size(); ++i) {
    inputs_.push_back({{parts[i], {}}, {schema_.column_of(parts[i])}, -1});
    rows_.is_category.push_back(parts[i].cut < 0);
    const auto column = static_cast<size_t>(inputs_[i].columns[0]);
    read_[column] = 1;
    coarse_[column] = coarse[i];
  }
}

void TreeGrower::add_statistics(const Schema& schema, const TextTable& texts, const EncodedTable& train) {
  struct Coded {
    TreeInput input;
    std::vector<uint8_t> codes;
  };
  const std::vector<int64_t> slots = slots_of_fields(schema);
  const std::vector<size_t> places = places_by_number(train);
  const EncodedTable valid = encode_rows(texts, RowEncoder(schema), valid_, false);
  const size_t first = schema.fields.size() - static_cast<size_t>(schema.statistic_slots());  // statistics come last
  std::vector<Coded> statistics(schema.fields.size() - first);
  for_each_at_once(rows_.rows(), std::ssize(statistics), [&](size_t s) {
    const auto slope = [&, slot = static_cast<size_t>(slots[first + s])](const EncodedTable& table, size_t row) {
      return table.slopes[row * static_cast<size_t>(table.slope_slots) + slot];
    };
    std::vector<float> slopes;
    for (const size_t place : places) slopes.push_back(slope(train, place));
    Coded& coded = statistics[s];
    coded.input = {static_cast<int64_t>(first + s), slope_edges(slopes)};
    for (size_t row = 0; row < valid_.size(); ++row) slopes.push_back(slope(valid, row));
    const std::vector<float>& edges = coded.input.edges;
    for (const float value : slopes)
      coded.codes.push_back(static_cast<uint8_t>(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin()));
  });
  for (size_t s = 0; s < statistics.size(); ++s) {
    Coded& coded = statistics[s];
    if (!coded.input.is_statistic()) continue;  // one value: nothing to split
    rows_.codes.push_back(std::move(coded.codes));
    rows_.sizes.push_back(static_cast<int32_t>(coded.input.edges.size()) + 1);
    rows_.is_category.push_back(false);
    std::vector<int64_t> columns = schema.columns_of(coded.input);
    inputs_.push_back({std::move(coded.input), std::move(columns), static_cast<int64_t>(s)});
  }
}

std::vector<float> TreeGrower::valid_weights() const {
  if (rows_.weights.empty()) return {};
  return {rows_.weights.begin() + training_rows_, rows_.weights.end()};
}

std::vector<uint32_t> TreeGrower::inputs_of(const ColumnMask& columns) const {
  std::vector<uint32_t> found;
  for (uint32_t i : inputs_of(TreeChoice{columns, {}})) {
    if (inputs_[i].statistic < 0) found.push_back(i);
  }
  return found;
}

std::vector<uint32_t> TreeGrower::inputs_of(const TreeChoice& choice) const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    const bool closed =
        input.statistic >= 0 && !choice.statistics.empty() && choice.statistics[static_cast<size_t>(input.statistic)] == 0;
    const bool readable = std::all_of(input.columns.begin(), input.columns.end(), [&](int64_t column) {
      return choice.columns.empty() || choice.columns[static_cast<size_t>(column)] != 0;
    });
    if (readable && !closed) found.push_back(i);
  }
  return found;
}

// The number of trees with the least loss of validation rows, and by how much that is below the loss without any.
struct TreeGrower::Best {
  int64_t trees = 0;
  double gained = 0;
};

// Adds trees until the loss of validation rows stops falling.
TreeGrower::Best TreeGrower::grow_best(Boosting& boosting, int64_t most) const {
  const std::vector<uint32_t> outside = range(static_cast<size_t>(training_rows_), static_cast<size_t>(rows_.rows()));
  const double without = boosting.loss(outside);
  double least = without;
  Best best;
  while (!ends_early() && boosting.trees() < most && boosting.trees() - best.trees < patience && boosting.add_tree()) {
    const double loss = boosting.loss(outside);
    if (loss >= least) continue;
    least = loss;
    best = {boosting.trees(), 1 - loss / without};
  }
  return best;
}

std::optional<TreeGrowth> TreeGrower::grow(const TreeChoice& choice) const {
  if (!can_grow_) return std::nullopt;
  const std::vector<uint32_t> allowed = inputs_of(choice);
  const Plan plan = plan_for(training_rows_, std::ssize(allowed), schema_.tracked_classes());
  if (allowed.empty() || plan.trees < fewest_trees) return std::nullopt;
  Boosting boosting(rows_, range(0, static_cast<size_t>(training_rows_)), plan.settings, 0, allowed);
  const Best best = grow_best(boosting, plan.trees);
  if (best.gained < least_gain) return std::nullopt;
  std::vector<TreeInput> inputs;
  for (const Input& input : inputs_) inputs.push_back(input.input);
  TreeGrowth growth{trees_of(boosting, best.trees, schema_, inputs), {}};
  for (auto row = static_cast<uint32_t>(training_rows_); row < static_cast<uint32_t>(rows_.rows()); ++row) {
    const std::vector<float> of_row = boosting.log_odds(row, best.trees);
    growth.valid_log_odds.insert(growth.valid_log_odds.end(), of_row.begin(), of_row.end());
  }
  return growth;
}

std::vector<double> TreeGrower::valid_losses(const ColumnMask& columns) const {
  const std::vector<uint32_t> allowed = inputs_of(columns);
  const Plan plan = plan_for(training_rows_, std::ssize(allowed), schema_.tracked_classes());
  Boosting boosting(rows_, range(0, static_cast<size_t>(training_rows_)), plan.settings, 0, allowed);
  const Best best = allowed.empty() ? Best{} : grow_best(boosting, std::max(plan.trees, fewest_trees));
  std::vector<double> losses;
  for (auto row = static_cast<uint32_t>(training_rows_); row < static_cast<uint32_t>(rows_.rows()); ++row)
    losses.push_back(boosting.loss_of(row, boosting.log_odds(row, best.trees).data()));
  return losses;
}

}  // namespace l0gm
