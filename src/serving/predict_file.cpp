#include "serving/predict_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <thread>

#include "base/csv.h"
#include "base/csv_blocks.h"
#include "base/files.h"
#include "base/text.h"
#include "data/table/encoded.h"
#include "data/table/header_hint.h"
#include "l0gm/error.h"
#include "serving/predict_lines.h"
#include "serving/row_text.h"

namespace l0gm {
namespace {

// What a thread holds of a block (bytes, cells, probabilities, text) should stay in its cache; LibTorch and text encoders want
// long batches.
constexpr size_t small_block = 64 << 10, large_block = 1 << 20;
constexpr size_t largest_block = 64 << 20;  // a graph is best asked about all its nodes at once
constexpr int64_t most_threads = 256;

// The way of the blocks: cut off the file in order, worked on by any number of threads, written in order.
// A block with a mistake stops the cutting; those before it are worked on to the end, for theirs would be the mistake to report.
class Conveyor {
 public:
  Conveyor(CsvBlocks& blocks, AtomicFile& file, int64_t threads) : blocks_(blocks), file_(file), most_ahead_(2 * threads + 2) {}

  // The number of the block; none at the end, or after a mistake.
  std::optional<int64_t> take(CsvBlock& block);
  // How many rows are before the block, which has these; waits for the ones before it. None when one of them has a mistake.
  std::optional<int64_t> rows_before(int64_t number, int64_t rows);
  void put(int64_t number, std::string& text);
  void fail(int64_t number, std::exception_ptr error);
  int64_t finish();  // once no thread is at work: the number of rows, or throws

 private:
  CsvBlocks& blocks_;
  AtomicFile& file_;
  const int64_t most_ahead_;  // of the block to be written next: what bounds the memory
  std::mutex cutting_;        // guards blocks_ and taken_; taken before mutex_
  int64_t taken_ = 0;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  int64_t counted_ = 0, rows_ = 0, written_ = 0;
  std::map<int64_t, std::string> waiting_;  // for their turn to be written
  std::exception_ptr error_;
  int64_t error_number_ = 0;
};

std::optional<int64_t> Conveyor::take(CsvBlock& block) {
  const std::lock_guard cutting(cutting_);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return error_ != nullptr || taken_ - written_ < most_ahead_; });
    if (error_ != nullptr) return std::nullopt;
  }
  try {
    if (!blocks_.next(block)) return std::nullopt;
  } catch (...) {
    fail(taken_, std::current_exception());
    return std::nullopt;
  }
  return taken_++;
}

std::optional<int64_t> Conveyor::rows_before(int64_t number, int64_t rows) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return counted_ == number || (error_ != nullptr && error_number_ < number); });
  if (counted_ != number) return std::nullopt;
  ++counted_;
  rows_ += rows;
  changed_.notify_all();
  return rows_ - rows;
}

void Conveyor::put(int64_t number, std::string& text) {
  const std::lock_guard lock(mutex_);
  if (error_ != nullptr) return;
  if (number != written_) {
    waiting_.emplace(number, std::move(text));
    return;
  }
  file_.write(text);
  ++written_;
  for (auto next = waiting_.begin(); next != waiting_.end() && next->first == written_; next = waiting_.erase(next), ++written_) {
    file_.write(next->second);
  }
  changed_.notify_all();
}

void Conveyor::fail(int64_t number, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (error_ == nullptr || number < error_number_) {
    error_ = std::move(error);
    error_number_ = number;
  }
  changed_.notify_all();
}

int64_t Conveyor::finish() {
  const std::lock_guard lock(mutex_);
  if (error_ != nullptr) std::rethrow_exception(error_);
  return rows_;
}

// Which columns of a file are split off, each once, and where among them those are that are read and those that are kept.
struct CellPlaces {
  std::vector<int64_t> columns;
  std::vector<size_t> read, kept;
};

CellPlaces places_in(const std::vector<int64_t>& read, const std::vector<int64_t>& kept) {
  CellPlaces places;
  const auto place_of = [&](int64_t column) {
    const auto found = std::find(places.columns.begin(), places.columns.end(), column);
    const auto place = static_cast<size_t>(found - places.columns.begin());
    if (found == places.columns.end()) places.columns.push_back(column);
    return place;
  };
  for (const int64_t column : read) places.read.push_back(place_of(column));
  for (const int64_t column : kept) places.kept.push_back(place_of(column));
  return places;
}

