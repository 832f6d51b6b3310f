#include "encoders/table/serving_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace l0gm {

namespace {

constexpr double rows_of_a_number = 1.5;  // that are added: a known value's one, or a bin's and its direction's

const Statistic& statistic_of(const Schema& schema, const Field& field) {
  return schema.statistics[static_cast<size_t>(field.statistic)];
}

std::string name_of_part(const Schema& schema, const KeyPart& part) {
  const std::string& column = schema.columns[static_cast<size_t>(schema.column_of(part))].name;
  return part.cut < 0 ? column : fmt::format("{} in {}", column, schema.cuts[static_cast<size_t>(part.cut)].rows() - 1);
}

// What the fields of one column add to the first layer, once each: a code's row; a number's, which hold its exact value as well.
double rows_added(const Schema& schema, size_t column) {
  double rows = 0;
  for (const Field& field : schema.fields) {
    if (field.column != static_cast<int64_t>(column) || field.kind == FieldKind::statistic) continue;
    const bool number = schema.columns[column].type == ColumnType::numeric;
    rows = std::max(rows, field.kind == FieldKind::multi ? static_cast<double>(field.slots) : number ? rows_of_a_number : 1.0);
  }
  return rows;
}

// Collects costs of sources; a part is what some of them share.
class Collector {
 public:
  Collector(const Schema& schema, int64_t sources, const ServingPrices& prices) : schema_(schema), prices_(prices) {
    costs_.own.assign(static_cast<size_t>(sources), 0);
    costs_.parts_of.resize(static_cast<size_t>(sources));
    for (const Column& column : schema.columns)
      costs_.parts.push_back(column.type == ColumnType::numeric ? prices.number : prices.code);
    costs_.parts.insert(costs_.parts.end(), schema.cuts.size(), prices.cut);
  }
  void add(int64_t source, double cost) { costs_.own[static_cast<size_t>(source)] += cost; }
  void needs_column(int64_t source, int64_t column) { needs(source, column); }
  void needs_key(int64_t source, const KeyPart& key) {
    if (key.empty()) return;
    needs_column(source, schema_.column_of(key));
    if (key.cut >= 0) needs(source, std::ssize(schema_.columns) + key.cut);
  }
  const SharedCosts& costs() const { return costs_; }

 private:
  void needs(int64_t source, int64_t part) {
    std::vector<int64_t>& parts = costs_.parts_of[static_cast<size_t>(source)];
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  const Schema& schema_;
  const ServingPrices& prices_;
  SharedCosts costs_;
};

}  // namespace

ServingPrices fitted_prices() {
  ServingPrices prices;
  prices.row = 25;
  prices.code = 2.5;
  prices.number = 7;
  prices.cut = 7;
  prices.look_up = 8;
  prices.add = 0.06;
  prices.product = 0.025;
  prices.pair = 0.05;
  return prices;
}

bool is_held_by_table(const Schema& schema, const Field& field) {
  if (field.kind != FieldKind::statistic) return false;
  const Statistic& statistic = statistic_of(schema, field);
  return !statistic.of_pair() && statistic.first.cut < 0;
}

LookUps look_ups_of(const Schema& schema) {
  LookUps found;
  for (const Column& column : schema.columns) found.names.push_back(column.name);
  std::map<int64_t, int64_t> of_statistic;
  for (const Field& field : schema.fields) {
    if (field.kind != FieldKind::statistic || is_held_by_table(schema, field)) {
      found.of_field.push_back(field.column);
      continue;
    }
    const auto [place, is_new] = of_statistic.try_emplace(field.statistic, std::ssize(found.names));
    if (is_new) {
      const Statistic& statistic = statistic_of(schema, field);
      std::string name = "statistic of " + name_of_part(schema, statistic.first);
      if (statistic.of_pair()) name += " x " + name_of_part(schema, statistic.second);
      found.names.push_back(std::move(name));
    }
    found.of_field.push_back(place->second);
  }
  return found;
}

ServingCosts serving_costs(const Schema& schema, const std::vector<int64_t>& source_of_field, int64_t sources,
                           const ServedShape& shape, const ServingPrices& prices) {
  Collector collector(schema, sources, prices);
  const double row = static_cast<double>(shape.sums) * prices.add;
  const auto embedded = static_cast<double>(std::count_if(schema.fields.begin(), schema.fields.end(),
                                                          [](const Field& field) { return field.kind != FieldKind::statistic; }));
  std::vector<bool> column_added(schema.columns.size(), false), looked_up(schema.statistics.size(), false);
  for (size_t f = 0; f < schema.fields.size(); ++f) {
    const Field& field = schema.fields[f];
    const int64_t source = source_of_field[f];
    if (field.kind != FieldKind::statistic) {
      const auto column = static_cast<size_t>(field.column);
      collector.needs_column(source, field.column);
      if (!column_added[column]) collector.add(source, row * rows_added(schema, column));
      column_added[column] = true;
      collector.add(source, shape.grid_products * prices.pair / embedded);
      continue;
    }
    if (is_held_by_table(schema, field)) continue;
    const Statistic& statistic = statistic_of(schema, field);
    collector.needs_key(source, statistic.first);
    collector.needs_key(source, statistic.second);
    const auto s = static_cast<size_t>(field.statistic);
    if (!looked_up[s]) collector.add(source, prices.look_up);
    looked_up[s] = true;
    collector.add(source, row);
  }
  return {collector.costs(), prices.row + shape.products * prices.product};
}

}  // namespace l0gm
