#include "data/made/ctr_like.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/progress.h"
#include "base/random.h"

namespace l0gm {
namespace {

struct Field {
  const char* name;
  char prefix;
  int64_t cardinality;
  double exponent;  // of the Zipf-like shares; 0: equal shares
  double effect;    // deviation of the main effects
  bool crossed;     // values come in fours of equal share and main effect, one of each class
};
constexpr std::array<Field, ctr_field_count> fields = {{{"user", 'u', 200000, 0.8, 0.35, false},
                                                        {"item", 'i', 50000, 1.05, 0.4, false},
                                                        {"ad", 'a', 5000, 1.1, 0.5, false},
                                                        {"category", 'c', 40, 0.7, 0.3, true},
                                                        {"site", 's', 2000, 1.1, 0.4, true},
                                                        {"hour", 'h', 24, 0, 0, true},
                                                        {"device", 'd', 32, 0.6, 0, true},
                                                        {"city", 'y', 400, 0.9, 0.2, true},
                                                        {"placement", 'p', 48, 0.8, 0.3, true},
                                                        {"carrier", 'r', 60, 0.9, 0, false},
                                                        {"session", 'n', 500000, 0.4, 0, false},
                                                        {"page", 'g', 10000, 1.05, 0.25, false}}};
constexpr std::array<std::array<CtrField, 2>, 3> crosses = {
    {{CtrField::category, CtrField::site}, {CtrField::hour, CtrField::device}, {CtrField::placement, CtrField::city}}};
constexpr std::array<double, 4> cross_effects = {1.0, -0.4, -1.0, 0.4};  // by the sum of both classes modulo 4
constexpr int64_t class_count = 4, tag_count = 200, most_tags = 5;
constexpr uint64_t tag_effects = 50, field_effects = 100;  // keys of the effects
constexpr double tag_effect = 0.2, intercept = -2.35;

const Field& spec(CtrField field) { return fields[static_cast<size_t>(field)]; }

int64_t draw_value(const Field& field, RandomStream& random) {
  if (!field.crossed) return zipf_rank(random.uniform(), field.cardinality, field.exponent);
  const int64_t group = zipf_rank(random.uniform(), field.cardinality / class_count, field.exponent);
  return group * class_count + static_cast<int64_t>(random.below(class_count));
}

void draw_tags(std::vector<int64_t>& tags, RandomStream& random) {
  const size_t count = 1 + random.below(most_tags);
  while (tags.size() < count) {
    const int64_t tag = zipf_rank(random.uniform(), tag_count, 0.7);
    if (std::find(tags.begin(), tags.end(), tag) == tags.end()) tags.push_back(tag);
  }
}

double logit_of(const CtrRow& row) {
  double logit = intercept - 0.35 * std::log1p(row.views_today) + 0.45 * std::log1p(row.clicks_before);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].effect == 0) continue;
    logit += fields[i].effect * value_effect(field_effects + i, fields[i].crossed ? row.values[i] / class_count : row.values[i]);
  }
  for (const auto& [left, right] : crosses) {
    const int64_t sum = ctr_class(row.values[static_cast<size_t>(left)]) + ctr_class(row.values[static_cast<size_t>(right)]);
    logit += cross_effects[static_cast<size_t>(sum % class_count)];
  }
  for (const int64_t tag : row.tags) logit += tag_effect * value_effect(tag_effects, tag);
  return logit;
}

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  for (const Field& field : fields) names.emplace_back(field.name);
  names.insert(names.end(), {"views_today", "clicks_before", "tags", "click"});
  return names;
}

std::vector<std::string> informative() {
  std::vector<std::string> names;
  for (const Field& field : fields) {
    if (field.effect > 0 || field.crossed) names.emplace_back(field.name);
  }
  names.insert(names.end(), {"views_today", "clicks_before", "tags"});
  return names;
}

std::vector<std::string> texts_of(const CtrRow& row) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < fields.size(); ++i) texts.push_back(ctr_text(static_cast<CtrField>(i), row.values[i]));
  texts.push_back(std::to_string(row.views_today));
  texts.push_back(std::to_string(row.clicks_before));
  std::string tags;
  for (const int64_t tag : row.tags) tags += fmt::format("{}t{}", tags.empty() ? "" : "|", tag);
  texts.push_back(std::move(tags));
  texts.emplace_back(row.click ? "1" : "0");
  return texts;
}

void split_by_order(TableDataset& dataset) {
  std::vector<int64_t> rows(static_cast<size_t>(dataset.table.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  const auto valid = rows.begin() + dataset.table.rows() * 8 / 10, test = rows.begin() + dataset.table.rows() * 9 / 10;
  dataset.train.assign(rows.begin(), valid);
  dataset.valid.assign(valid, test);
  dataset.test.assign(test, rows.end());
}

}  // namespace

int64_t ctr_cardinality(CtrField field) { return spec(field).cardinality; }

int64_t ctr_class(int64_t value) { return value % class_count; }

// Times a prime: a bijection after which neighbouring numbers are no longer equally common.
std::string ctr_text(CtrField field, int64_t value) {
  return fmt::format("{}{}", spec(field).prefix, (value * 7919 + 17) % spec(field).cardinality);
}

CtrRow ctr_row(uint64_t seed, int64_t number) {
  RandomStream random(mix_key(seed, 0x637472), static_cast<uint64_t>(number));
  CtrRow row;
  for (size_t i = 0; i < fields.size(); ++i) row.values[i] = draw_value(fields[i], random);
  row.views_today = static_cast<int64_t>(std::exp(1 + 1.1 * random.normal()));
  row.clicks_before = static_cast<int64_t>(-2 * std::log(random.uniform()));
  draw_tags(row.tags, random);
  row.probability = probability_of(logit_of(row));
  row.click = random.uniform() < row.probability;
  return row;
}

CtrTable make_ctr(int64_t rows, uint64_t seed) {
  CtrTable made;
  made.probabilities.reserve(static_cast<size_t>(rows));
  TextTable table(column_names());
  std::vector<std::string_view> cells;
  Progress progress("making rows", rows, {"rows"});
  for (int64_t i = 0; i < rows; ++i) {
    progress.update(i);
    const CtrRow row = ctr_row(seed, i);
    const std::vector<std::string> texts = texts_of(row);
    cells.assign(texts.begin(), texts.end());
    table.add_row(cells);
    made.probabilities.push_back(row.probability);
  }
  made.dataset.name = fmt::format("ctr-like/{}", seed);
  made.dataset.table = std::move(table);
  made.dataset.label = made.dataset.table.columns() - 1;
  made.dataset.planted = informative();
  made.dataset.bayes_auc = ctr_bayes().auc;
  made.dataset.bayes_nll = ctr_bayes().nll;
  split_by_order(made.dataset);
  return made;
}

TableDataset make_ctr_table(int64_t rows, uint64_t seed) { return make_ctr(rows, seed).dataset; }

// By sampling 10 million rows (standard errors below .0002); a test computes them again.
BayesScores ctr_bayes() { return {0.8509, 0.3288}; }

BayesScores ctr_bayes_by_sampling(int64_t samples, uint64_t seed) {
  std::vector<double> probabilities(static_cast<size_t>(samples));
  for (int64_t i = 0; i < samples; ++i) probabilities[static_cast<size_t>(i)] = ctr_row(seed, i).probability;
  return bayes_scores(std::move(probabilities));
}

}  // namespace l0gm
