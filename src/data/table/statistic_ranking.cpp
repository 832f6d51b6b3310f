#include "data/table/statistic_ranking.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "data/table/statistic_gain.h"
#include "data/table/statistics.h"

namespace l0gm {
namespace {

constexpr std::array<int64_t, 3> resolutions = {12, 48, 150};
constexpr int64_t most_counts = 10'000'000;  // of all statistics together: 160 MB
constexpr int64_t most_inputs = 240, most_inputs_on_request = 960, most_input_bytes = int64_t{2} << 30;
constexpr int64_t most_pairs = 2000, most_lookups = 1'000'000'000, most_code_bytes = int64_t{1} << 30;

// A column's key at one resolution: a field, or a cut that the schema does not have yet.
struct Key {
  int64_t field = -1;
  std::vector<double> edges;
};

struct KeyedColumn {
  int64_t column = 0;
  std::vector<Key> keys;        // by rising resolution, those that differ
  std::vector<Gain> gains;      // of each alone
  std::vector<int64_t> values;  // of each: different codes that training rows have
  double best() const {
    return std::accumulate(gains.begin(), gains.end(), -1e300,
                           [](double most, const Gain& gain) { return std::max(most, gain.mean); });
  }
};

// A key that may become a statistic: of one column, or of two.
struct Candidate {
  size_t first = 0, first_key = 0, second = 0, second_key = 0;  // among the keyed columns and their keys
  bool pair = false;
  Gain gain = {};
  int64_t values = 0;  // of the key, that training rows have
};

class Ranking {
 public:
  Ranking(const Schema& schema, const EncodedTable& rows, const KeyColumns& columns, double smoothing)
      : schema_(schema), rows_(rows), columns_(columns), smoothing_(smoothing), labels_(rows, schema.classes.size()) {}

  void add_columns();
  void add_pairs();
  std::vector<Candidate> best() const;
  const Key& key(size_t column, size_t index) const { return keyed_[column].keys[index]; }
  int64_t column(size_t index) const { return keyed_[index].column; }

 private:
  void fit_column(KeyedColumn& keyed, int64_t lookup_field) const;
  // `numbers`: of a numeric column.
  std::vector<KeyColumn> codes_of(const KeyedColumn& keyed, const std::vector<double>& numbers) const;
  std::vector<double> numbers_of(const KeyedColumn& keyed) const;  // none unless it is numeric
  std::vector<size_t> columns_to_pair() const;
  int64_t lookups_of_pair() const;

  const Schema& schema_;
  const EncodedTable& rows_;
  const KeyColumns& columns_;
  double smoothing_;
  FoldedLabels labels_;
  std::vector<KeyedColumn> keyed_;
  std::vector<Candidate> candidates_;
  size_t tried_ = 0;  // pairs that tell less than a column are no candidates, but were tried
};

std::vector<double> Ranking::numbers_of(const KeyedColumn& keyed) const {
  const bool numeric = schema_.columns[static_cast<size_t>(keyed.column)].type == ColumnType::numeric;
  return numeric ? columns_.numbers(keyed.column) : std::vector<double>{};
}

std::vector<KeyColumn> Ranking::codes_of(const KeyedColumn& keyed, const std::vector<double>& numbers) const {
  if (keyed.keys[0].field >= 0) return {columns_.of(keyed.keys[0].field)};
  std::vector<KeyColumn> codes;
  for (const Key& key : keyed.keys) codes.push_back(codes_of_cut(key.edges, numbers));
  return codes;
}

void Ranking::fit_column(KeyedColumn& keyed, int64_t lookup_field) const {
  const std::vector<double> numbers = numbers_of(keyed);
  if (numbers.empty()) {
    keyed.keys.push_back({lookup_field, {}});
  } else {
    const std::vector<double> sorted = sorted_finite(numbers);
    for (const int64_t ranges : resolutions) {
      std::vector<double> edges = cut_edges(sorted, ranges);
      const bool is_new = keyed.keys.empty() || keyed.keys.back().edges != edges;
      if (is_new) keyed.keys.push_back({-1, std::move(edges)});
    }
  }
  for (const KeyColumn& codes : codes_of(keyed, numbers)) {
    const Groups groups = group_rows(codes, nullptr);
    keyed.gains.push_back(gain_of(labels_, groups, smoothing_));
    keyed.values.push_back(std::ssize(groups.keys));
  }
}

void Ranking::add_columns() {
  std::vector<int64_t> lookup(schema_.columns.size(), -1);
  for (size_t f = schema_.fields.size(); f-- > 0;) {
    if (schema_.fields[f].is_lookup()) lookup[static_cast<size_t>(schema_.fields[f].column)] = static_cast<int64_t>(f);
  }
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    const bool numeric = schema_.columns[c].type == ColumnType::numeric;
    if (numeric ? columns_.has_texts() : lookup[c] >= 0) keyed_.push_back({static_cast<int64_t>(c), {}, {}, {}});
  }
  for_each_at_once(rows_.rows(), std::ssize(keyed_),
                   [&](size_t i) { fit_column(keyed_[i], lookup[static_cast<size_t>(keyed_[i].column)]); });
  for (size_t i = 0; i < keyed_.size(); ++i) {
    for (size_t k = 0; k < keyed_[i].keys.size(); ++k)
      candidates_.push_back({i, k, 0, 0, false, keyed_[i].gains[k], keyed_[i].values[k]});
  }
}

// What a pair costs at all resolutions: rows are read, and the counts of each key are gone through.
int64_t Ranking::lookups_of_pair() const {
  const int64_t keys = std::min<int64_t>(rows_.rows(), resolutions.back() * resolutions.back());
  const auto cells = static_cast<int64_t>(statistic_folds * labels_.classes);
  return std::ssize(resolutions) * (rows_.rows() + keys * cells / 8);
}

std::vector<size_t> Ranking::columns_to_pair() const {
  std::vector<size_t> order;
  for (size_t i = 0; i < keyed_.size(); ++i) {
    const int64_t values = keyed_[i].values.back();
    if (values > 1 && 2 * values <= std::max<int64_t>(rows_.rows(), 2 * resolutions.back())) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return keyed_[a].best() > keyed_[b].best(); });
  const int64_t pairs = std::min(most_pairs, most_lookups / lookups_of_pair());
  const auto bytes_of_column = static_cast<int64_t>(resolutions.size() * sizeof(int32_t)) * rows_.rows();
  size_t wanted = 1;
  while (wanted < order.size() && static_cast<int64_t>((wanted + 1) * wanted / 2) <= pairs &&
         static_cast<int64_t>(wanted + 1) * bytes_of_column <= most_code_bytes)
    ++wanted;
  if (wanted < order.size()) order.resize(wanted);
  std::sort(order.begin(), order.end());
  return order;
}

