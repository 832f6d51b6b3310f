#include "encode/table/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace l0gm {

KeyIndex::KeyIndex(int64_t expected) { grow_to(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(expected, 4)) * 2)); }

void KeyIndex::grow_to(uint64_t slots) {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots));
  shift_ = 64 - std::countr_zero(slots);
  for (const Slot& slot : old) {
    if (slot.index >= 0) slots_[slot_of(slot.key)] = slot;
  }
}

uint64_t KeyIndex::slot_of(int64_t key) const {
  uint64_t hash = static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15;
  hash = (hash ^ (hash >> 32)) * 0xD6E8FEB86659FD93;  // a second time, since keys of pairs are evenly spaced
  uint64_t slot = hash >> shift_;
  while (slots_[slot].index >= 0 && slots_[slot].key != key) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

int32_t KeyIndex::insert(int64_t key) {
  uint64_t slot = slot_of(key);
  if (slots_[slot].index >= 0) return slots_[slot].index;
  if (2 * (static_cast<uint64_t>(size_) + 1) > slots_.size()) {
    grow_to(2 * slots_.size());
    slot = slot_of(key);
  }
  slots_[slot] = {key, size_};
  return size_++;
}

int32_t KeyIndex::find(int64_t key) const { return slots_[slot_of(key)].index; }

StatisticKey::StatisticKey(const Schema& schema, const Statistic& statistic, const std::vector<int64_t>& slots)
    : first_slot(slots[static_cast<size_t>(statistic.first)]) {
  if (statistic.second < 0) return;
  second_slot = slots[static_cast<size_t>(statistic.second)];
  second_rows = schema.fields[static_cast<size_t>(statistic.second)].rows();
}

Groups group_rows(const int32_t* codes, int64_t rows, int64_t code_slots, const StatisticKey& key) {
  Groups groups;
  KeyIndex key_index;
  std::vector<int32_t> index_of_row(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t value = key.of(codes + row * code_slots);
    const int32_t index = key_index.insert(value);
    index_of_row[static_cast<size_t>(row)] = index;
    if (static_cast<size_t>(index) == groups.keys.size()) groups.keys.push_back(value);
  }
  std::sort(groups.keys.begin(), groups.keys.end());
  std::vector<size_t> rank(groups.keys.size());  // of a key by its index, among ascending keys
  for (size_t k = 0; k < rank.size(); ++k) rank[static_cast<size_t>(key_index.find(groups.keys[k]))] = k;
  groups.starts.assign(rank.size() + 1, 0);
  for (const int32_t index : index_of_row) ++groups.starts[rank[static_cast<size_t>(index)] + 1];
  std::partial_sum(groups.starts.begin(), groups.starts.end(), groups.starts.begin());
  std::vector<size_t> next(groups.starts.begin(), groups.starts.end() - 1);
  groups.rows.resize(index_of_row.size());
  for (size_t row = 0; row < index_of_row.size(); ++row) groups.rows[next[rank[static_cast<size_t>(index_of_row[row])]]++] = row;
  return groups;
}

double prior_of_class(const Schema& schema, int64_t of_class) {
  const auto rows = static_cast<double>(std::accumulate(schema.class_rows.begin(), schema.class_rows.end(), int64_t{0}));
  return static_cast<double>(schema.class_rows[static_cast<size_t>(of_class)]) / rows;
}

StatisticFormula::StatisticFormula(const Schema& schema, const Field& field)
    : odds_(field.of_class >= 0), smoothing_(schema.smoothing) {
  if (odds_) prior_ = prior_of_class(schema, field.of_class);
}

double StatisticFormula::value(int64_t rows, int64_t of_class) const {
  if (!odds_) return std::log1p(static_cast<double>(rows));
  // logit((of_class + smoothing * prior) / (rows + smoothing)) - logit(prior) with one logarithm, and exactly 0 without rows.
  return std::log((static_cast<double>(of_class) / prior_ + smoothing_) /
                  (static_cast<double>(rows - of_class) / (1 - prior_) + smoothing_));
}

float standardised(const Field& field, double value) {
  return static_cast<float>(std::clamp((value - field.mean) / field.deviation, -4.0, 4.0));
}

StatisticEncoder::StatisticEncoder(const Schema& schema) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  std::vector<std::vector<size_t>> fields(schema.statistics.size());  // per statistic
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].kind == FieldKind::statistic) fields[static_cast<size_t>(schema.fields[f].statistic)].push_back(f);
  }
  const auto tracked = static_cast<size_t>(schema.tracked_classes());
  for (size_t s = 0; s < schema.statistics.size(); ++s) {
    const Statistic& statistic = schema.statistics[s];
    const size_t keys = statistic.keys.size(), width = fields[s].size();
    Table table{StatisticKey(schema, statistic, slots),
                KeyIndex(static_cast<int64_t>(keys)),
                {},
                std::vector<float>((keys + 2) * width, 0.0F),
                {},
                {}};
    const auto rows_of = [&](int64_t field) { return static_cast<size_t>(schema.fields[static_cast<size_t>(field)].rows()); };
    table.seen_first.resize(rows_of(statistic.first), false);
    if (statistic.second >= 0) table.seen_second.resize(rows_of(statistic.second), false);
    for (const int64_t key : statistic.keys) {
      table.key_index.insert(key);
      table.seen_first[static_cast<size_t>(key / table.key.second_rows)] = true;
      if (statistic.second >= 0) table.seen_second[static_cast<size_t>(key % table.key.second_rows)] = true;
    }
    for (size_t i = 0; i < width; ++i) {
      const Field& field = schema.fields[fields[s][i]];
      const StatisticFormula formula(schema, field);
      const size_t tracked_class = tracked == 1 || field.of_class < 0 ? 0 : static_cast<size_t>(field.of_class);
      for (size_t k = 0; k < keys; ++k) {
        table.values[k * width + i] =
            standardised(field, formula.value(statistic.counts[k], statistic.class_counts[k * tracked + tracked_class]));
      }
      table.values[keys * width + i] = standardised(field, formula.value(0, 0));
      table.slopes.push_back(slots[fields[s][i]]);
    }
    tables_.push_back(std::move(table));
  }
}

void StatisticEncoder::encode(const int32_t* codes, float* slopes) const {
  for (const Table& table : tables_) {
    const int32_t found = table.key_index.find(table.key.of(codes));
    const auto row = static_cast<size_t>(found >= 0 ? found : table.key_index.size() + (table.unseen_code(codes) ? 1 : 0));
    const size_t width = table.slopes.size();
    for (size_t i = 0; i < width; ++i) slopes[table.slopes[i]] = table.values[row * width + i];
  }
}

}  // namespace l0gm
