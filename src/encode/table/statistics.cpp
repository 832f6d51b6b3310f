#include "encode/table/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

namespace l0gm {

namespace {
constexpr int64_t few_numbers = 1 << 14;  // 64 KB: of a statistic whose values are kept for every possible key
constexpr int64_t crowded = 4;            // possible keys for each that training rows have: a table of keys takes as much room
}  // namespace

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

StatisticKey::StatisticKey(const Schema& schema, const Statistic& statistic, const std::vector<int64_t>& slots) {
  const auto place = [&](const KeyPart& part) { return part.cut >= 0 ? -1 - part.cut : slots[static_cast<size_t>(part.field)]; };
  first = place(statistic.first);
  if (!statistic.of_pair()) return;
  pair = true;
  second = place(statistic.second);
  second_rows = schema.rows_of(statistic.second);
}

ClassRows::ClassRows(const std::vector<int64_t>& rows_of_classes) : of_class(rows_of_classes.begin(), rows_of_classes.end()) {
  all = std::accumulate(of_class.begin(), of_class.end(), 0.0);
}

StatisticFormula::StatisticFormula(const Schema& schema, const Field& field, const ClassRows& counted)
    : odds_(field.of_class >= 0), smoothing_(schema.smoothing) {
  if (odds_ && counted.all > 0) prior_ = counted.prior(static_cast<size_t>(field.of_class));
}

double StatisticFormula::value(int64_t rows, int64_t of_class) const {
  if (!odds_) return std::log1p(static_cast<double>(rows));
  // logit((of_class + smoothing * prior) / (rows + smoothing)) - logit(prior) with one logarithm, and exactly 0 without rows.
  const auto over = [](int64_t count, double share) { return count == 0 ? 0.0 : static_cast<double>(count) / share; };
  return std::log((over(of_class, prior_) + smoothing_) / (over(rows - of_class, 1 - prior_) + smoothing_));
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
  const ClassRows all_rows(schema.class_rows);
  for (size_t s = 0; s < schema.statistics.size(); ++s) {
    const Statistic& statistic = schema.statistics[s];
    const size_t keys = statistic.keys.size(), width = fields[s].size();
    Table table{StatisticKey(schema, statistic, slots),
                KeyIndex(static_cast<int64_t>(keys)),
                {},
                std::vector<float>((keys + 2) * width, 0.0F),
                {},
                {},
                {}};
    table.seen_first.resize(static_cast<size_t>(schema.rows_of(statistic.first)), false);
    if (statistic.of_pair()) table.seen_second.resize(static_cast<size_t>(schema.rows_of(statistic.second)), false);
    for (const int64_t key : statistic.keys) {
      table.key_index.insert(key);
      table.seen_first[static_cast<size_t>(key / table.key.second_rows)] = true;
      if (statistic.of_pair()) table.seen_second[static_cast<size_t>(key % table.key.second_rows)] = true;
    }
    for (size_t i = 0; i < width; ++i) {
      const Field& field = schema.fields[fields[s][i]];
      const StatisticFormula formula(schema, field, all_rows);
      const size_t tracked_class = tracked == 1 || field.of_class < 0 ? 0 : static_cast<size_t>(field.of_class);
      for (size_t k = 0; k < keys; ++k) {
        table.values[k * width + i] =
            standardised(field, formula.value(statistic.counts[k], statistic.class_counts[k * tracked + tracked_class]));
      }
      table.values[keys * width + i] = standardised(field, formula.value(0, 0));
      table.slopes.push_back(slots[fields[s][i]]);
    }
    table.fill_by_key();
    tables_.push_back(std::move(table));
  }
}

size_t StatisticEncoder::Table::row_of(int64_t wanted) const {
  if (const int32_t found = key_index.find(wanted); found >= 0) return static_cast<size_t>(found);
  const auto seen = [](const std::vector<bool>& codes_seen, int64_t code) {
    return static_cast<size_t>(code) < codes_seen.size() && codes_seen[static_cast<size_t>(code)];
  };
  const bool codes_seen =
      seen(seen_first, wanted / key.second_rows) && (!key.pair || seen(seen_second, wanted % key.second_rows));
  return static_cast<size_t>(key_index.size()) + (codes_seen ? 0 : 1);
}

// Where most keys that there could be are in training rows anyway, or there are few.
void StatisticEncoder::Table::fill_by_key() {
  const auto width = static_cast<int64_t>(slopes.size()), keys = std::ssize(seen_first) * key.second_rows;
  if (width == 0 || keys > std::max(few_numbers / width, crowded * key_index.size())) return;
  by_key.reserve(static_cast<size_t>(keys * width));
  for (int64_t k = 0; k < keys; ++k) {
    const auto row = values.begin() + static_cast<int64_t>(row_of(k)) * width;
    by_key.insert(by_key.end(), row, row + width);
  }
}

void StatisticEncoder::encode(const int32_t* codes, float* slopes, const int32_t* cut_codes) const {
  for (const Table& table : tables_) {
    if (cut_codes == nullptr && table.key.has_cuts()) continue;
    const int64_t key = table.key.of(codes, cut_codes);
    const size_t width = table.slopes.size();
    const float* row = table.by_key.empty() ? table.values.data() + table.row_of(key) * width
                                            : table.by_key.data() + static_cast<size_t>(key) * width;
    for (size_t i = 0; i < width; ++i) slopes[table.slopes[i]] = row[i];
  }
}

}  // namespace l0gm
