#include "data/table/read_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/text.h"
#include "encode/table/number_text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t fewest_cells = 10;  // of fewer cells a single one is too large a share to be an accident
constexpr size_t accident = 20;      // one cell in so many may be no number

bool all_but_few(const NumberReading& reading, const Cells& cells) {
  const size_t bad = reading.unreadable.size();
  return bad == 0 || (cells.texts.size() >= fewest_cells && bad <= std::max<size_t>(1, cells.texts.size() / accident));
}

NumberReading read_as(const Cells& cells, char decimal) {
  NumberReading reading;
  reading.notation = decimal;
  reading.sorted.reserve(cells.texts.size());
  for (size_t i = 0; i < cells.texts.size(); ++i) {
    const auto value = parse_number(cells.texts[i], decimal);
    if (!value) {
      reading.unreadable.push_back(i);
    } else if (!std::isnan(*value)) {
      reading.sorted.push_back(*value + 0.0);  // -0 becomes 0: equal numbers are then the same bits
    }
  }
  std::sort(reading.sorted.begin(), reading.sorted.end());
  return reading;
}

// The plain reading, unless another one, and only that one, makes numbers of cells that are none otherwise.
NumberReading best_reading(const Cells& cells) {
  NumberReading plain = read_as(cells, 0);
  if (!plain.unreadable.empty() && parse_number(cells.texts[plain.unreadable.front()], date_notation)) {
    NumberReading dates = read_as(cells, date_notation);
    if (all_but_few(dates, cells)) return dates;
  }
  const auto may_be_number = [&](size_t i) { return cells.texts[i].find(',') != std::string_view::npos; };
  if (std::none_of(plain.unreadable.begin(), plain.unreadable.end(), may_be_number)) return plain;
  NumberReading comma = read_as(cells, ','), point = read_as(cells, '.');
  if (comma.unreadable.size() == point.unreadable.size()) return plain;
  NumberReading& better = comma.unreadable.size() < point.unreadable.size() ? comma : point;
  const bool gains = better.unreadable.size() < plain.unreadable.size() && all_but_few(better, cells);
  return std::move(gains ? better : plain);
}

// Whether those cells are numbers with decimal commas as well as with commas between thousands.
bool read_both_ways(const Cells& cells, const NumberReading& plain) {
  return std::all_of(plain.unreadable.begin(), plain.unreadable.end(),
                     [&](size_t i) { return parse_number(cells.texts[i], ',') && parse_number(cells.texts[i], '.'); });
}

// "'24"' in bank.csv: line 17"
std::string first_of(const Cells& cells, const NumberReading& reading, const RowPlaces& places) {
  const size_t i = reading.unreadable.front();
  return fmt::format("'{}' in {}", cells.texts[i], places.of(cells.rows[i]));
}

// How to read numbers that are written otherwise, where the cell looks like one.
std::string decimal_remedy(const std::string& name, const Cells& cells, const NumberReading& reading) {
  const std::string_view cell = cells.texts[reading.unreadable.front()];
  const bool like_a_number = cell.find_first_of(",.") != std::string_view::npos && cell.find_first_of("0123456789") == 0;
  return like_a_number
             ? fmt::format(" columns.{}.decimal = \",\" reads 1.234,5, columns.{}.decimal = \".\" reads 1,234.5.", name, name)
             : "";
}

void refuse_infinite(const std::string& name, const Cells& cells, const NumberReading& reading, const RowPlaces& places) {
  const auto is_infinite = [](double value) { return std::isinf(value); };
  if (std::none_of(reading.sorted.begin(), reading.sorted.end(), is_infinite)) return;
  const auto at = std::find_if(cells.texts.begin(), cells.texts.end(), [&](std::string_view text) {
    const auto value = parse_number(text, reading.notation);
    return value && std::isinf(*value);
  });
  const auto i = static_cast<size_t>(at - cells.texts.begin());
  throw UserError(
      fmt::format("{}, column '{}': '{}' is infinite, wanted finite numbers. Correct it, add it to "
                  "columns.{}.missing, or set columns.{}.type = \"categorical\".",
                  places.of(cells.rows[i]), name, *at, name, name));
}

void refuse_texts(const std::string& name, const Cells& cells, const NumberReading& reading, const RowPlaces& places) {
  const size_t i = reading.unreadable.front();
  throw UserError(
      fmt::format("{}, column '{}': '{}' is not a number, and {} of its {} cells are none, though the column is to be numeric. "
                  "Correct them, add them to columns.{}.missing, or leave the type out.{}",
                  places.of(cells.rows[i]), name, cells.texts[i], with_thousands(std::ssize(reading.unreadable)),
                  with_thousands(std::ssize(cells.texts)), name, decimal_remedy(name, cells, reading)));
}

void warn_of_texts(const std::string& name, const Cells& cells, const NumberReading& reading, const RowPlaces& places) {
  log_warning(fmt::format(
      "column '{}' is taken as categories though most of its cells are numbers: {} of {} are not, the first is {}. Set "
      "columns.{}.type = \"numeric\" to count those as missing, or \"categorical\" to say that it is meant so.{}",
      name, with_thousands(std::ssize(reading.unreadable)), with_thousands(std::ssize(cells.texts)),
      first_of(cells, reading, places), name, decimal_remedy(name, cells, reading)));
}

}  // namespace

std::optional<NumberReading> read_numbers(const std::string& name, const Cells& cells, const ColumnRequest& request,
                                          const TableOptions& options, const RowPlaces& places) {
  const char decimal = decimal_of(request, options);
  NumberReading reading = decimal != 0 ? read_as(cells, decimal) : best_reading(cells);
  const bool most_are_texts = 2 * reading.unreadable.size() > cells.texts.size();
  if (request.type == "numeric") {
    if (most_are_texts) refuse_texts(name, cells, reading, places);
  } else if (!all_but_few(reading, cells)) {
    if (!most_are_texts && cells.texts.size() >= fewest_cells) warn_of_texts(name, cells, reading, places);
    if (most_are_texts && request.type.empty() && read_both_ways(cells, reading)) {
      log_warning(fmt::format("column '{}' is taken as texts: {} may have a decimal comma, or a comma between thousands.{}", name,
                              first_of(cells, reading, places), decimal_remedy(name, cells, reading)));
    }
    return std::nullopt;
  }
  refuse_infinite(name, cells, reading, places);
  return reading;
}

void warn_of_reading(const std::string& name, const Cells& cells, const ColumnRequest& request, const NumberReading& reading,
                     const RowPlaces& places) {
  if (reading.notation == date_notation) {
    log_info(fmt::format("column '{}': dates, read as days; columns.{}.type = \"categorical\" keeps them as texts", name, name));
  } else if (reading.notation != 0 && request.options.decimal.empty()) {
    log_warning(fmt::format("column '{}': its numbers are read as {}; columns.{}.decimal says otherwise", name,
                            reading.notation == ',' ? "1.234,5, with a decimal comma" : "1,234.5, with commas between thousands",
                            name));
  }
  if (reading.unreadable.empty()) return;
  const bool given = request.type == "numeric";
  log_warning(
      fmt::format("column '{}': {} of {} cells are not numbers and count as missing, the first is {}. Correct them{}.{}", name,
                  with_thousands(std::ssize(reading.unreadable)), with_thousands(std::ssize(cells.texts)),
                  first_of(cells, reading, places),
                  given ? "" : fmt::format(", or set columns.{}.type = \"categorical\" to keep all cells as categories", name),
                  decimal_remedy(name, cells, reading)));
}

}  // namespace l0gm
