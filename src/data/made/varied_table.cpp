#include "data/made/varied_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "base/random.h"

namespace l0gm {
namespace {

using Column = VariedColumn::Kind;
using Effect = VariedEffect::Kind;

constexpr int64_t rows_to_scale = 4000;  // scores are scaled and shifted on so many rows of their own
constexpr uint64_t scale_stream = 0x7363616C, row_stream = 0x726F7773, value_stream = 0x76616C75;

// One cell before it is written: where it lies among all (0 … 1), its text, and whether it is missing.
struct Cell {
  double place = 0;
  int64_t value = 0;  // count, category, identifier
  std::string text;
  bool missing = false;
};

double normal_quantile_like(double place) { return std::log(place / (1 - place)) / 1.702; }  // close enough, and simple

Cell make_cell(const VariedColumn& column, RandomStream& random) {
  Cell cell;
  cell.place = random.uniform();
  const double normal = normal_quantile_like(cell.place), chance = random.uniform();
  switch (column.kind) {
    case Column::normal:
      cell.text = fmt::format("{:.4f}", normal);
      break;
    case Column::skewed:
      cell.text = fmt::format("{:.2f}", 50 * std::exp(1.2 * normal));
      break;
    case Column::uniform:
      cell.text = fmt::format("{:.3f}", 100 * cell.place);
      break;
    case Column::count:
      cell.value = std::min(column.values - 1, static_cast<int64_t>(cell.place * static_cast<double>(column.values)));
      cell.text = std::to_string(cell.value);
      break;
    case Column::category:
    case Column::identifier:
      cell.value = zipf_rank(cell.place, column.values, column.kind == Column::category ? 0.9 : 0.7);
      cell.text = fmt::format("{}{}", column.kind == Column::category ? "v" : "id", cell.value * 7919 % 1'000'003);
      break;
  }
  // Effects see what is written: the place of the value, not of the draw.
  const double drawn_place = cell.place;
  if (column.kind == Column::count) cell.place = (static_cast<double>(cell.value) + 0.5) / static_cast<double>(column.values);
  if (column.kind == Column::category || column.kind == Column::identifier)
    cell.place = RandomStream(mix_key(value_stream, static_cast<uint64_t>(cell.value))).uniform();
  // Not at random: large ones, twice as often as the share says among the upper half.
  cell.missing = chance < column.missing * (column.missing_large ? (drawn_place > 0.5 ? 2 : 0) : 1);
  if (cell.missing) cell.text.clear();
  return cell;
}

class VariedRows {
 public:
  VariedRows(const VariedDraw& draw, uint64_t seed) : draw_(draw), seed_(seed) { fit_scores(); }

  std::vector<Cell> cells(uint64_t stream, int64_t row) const {
    RandomStream random(mix_key(seed_, stream), static_cast<uint64_t>(row));
    std::vector<Cell> made;
    for (const VariedColumn& column : draw_.columns) made.push_back(make_cell(column, random));
    return made;
  }

  // Of each class, label noise included.
  std::vector<double> probabilities(const std::vector<Cell>& cells) const {
    std::vector<double> scores = raw_scores(cells);
    for (size_t k = 0; k < scores.size(); ++k) scores[k] = scale_ * scores[k] + bias_[k];
    softmax(scores);
    for (double& p : scores) p = (1 - draw_.label_noise) * p + draw_.label_noise / static_cast<double>(draw_.classes);
    return scores;
  }

 private:
  // The sign of a cell in an interaction: half of the values each way, different for each effect.
  double sign(size_t effect, size_t column, const Cell& cell) const {
    const Column kind = draw_.columns[column].kind;
    if (kind == Column::normal || kind == Column::skewed || kind == Column::uniform) return cell.place < 0.5 ? -1 : 1;
    const uint64_t key = mix_key(seed_, value_stream, effect * 1000 + column, static_cast<uint64_t>(cell.value));
    return RandomStream(key).uniform() < 0.5 ? -1 : 1;
  }
  double effect_of(size_t index, const std::vector<Cell>& cells) const;
  std::vector<double> raw_scores(const std::vector<Cell>& cells) const {
    std::vector<double> scores(static_cast<size_t>(draw_.classes), 0.0);
    for (size_t e = 0; e < draw_.effects.size(); ++e) {
      const double value = effect_of(e, cells);
      for (size_t k = 0; k < scores.size(); ++k) scores[k] += draw_.effects[e].weights[k] * value;
    }
    return scores;
  }
  static void softmax(std::vector<double>& scores) {
    const double most = *std::max_element(scores.begin(), scores.end());
    for (double& score : scores) score = std::exp(score - most);
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    for (double& score : scores) score /= sum;
  }
  void fit_scores();

