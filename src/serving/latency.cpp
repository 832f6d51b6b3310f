#include "serving/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/text.h"
#include "data/table/encoded.h"
#include "encode/table/number_text.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"
#include "runtime/compact_file.h"
#include "serving/text_latency.h"

namespace l0gm {
namespace {

constexpr int64_t fewest_rows = 2048;  // to take batches from: enough that no branch predictor memorises them
constexpr int64_t most_batch = 1 << 20;
constexpr double shortest_run_us = 20;  // a thousand times what reading the clock takes
constexpr double share_missing = 0.02;
constexpr uint64_t seed_of_rows = 1;

double microseconds_of(const std::function<void(int64_t)>& work, int64_t calls, const MicrosecondClock& clock) {
  const double start = clock();
  work(calls);
  return clock() - start;
}

// A value that the column's own fields know, where there is one: most cells of real rows are such.
std::string made_cell(const Schema& schema, size_t column, RandomStream& random) {
  const Column& its = schema.columns[column];
  if (its.type == ColumnType::numeric) {
    const double value = its.low + (its.high - its.low) * random.uniform();
    return number_text(its.integral ? std::round(value) : value, its.notation);
  }
  for (const Field& field : schema.fields) {
    if (field.column != static_cast<int64_t>(column) || field.kind == FieldKind::statistic) continue;
    if (field.kind == FieldKind::hashed) return fmt::format("value {}", random.below(static_cast<uint64_t>(field.buckets)));
    if (field.vocabulary.empty()) break;
    std::string text = field.vocabulary[random.below(field.vocabulary.size())];
    for (uint64_t more = field.slots > 1 ? random.below(3) : 0; more > 0; --more) {
      text += field.separator;
      text += field.vocabulary[random.below(field.vocabulary.size())];
    }
    return text;
  }
  return "value";
}

std::vector<double> numbers_of(const CompactModel& model, const Schema& schema, const std::vector<std::string>& cells) {
  std::vector<MissingMarks> marks;
  for (const Column& column : schema.columns) marks.emplace_back(schema.missing_marks, column.missing_marks);
  std::vector<double> numbers;
  numbers.reserve(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = i % schema.columns.size();
    if (!model.is_numeric(column)) {
      numbers.push_back(model.code(column, cells[i]));
      continue;
    }
    const bool missing = marks[column].contains(trim(cells[i]));
    numbers.push_back(
        missing ? std::numeric_limits<double>::quiet_NaN()
                : parse_number(cells[i], schema.columns[column].notation).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return numbers;
}

// Times predict() on batches that walk through the rows from the first to the last, again and again.
template <class Cell>
nlohmann::json times_of(const CompactModel& model, const char* input, const std::vector<Cell>& cells, int64_t batch,
                        const LatencyOptions& options) {
  const size_t classes = model.classes().size(), width = model.columns().size(), rows = cells.size() / width;
  std::vector<float> probabilities(static_cast<size_t>(batch) * classes);
  size_t row = 0;
  const auto work = [&](int64_t calls) {
    for (; calls > 0; --calls) {
      if (row + static_cast<size_t>(batch) > rows) row = 0;
      model.predict(std::span<const Cell>(cells.data() + row * width, static_cast<size_t>(batch) * width), probabilities);
      row += static_cast<size_t>(batch);
    }
  };
  const CallTimes times = time_calls(work, options.runs, options.warmup);
  const auto examples = static_cast<double>(batch);
  return {{"input", input},
          {"batch", batch},
          {"median_us", times.median_us / examples},
          {"p99_us", times.p99_us / examples},
          {"calls_per_run", times.calls}};
}

void check(const LatencyOptions& options) {
  if (options.batches.empty()) throw UserError("no batch size is given; wanted one or more, e.g. --batch 1,64,1024");
  for (const int64_t batch : options.batches) {
    if (batch >= 1 && batch <= most_batch) continue;
    throw UserError(fmt::format("a batch of {} rows; wanted 1 to {}", batch, with_thousands(most_batch)));
  }
  if (options.runs < 1 || options.warmup < 0) {
    throw UserError(fmt::format("{} runs after {} to warm up; wanted at least 1 and 0", options.runs, options.warmup));
  }
  if (options.threads < 1 || options.threads > 1024)
    throw UserError(fmt::format("{} threads; wanted 1 to 1024", options.threads));
}

}  // namespace

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  const size_t at = std::clamp<size_t>(rank, 1, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

double steady_microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

CallTimes time_calls(const std::function<void(int64_t)>& work, int64_t runs, int64_t warmup, const MicrosecondClock& clock) {
  CallTimes times;
  for (int64_t i = 0; i < warmup; ++i) work(1);
  // The fastest of three: one that was interrupted says nothing about the work.
  const auto one_run = [&] { return microseconds_of(work, times.calls, clock); };
  const auto fastest = [&] { return std::min({one_run(), one_run(), one_run()}); };
  while (times.calls < (1 << 20) && fastest() < shortest_run_us) times.calls *= 2;
  std::vector<double> together, single;
  for (int64_t i = 0; i < runs; ++i) together.push_back(one_run() / static_cast<double>(times.calls));
  for (int64_t i = 0; times.calls > 1 && i < runs; ++i) single.push_back(microseconds_of(work, 1, clock));
  times.p99_us = percentile(times.calls > 1 ? single : together, 0.99);
  times.median_us = percentile(std::move(together), 0.5);
  return times;
}

std::vector<std::string> made_cells(const Schema& schema, int64_t rows, uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::string> cells;
  cells.reserve(static_cast<size_t>(rows) * schema.columns.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < schema.columns.size(); ++column) {
      const bool missing = random.uniform() < share_missing && !schema.missing_marks.empty();
      cells.push_back(missing ? schema.missing_marks.front() : made_cell(schema, column, random));
    }
  }
  return cells;
}

std::vector<std::string> cells_of_file(const std::filesystem::path& path, char delimiter, const Schema& schema, int64_t rows) {
  CsvOptions options;
  options.delimiter = delimiter;
  CsvReader reader(path, options);
  const std::vector<int64_t> columns = match_columns(reader.names(), schema);
  std::vector<std::string> result;
  std::vector<std::string_view> cells;
  int64_t read = 0;
  for (; read < rows && reader.next(cells); ++read) {
    for (const int64_t column : columns) result.emplace_back(cells[static_cast<size_t>(column)]);
  }
  if (read == 0) throw UserError(fmt::format("{} has a header but no rows", path.string()));
  return result;
}

nlohmann::json measure_latency(const std::filesystem::path& path, const LatencyOptions& options) {
  check(options);
  if (Container::kind_of(path) == "text") return measure_text_latency(path, options);
  const CompactHeader header = read_compact(path).header;
  const CompactModel model =
      CompactModel::load(path, {.threads = static_cast<int>(options.threads), .calibrated = options.calibrated});
  const Schema& schema = header.schema;
  if (schema.columns.empty()) throw UserError(fmt::format("{} reads no column: there is nothing to measure", path.string()));
  const int64_t rows = std::max(fewest_rows, *std::max_element(options.batches.begin(), options.batches.end()));
  std::vector<std::string> cells =
      options.input.empty()
          ? made_cells(schema, rows, seed_of_rows)
          : cells_of_file(options.input, options.delimiter != 0 ? options.delimiter : header.delimiter, schema, rows);
  const size_t given = cells.size(), wanted = static_cast<size_t>(rows) * schema.columns.size();
  cells.reserve(wanted);                                                       // the copies below must not move what they copy
  while (cells.size() < wanted) cells.push_back(cells[cells.size() - given]);  // a short file is read again
  const std::vector<std::string_view> texts(cells.begin(), cells.end());
  const std::vector<double> numbers = numbers_of(model, schema, cells);
  nlohmann::json results = nlohmann::json::array();
  Progress progress("measuring", 2 * std::ssize(options.batches));
  for (const int64_t batch : options.batches) {
    progress.update(std::ssize(results), fmt::format("batch {}", batch));
    results.push_back(times_of(model, "numbers", numbers, batch, options));
    results.push_back(times_of(model, "text", texts, batch, options));
  }
  return {{"model", path.string()},
          {"columns", schema.columns.size()},
          {"classes", schema.classes.size()},
          {"memory_bytes", model.memory_bytes()},
          {"threads", options.threads},
          {"calibrated", options.calibrated},
          {"rows_from", options.input.empty() ? "schema" : options.input.string()},
          {"runs", options.runs},
          {"warmup", options.warmup},
          {"results", results}};
}

std::string describe_latency(const nlohmann::json& measured) {
  if (measured.value("kind", "") == "text") return describe_text_latency(measured);
  std::string text =
      fmt::format("{}: {} columns, {} thread{}, microseconds per example\n{:<9}{:>8}{:>12}{:>12}\n",
                  measured["model"].get<std::string>(), measured["columns"].get<int64_t>(), measured["threads"].get<int64_t>(),
                  measured["threads"] == 1 ? "" : "s", "rows of", "batch", "median", "p99");
  for (const auto& result : measured["results"]) {
    text += fmt::format("{:<9}{:>8}{:>12.4f}{:>12.4f}\n", result["input"].get<std::string>(), result["batch"].get<int64_t>(),
                        result["median_us"].get<double>(), result["p99_us"].get<double>());
  }
  return text;
}

}  // namespace l0gm
