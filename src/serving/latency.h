#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "encode/table/schema.h"

namespace l0gm {

struct LatencyOptions {
  std::vector<int64_t> batches = {1, 64, 1024};  // rows of one call
  int64_t threads = 1;                           // that one call may use
  int64_t runs = 200, warmup = 50;               // measured; before them, not measured
  std::filesystem::path input;                   // a table to take rows from; empty: rows are made from the schema
  char delimiter = 0;                            // of the input; 0: as in training
  bool calibrated = false;
  std::vector<int64_t> tokens = {64, 256};  // of a text that is made, special ones included; text models only
};

// Microseconds per example of a compact model through its public interface: median and 99th percentile, per batch, for rows of
// numbers and rows of text. {model, columns, classes, memory_bytes, threads, calibrated, rows_from, runs, warmup, results:
// [{input, batch, median_us, p99_us, calls_per_run}]}. UserError when an option or the input will not do. A text model:
// text_latency.h.
nlohmann::json measure_latency(const std::filesystem::path& model, const LatencyOptions& options);
std::string describe_latency(const nlohmann::json& measured);  // as a table

// The parts of it:

struct CallTimes {
  double median_us = 0;  // per call; of runs of so many calls in a row that the clock's own time does not show
  double p99_us = 0;     // of calls that were timed one by one
  int64_t calls = 1;     // in one run
};
// `work(n)` makes n calls. `clock`: microseconds since any fixed moment.
using MicrosecondClock = std::function<double()>;
double steady_microseconds();
CallTimes time_calls(const std::function<void(int64_t)>& work, int64_t runs, int64_t warmup,
                     const MicrosecondClock& clock = steady_microseconds);

// The smallest value that at least this share of the values does not exceed.
double percentile(std::vector<double> values, double share);

// Cells of rows as a file might have them, row after row: numbers of a column's range, words of its vocabulary, about one in
// fifty missing.
std::vector<std::string> made_cells(const Schema& schema, int64_t rows, uint64_t seed);
// The first rows of a table; UserError when it lacks a column or has no rows.
std::vector<std::string> cells_of_file(const std::filesystem::path& path, char delimiter, const Schema& schema, int64_t rows);

}  // namespace l0gm
