#include "data/table/wishes.h"

#include <fmt/format.h>

#include <algorithm>

#include "encode/table/cell_text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

bool asks_for_numbers(const ColumnOptions& options) {
  return !options.encoding.empty() || options.bins > 0 || options.exact_values.has_value();
}

void check_names(const std::string& name, const Wish& wish) {
  const auto& known = enum_names<ColumnType>;
  if (!wish.type.empty() && std::find(known.begin(), known.end(), wish.type) == known.end()) {
    throw UserError(
        fmt::format("column '{}': type '{}' is not known; use categorical, numeric, multi or ignore", name, wish.type));
  }
  const std::string& encoding = wish.options.encoding;
  if (!encoding.empty() && encoding != "piecewise" && encoding != "plain" && encoding != "periodic") {
    throw UserError(fmt::format("columns.{}.encoding is '{}'; use piecewise, plain or periodic", name, encoding));
  }
  const std::string& separator = wish.options.separator;
  if (!separator.empty() && (separator.size() != 1 || !can_separate(separator[0]))) {
    throw UserError(
        fmt::format("columns.{}.separator is '{}'; wanted one ASCII character that is no quote and no line end, as | or ;", name,
                    separator));
  }
}

}  // namespace

Wish wish_for(const std::string& name, const std::map<std::string, ColumnOptions>& column_options,
              const std::map<std::string, std::string>& types) {
  Wish wish;
  if (const auto found = column_options.find(name); found != column_options.end()) wish.options = found->second;
  wish.type = wish.options.type;
  if (const auto found = types.find(name); found != types.end() && !found->second.empty()) {
    if (!wish.type.empty() && wish.type != found->second) {
      throw UserError(fmt::format("column '{}': data.types says '{}', columns.{}.type says '{}'. Keep one of them.", name,
                                  found->second, name, wish.type));
    }
    wish.type = found->second;
  }
  check_names(name, wish);
  if (!wish.type.empty()) return wish;
  if (!wish.options.separator.empty()) {
    wish.type = "multi";
  } else if (wish.options.hash_buckets > 0) {
    wish.type = "categorical";
  } else if (asks_for_numbers(wish.options)) {
    wish.type = "numeric";
  }
  return wish;
}

void check_wish(const std::string& name, const Wish& wish, ColumnType type, const TableOptions& options) {
  const auto refuse = [&](std::string_view what, ColumnType wanted) {
    throw UserError(fmt::format("columns.{}.{} for {} columns, this one is {}; take it away or set columns.{}.type = \"{}\"",
                                name, what, name_of_enum(wanted), name_of_enum(type), name, name_of_enum(wanted)));
  };
  if (type != ColumnType::numeric && asks_for_numbers(wish.options))
    refuse("encoding, .bins and .exact_values are", ColumnType::numeric);
  if (type != ColumnType::categorical && wish.options.hash_buckets > 0) refuse("hash_buckets is", ColumnType::categorical);
  if (type != ColumnType::multi && !wish.options.separator.empty()) refuse("separator is", ColumnType::multi);
  if (wish.options.hash_buckets > 0 && wish.options.min_count > 0) {
    throw UserError(
        fmt::format("columns.{}.min_count is for columns that keep a vocabulary, this one is hashed; "
                    "take it or columns.{}.hash_buckets away",
                    name, name));
  }
  if (type == ColumnType::numeric && wish.options.min_count > 0 && exact_values_of(wish, options) == ExactValues::off) {
    throw UserError(
        fmt::format("columns.{}.min_count is for categories and exact values, but this column is numeric and its exact "
                    "values are off; take it away or set columns.{}.exact_values = \"auto\"",
                    name, name));
  }
}

int64_t min_count_of(const Wish& wish, const TableOptions& options, int64_t by_default) {
  if (wish.options.min_count > 0) return wish.options.min_count;
  return options.min_count > 0 ? options.min_count : by_default;
}

ExactValues exact_values_of(const Wish& wish, const TableOptions& options) {
  return wish.options.exact_values.value_or(options.exact_values);
}

char separator_of(const Wish& wish) { return wish.options.separator.empty() ? '|' : wish.options.separator[0]; }

}  // namespace l0gm