  const VariedDraw& draw_;
  uint64_t seed_;
  double scale_ = 1;
  std::vector<double> bias_;
};

double VariedRows::effect_of(size_t index, const std::vector<Cell>& cells) const {
  const VariedEffect& effect = draw_.effects[index];
  const Cell& first = cells[effect.columns[0]];
  if (effect.kind == Effect::missing) return first.missing ? 1.5 : 0;
  for (const size_t c : effect.columns) {
    if (cells[c].missing) return 0;  // what is not written has no effect
  }
  const double normal = normal_quantile_like(std::clamp(first.place, 1e-6, 1 - 1e-6));
  switch (effect.kind) {
    case Effect::smooth: {
      const double x = effect.shape[0] * (normal - 0.5 * effect.shape[1]);
      return effect.shape[2] > 0 ? std::tanh(x * x - 1) : std::tanh(x);
    }
    case Effect::step:
      return first.place < effect.shape[0] ? -1 : 1;
    case Effect::periodic:
      return std::sin(2 * std::numbers::pi * (effect.shape[0] * first.place + effect.shape[1]));
    case Effect::values:
      return RandomStream(mix_key(seed_, value_stream, index, static_cast<uint64_t>(first.value))).normal();
    case Effect::spatial: {
      const Cell& second = cells[effect.columns[1]];
      double sum = 0;
      for (size_t b = 0; b + 3 < effect.shape.size(); b += 4) {
        const double x = (first.place - effect.shape[b]) / effect.shape[b + 2],
                     y = (second.place - effect.shape[b + 1]) / effect.shape[b + 2];
        sum += 2 * effect.shape[b + 3] * std::exp(-0.5 * (x * x + y * y));
      }
      return sum;
    }
    default: {
      double product = 1;
      for (const size_t c : effect.columns) product *= sign(index, c, cells[c]);
      return product;
    }
  }
}

// Scales the scores to the draw's strength and finds the shifts that give the classes their shares: each class's falls from the
// first to the last so that their ratio is the imbalance.
void VariedRows::fit_scores() {
  const auto classes = static_cast<size_t>(draw_.classes);
  std::vector<std::vector<double>> scores;
  double squares = 0;
  for (int64_t row = 0; row < rows_to_scale; ++row) {
    scores.push_back(raw_scores(cells(scale_stream, row)));
    const double mean = std::accumulate(scores.back().begin(), scores.back().end(), 0.0) / static_cast<double>(classes);
    for (const double score : scores.back()) squares += (score - mean) * (score - mean);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(rows_to_scale * draw_.classes));
  scale_ = deviation > 0 ? draw_.strength / deviation * (classes == 2 ? 0.5 : 1) : 1;
  std::vector<double> wanted;
  for (size_t k = 0; k < classes; ++k)
    wanted.push_back(std::pow(draw_.imbalance, -static_cast<double>(k) / static_cast<double>(classes - 1)));
  const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
  bias_.assign(classes, 0.0);
  for (int round = 0; round < 30; ++round) {
    std::vector<double> share(classes, 0.0);
    for (const std::vector<double>& of_row : scores) {
      std::vector<double> p(classes);
      for (size_t k = 0; k < classes; ++k) p[k] = scale_ * of_row[k] + bias_[k];
      softmax(p);
      for (size_t k = 0; k < classes; ++k) share[k] += p[k] / static_cast<double>(rows_to_scale);
    }
    for (size_t k = 0; k < classes; ++k) bias_[k] += std::log(wanted[k] / sum / share[k]);
  }
}

}  // namespace

VariedTable make_varied(uint64_t seed, int64_t rows) {
  VariedTable made;
  made.draw = draw_varied(seed, rows);
  const VariedRows source(made.draw, seed);
  std::vector<std::string> names;
  for (const VariedColumn& column : made.draw.columns) names.push_back(column.name);
  names.emplace_back("label");
  TextTable table(names);
  double nll = 0;
  for (int64_t row = 0; row < made.draw.rows; ++row) {
    const std::vector<Cell> cells = source.cells(row_stream, row);
    const std::vector<double> p = source.probabilities(cells);
    double draw = RandomStream(mix_key(seed, row_stream, 1), static_cast<uint64_t>(row)).uniform();
    size_t label = 0;
    while (label + 1 < p.size() && draw >= p[label]) draw -= p[label++];
    for (const double q : p) nll -= q > 0 ? q * std::log(q) : 0;
    const std::string text = fmt::format("class{}", label);
    std::vector<std::string_view> texts;
    for (const Cell& cell : cells) texts.emplace_back(cell.text);
    texts.emplace_back(text);
    table.add_row(texts);
    made.probabilities.insert(made.probabilities.end(), p.begin(), p.end());
  }
  TableDataset& dataset = made.dataset;
  dataset.name = fmt::format("varied-table/{}", seed);
  dataset.table = std::move(table);
  dataset.label = static_cast<int64_t>(names.size()) - 1;
  dataset.planted = made.draw.informative();
  dataset.bayes_nll = nll / static_cast<double>(made.draw.rows);
  if (made.draw.classes == 2) {
    std::vector<double> yes;
    for (size_t i = 1; i < made.probabilities.size(); i += 2) yes.push_back(made.probabilities[i]);
    dataset.bayes_auc = bayes_scores(std::move(yes)).auc;
  }
  dataset.about = made.draw.to_json().dump();
  draw_made_split(dataset, seed);
  return made;
}

TableDataset make_varied_table(uint64_t seed, int64_t rows) { return make_varied(seed, rows).dataset; }

}  // namespace l0gm