// One thread's part.
class Worker {
 public:
  // columns: those that the predictor reads. kept: those that are written out again.
  Worker(const Predictor& predictor, const CsvBlocks& blocks, const std::vector<int64_t>& columns,
         const std::vector<int64_t>& kept, Conveyor& conveyor)
      : predictor_(predictor),
        input_(blocks.path()),
        conveyor_(conveyor),
        block_(blocks),
        places_(places_in(columns, kept)),
        splitter_(blocks, places_.columns),
        skips_blank_lines_(predictor.columns_name_rows() && blocks.names().size() == 1),
        rows_text_(predictor, kept.size()),
        counts_(predictor.empty_counts()),
        odd_(predictor) {}
  void run() {
    while (const std::optional<int64_t> number = conveyor_.take(block_)) {
      try {
        work(*number);
      } catch (...) {
        conveyor_.fail(*number, std::current_exception());
      }
    }
  }
  const InputCounts& counts() const { return counts_; }
  const OddCells& odd() const { return odd_; }

 private:
  void work(int64_t number) {
    splitter_.split(block_);
    if (places_.kept.empty()) {
      cells_.assign(splitter_.cells(), splitter_.cells() + static_cast<size_t>(splitter_.rows()) * predictor_.columns().size());
    } else {
      pick(places_.read, cells_);
      pick(places_.kept, kept_);
    }
    if (skips_blank_lines_) {
      std::erase_if(cells_, [](std::string_view cell) { return trim(cell).empty(); });
    }
    const int64_t rows = skips_blank_lines_ ? std::ssize(cells_) : splitter_.rows();
    const std::optional<int64_t> first_row = conveyor_.rows_before(number, rows);
    if (!first_row) return;
    probabilities_.resize(static_cast<size_t>(rows) * predictor_.classes().size());
    if (rows > 0) predict(rows, *first_row);
    rows_text_.write(*first_row, cells_.data(), probabilities_, rows, text_, kept_.data());
    conveyor_.put(number, text_);
  }

  // The cells at these places of each row.
  void pick(const std::vector<size_t>& places, std::vector<std::string_view>& to) const {
    to.clear();
    for (int64_t row = 0; row < splitter_.rows(); ++row) {
      const std::string_view* const cells = splitter_.cells() + static_cast<size_t>(row) * places_.columns.size();
      for (const size_t place : places) to.push_back(cells[place]);
    }
  }

  void predict(int64_t rows, int64_t first_row) {
    try {
      predictor_.predict({cells_, rows}, probabilities_, counts_);
      odd_.look({cells_, rows}, first_row, counts_);
    } catch (const RowError& error) {
      throw UserError(fmt::format("{}: row {}, counted from 0: {}", input_.string(), first_row + error.row(), error.what()));
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {} rows from line {} on: {}", input_.string(), rows, block_.first_line(), error.what()));
    }
  }

  const Predictor& predictor_;
  const std::filesystem::path& input_;
  Conveyor& conveyor_;
  CsvBlock block_;
  CellPlaces places_;
  CsvSplitter splitter_;
  bool skips_blank_lines_;  // of a file that has nothing but the names of rows
  RowText rows_text_;
  InputCounts counts_;
  OddCells odd_;
  std::vector<std::string_view> cells_, kept_;
  std::vector<float> probabilities_;
  std::string text_;
};

// The calling thread is the first of them.
void run_all(std::vector<std::unique_ptr<Worker>>& workers) {
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < workers.size(); ++i) {
    try {
      threads.emplace_back([&worker = *workers[i]] { worker.run(); });
    } catch (const std::system_error&) {
      break;  // the machine gives no more threads: those there are do it all
    }
  }
  workers.front()->run();
}

InputCounts sum_of(const Predictor& predictor, const std::vector<std::unique_ptr<Worker>>& workers) {
  InputCounts sum = predictor.empty_counts();
  for (const auto& worker : workers) {
    for (auto part : {&InputCounts::unseen, &InputCounts::unreadable, &InputCounts::missing}) {
      for (size_t i = 0; i < predictor.columns().size(); ++i) (sum.*part)[i] += (worker->counts().*part)[i];
    }
  }
  return sum;
}

OddCells first_of(const Predictor& predictor, const std::vector<std::unique_ptr<Worker>>& workers) {
  OddCells first(predictor);
  for (const auto& worker : workers) first.merge(worker->odd());
  return first;
}

std::vector<int64_t> columns_of_input(const CsvBlocks& blocks, const Predictor& predictor, char delimiter, bool header) {
  try {
    return match_columns(blocks.names(), predictor.columns());
  } catch (const UserError& error) {
    const std::string& first = predictor.columns().front();
    const HeaderWords& words = first.starts_with("column_") ? predict_words : predict_named_words;
    const std::string hint = header ? header_hint(blocks.names(), delimiter, first, words) : "";
    throw UserError(fmt::format("{}: {}{}", blocks.path().string(), error.what(), hint));
  }
}