void Ranking::add_pairs() {
  const std::vector<size_t> paired = columns_to_pair();
  std::vector<std::vector<KeyColumn>> codes(paired.size());
  for_each_at_once(rows_.rows(), std::ssize(paired),
                   [&](size_t i) { codes[i] = codes_of(keyed_[paired[i]], numbers_of(keyed_[paired[i]])); });
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < paired.size(); ++i) {
    for (size_t j = i + 1; j < paired.size(); ++j) pairs.emplace_back(i, j);
  }
  std::vector<std::vector<Candidate>> found(pairs.size());
  for_each_at_once(rows_.rows(), std::ssize(pairs), [&](size_t p) {
    const auto [i, j] = pairs[p];
    const size_t levels = std::max(codes[i].size(), codes[j].size());
    for (size_t level = 0; level < levels; ++level) {
      const size_t a = std::min(level, codes[i].size() - 1), b = std::min(level, codes[j].size() - 1);
      const Groups groups = group_rows(codes[i][a], &codes[j][b]);
      const Gain gain = gain_of(labels_, groups, smoothing_);
      const bool tells_more = gain.mean > std::max(keyed_[paired[i]].best(), keyed_[paired[j]].best());
      if (tells_more) found[p].push_back({paired[i], a, paired[j], b, true, gain, std::ssize(groups.keys)});
    }
  });
  tried_ = candidates_.size() + pairs.size() * resolutions.size();
  for (const std::vector<Candidate>& of_pair : found) candidates_.insert(candidates_.end(), of_pair.begin(), of_pair.end());
}

std::vector<Candidate> Ranking::best() const {
  std::vector<Candidate> kept;
  std::copy_if(candidates_.begin(), candidates_.end(), std::back_inserter(kept),
               [&](const Candidate& candidate) { return candidate.gain.beyond_noise(std::max(tried_, candidates_.size())); });
  std::stable_sort(kept.begin(), kept.end(), [](const Candidate& a, const Candidate& b) { return a.gain.mean > b.gain.mean; });
  // Equal to the last bit: keys that map one to one, as those of a copied column.
  const auto same = [](const Candidate& a, const Candidate& b) {
    return a.gain.mean == b.gain.mean && a.gain.error == b.gain.error;
  };
  kept.erase(std::unique(kept.begin(), kept.end(), same), kept.end());
  return kept;
}

// How many statistics the inputs that a table can bear are enough for.
int64_t most_statistics(const Schema& schema, int64_t rows, const TableOptions& options) {
  const int64_t odds = schema.classes.size() == 2 ? 1 : std::min(std::ssize(schema.classes), most_classes_with_odds);
  const int64_t together =
      std::clamp(most_inputs * TableOptions{}.rows_per_input / options.rows_per_input, most_inputs, most_inputs_on_request);
  const int64_t inputs =
      std::min({together, rows / options.rows_per_input, most_input_bytes / (rows * static_cast<int64_t>(sizeof(float)))});
  return std::min(options.max_statistics, inputs / (odds + 1));
}

}  // namespace

std::vector<ChosenKey> rank_keys(Schema& schema, const EncodedTable& rows, const KeyColumns& columns, const TableOptions& options,
                                 bool with_pairs) {
  const auto most = static_cast<size_t>(most_statistics(schema, rows.rows(), options));
  if (most == 0) return {};
  Ranking ranking(schema, rows, columns, options.smoothing);
  ranking.add_columns();
  if (with_pairs) ranking.add_pairs();
  const std::vector<Candidate> best = ranking.best();
  std::vector<ChosenKey> chosen;
  int64_t counts = 0;
  const auto part = [&](size_t column, size_t index) -> KeyPart {
    const Key& key = ranking.key(column, index);
    return key.field >= 0 ? KeyPart(key.field) : part_of_cut(schema, ranking.column(column), key.edges);
  };
  for (const Candidate& candidate : best) {
    const int64_t more = candidate.values * schema.tracked_classes();
    if (chosen.size() == most || counts + more > most_counts) continue;
    counts += more;
    ChosenKey& key = chosen.emplace_back();
    key.first = part(candidate.first, candidate.first_key);
    if (candidate.pair) key.second = part(candidate.second, candidate.second_key);
  }
  return chosen;
}

}  // namespace l0gm
