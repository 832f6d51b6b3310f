#include "data/table/column_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "encode/table/cell_text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

bool asks_for_numbers(const ColumnOptions& options) {
  return !options.encoding.empty() || options.bins > 0 || options.exact_values.has_value() || !options.decimal.empty();
}

void check_names(const std::string& name, const ColumnRequest& request) {
  const auto& known = enum_names<ColumnType>;
  if (!request.type.empty() && std::find(known.begin(), known.end(), request.type) == known.end()) {
    throw UserError(
        fmt::format("column '{}': type '{}' is not known; use categorical, numeric, multi or ignore", name, request.type));
  }
  const std::string& encoding = request.options.encoding;
  if (!encoding.empty() && encoding != "piecewise" && encoding != "plain" && encoding != "periodic") {
    throw UserError(fmt::format("columns.{}.encoding is '{}'; use piecewise, plain or periodic", name, encoding));
  }
  const std::string& separator = request.options.separator;
  if (!separator.empty() && (separator.size() != 1 || !can_separate(separator[0]))) {
    throw UserError(
        fmt::format("columns.{}.separator is '{}'; wanted one ASCII character other than a quote or line break, such as | or ;",
                    name, separator));
  }
}

}  // namespace

ColumnRequest column_request(const std::string& name, const std::map<std::string, ColumnOptions>& column_options,
                             const std::map<std::string, std::string>& types) {
  ColumnRequest request;
  if (const auto found = column_options.find(name); found != column_options.end()) request.options = found->second;
  request.type = request.options.type;
  if (const auto found = types.find(name); found != types.end() && !found->second.empty()) {
    if (!request.type.empty() && request.type != found->second) {
      throw UserError(fmt::format("column '{}': data.types says '{}', columns.{}.type says '{}'. Keep one of them.", name,
                                  found->second, name, request.type));
    }
    request.type = found->second;
  }
  check_names(name, request);
  if (!request.type.empty()) return request;
  if (!request.options.separator.empty()) {
    request.type = "multi";
  } else if (request.options.hash_buckets > 0) {
    request.type = "categorical";
  } else if (asks_for_numbers(request.options)) {
    request.type = "numeric";
  }
  return request;
}

void check_column_request(const std::string& name, const ColumnRequest& request, ColumnType type, const TableOptions& options) {
  const auto refuse = [&](std::string_view what, ColumnType wanted) {
    throw UserError(fmt::format("columns.{}.{} for {} columns, this one is {}; remove it or set columns.{}.type = \"{}\"", name,
                                what, name_of_enum(wanted), name_of_enum(type), name, name_of_enum(wanted)));
  };
  if (type != ColumnType::numeric && asks_for_numbers(request.options))
    refuse("encoding, .bins, .exact_values and .decimal are", ColumnType::numeric);
  if (type != ColumnType::categorical && request.options.hash_buckets > 0) refuse("hash_buckets is", ColumnType::categorical);
  if (type != ColumnType::multi && !request.options.separator.empty()) refuse("separator is", ColumnType::multi);
  if (request.options.hash_buckets > 0 && request.options.min_count > 0) {
    throw UserError(
        fmt::format("columns.{}.min_count is for columns that keep a vocabulary, this one is hashed; "
                    "remove it or columns.{}.hash_buckets",
                    name, name));
  }
  if (type == ColumnType::numeric && request.options.min_count > 0 && exact_values_of(request, options) == ExactValues::off) {
    throw UserError(
        fmt::format("columns.{}.min_count is for categories and exact values, but this column is numeric and its exact "
                    "values are off; remove it or set columns.{}.exact_values = \"auto\"",
                    name, name));
  }
}

int64_t min_count_of(const ColumnRequest& request, const TableOptions& options, int64_t by_default) {
  if (request.options.min_count > 0) return request.options.min_count;
  return options.min_count > 0 ? options.min_count : by_default;
}

ExactValues exact_values_of(const ColumnRequest& request, const TableOptions& options) {
  return request.options.exact_values.value_or(options.exact_values);
}

char decimal_of(const ColumnRequest& request, const TableOptions& options) {
  const std::string& decimal = request.options.decimal.empty() ? options.decimal : request.options.decimal;
  if (decimal.empty()) return 0;
  if (decimal == "." || decimal == ",") return decimal[0];
  throw UserError(fmt::format("{}.decimal is '{}'; wanted . for 1,234.5 or , for 1.234,5",
                              request.options.decimal.empty() ? "table" : "a column's", decimal));
}

char separator_of(const ColumnRequest& request) { return request.options.separator.empty() ? '|' : request.options.separator[0]; }

}  // namespace l0gm