std::vector<int64_t> kept_columns(const CsvBlocks& blocks, const std::vector<std::string>& keep) {
  std::vector<int64_t> columns;
  for (const std::string& name : keep) {
    const auto& names = blocks.names();
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw UserError(fmt::format("{}: column '{}', which is to be kept, is not in it; it has: {}.{}", blocks.path().string(),
                                  name, list_some(names), did_you_mean(name, names)));
    }
    columns.push_back(found - names.begin());
  }
  return columns;
}

void refuse_own_input(const std::filesystem::path& input, const std::filesystem::path& output) {
  std::error_code ignored;
  if (!std::filesystem::equivalent(input, output, ignored) || ignored) return;
  throw UserError(fmt::format("{} is to be read and written over: the rows would be gone. Give another file for the predictions.",
                              input.string()));
}

// Texts come in csv and tsv files by name, whatever they were trained on.
char delimiter_for(const Predictor& predictor, const std::filesystem::path& input, char wanted) {
  if (wanted != 0) return wanted;
  const char trained = predictor.delimiter();
  if (!predictor.reads_texts()) return trained;
  if (has_ending(input, ".tsv")) return '\t';
  return has_ending(input, ".csv") && trained == '\t' ? ',' : trained;
}

int64_t threads_of(const Predictor& predictor, int64_t wanted) {
  if (!predictor.concurrent() || predictor.uses_threads()) return 1;
  return std::clamp<int64_t>(wanted > 0 ? wanted : std::thread::hardware_concurrency(), 1, most_threads);
}

}  // namespace

nlohmann::json predict_file(const Predictor& predictor, const std::filesystem::path& input, const std::filesystem::path& output,
                            const PredictFileOptions& options) {
  refuse_own_input(input, output);
  if (const std::unique_ptr<LineRows> lines = open_line_rows(predictor, input)) {
    if (!options.keep.empty() || !options.header) {
      throw UserError(fmt::format("{}: columns are kept, and headers left out, in csv files only.", input.string()));
    }
    return predict_lines(predictor, *lines, output);
  }
  const auto start = std::chrono::steady_clock::now();
  const bool many_callers = predictor.concurrent() && !predictor.uses_threads();
  const size_t suitable = many_callers ? small_block : predictor.columns_name_rows() ? largest_block : large_block;
  const char delimiter = delimiter_for(predictor, input, options.delimiter);
  CsvBlocks blocks(input, delimiter, options.block_bytes > 0 ? options.block_bytes : suitable, CsvOptions{}.longest_line,
                   predictor.reads_texts(), options.header);
  const std::vector<int64_t> columns = columns_of_input(blocks, predictor, delimiter, options.header);
  const std::vector<int64_t> kept = kept_columns(blocks, options.keep);
  const int64_t threads = threads_of(predictor, options.threads);
  AtomicFile file(output);
  file.write(RowText::header(predictor, options.keep));
  Conveyor conveyor(blocks, file, threads);
  std::vector<std::unique_ptr<Worker>> workers;
  for (int64_t i = 0; i < threads; ++i) workers.push_back(std::make_unique<Worker>(predictor, blocks, columns, kept, conveyor));
  run_all(workers);
  const int64_t rows = conveyor.finish();
  if (rows == 0) throw UserError(fmt::format("{} has a header but no rows", input.string()));
  file.commit();
  return report_of_rows(predictor, rows, output, sum_of(predictor, workers), first_of(predictor, workers), threads,
                        seconds_since(start));
}

nlohmann::json predict_known(const Predictor& predictor, const std::filesystem::path& output) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<std::string> rows = predictor.known_rows();
  if (rows.empty()) throw UserError("the model knows no rows by itself: name those that are asked for");
  const std::vector<std::string_view> cells(rows.begin(), rows.end());
  std::vector<float> probabilities(rows.size() * predictor.classes().size());
  InputCounts counts = predictor.empty_counts();
  predictor.predict({cells, std::ssize(rows)}, probabilities, counts);
  AtomicFile file(output);
  file.write(RowText::header(predictor));
  std::string text;
  RowText(predictor).write(0, cells.data(), probabilities, std::ssize(rows), text);
  file.write(text);
  file.commit();
  return report_of_rows(predictor, std::ssize(rows), output, predictor.empty_counts(), OddCells(predictor), 1,
                        seconds_since(start));
}

}  // namespace l0gm
