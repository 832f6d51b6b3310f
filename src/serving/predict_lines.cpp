#include "serving/predict_lines.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/line_reader.h"
#include "data/text/json_lines.h"
#include "l0gm/error.h"
#include "serving/row_text.h"

namespace l0gm {
namespace {

constexpr size_t block_bytes = 1 << 20;  // of cells that are predicted together
constexpr int64_t block_rows = 1 << 16;

class JsonLineRows : public LineRows {
 public:
  JsonLineRows(const std::filesystem::path& path, const Predictor& predictor)
      : path_(path), texts_(predictor.reads_texts()), lines_(path, predictor.columns()) {}
  bool next(std::vector<std::string_view>& cells) override {
    if (!lines_.next()) return false;
    cells.clear();
    for (size_t i = 0; i < lines_.count(); ++i) cells.push_back(texts_ ? lines_.text(i) : lines_.scalar(i));
    return true;
  }
  const std::filesystem::path& path() const override { return path_; }

 private:
  std::filesystem::path path_;
  bool texts_;
  JsonLines lines_;
};

class PlainLines : public LineRows {
 public:
  explicit PlainLines(const std::filesystem::path& path) : reader_(path) {}
  bool next(std::vector<std::string_view>& cells) override {
    std::string_view line;
    if (!reader_.next(line)) return false;
    if (reader_.line() == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    cells.assign(1, line);
    return true;
  }
  const std::filesystem::path& path() const override { return reader_.path(); }

 private:
  LineReader reader_;
};

// Cells of several rows, copied: their places are known only when the last one is there.
class Block {
 public:
  void add(const std::vector<std::string_view>& cells) {
    for (const std::string_view cell : cells) {
      bytes_.append(cell);
      ends_.push_back(bytes_.size());
    }
    ++rows_;
  }
  bool full() const { return bytes_.size() >= block_bytes || rows_ >= block_rows; }
  int64_t rows() const { return rows_; }
  std::vector<std::string_view> cells() const {
    std::vector<std::string_view> cells;
    size_t begin = 0;
    for (const size_t end : ends_) {
      cells.emplace_back(bytes_.data() + begin, end - begin);
      begin = end;
    }
    return cells;
  }
  void clear() {
    bytes_.clear();
    ends_.clear();
    rows_ = 0;
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
  int64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<LineRows> open_line_rows(const Predictor& predictor, const std::filesystem::path& input) {
  if (has_ending(input, ".jsonl")) return std::make_unique<JsonLineRows>(input, predictor);
  if (predictor.reads_texts() && has_ending(input, ".txt")) return std::make_unique<PlainLines>(input);
  return nullptr;
}

nlohmann::json predict_lines(const Predictor& predictor, LineRows& lines, const std::filesystem::path& output) {
  const auto start = std::chrono::steady_clock::now();
  AtomicFile file(output);
  file.write(RowText::header(predictor));
  const RowText rows_text(predictor);
  InputCounts counts = predictor.empty_counts();
  OddCells odd(predictor);
  Block block;
  int64_t rows = 0;
  std::string text;
  const auto work = [&] {
    const std::vector<std::string_view> cells = block.cells();
    std::vector<float> probabilities(static_cast<size_t>(block.rows()) * predictor.classes().size());
    try {
      predictor.predict({cells, block.rows()}, probabilities, counts);
    } catch (const RowError& error) {
      throw UserError(fmt::format("{}: row {}, counted from 0: {}", lines.path().string(), rows + error.row(), error.what()));
    } catch (const UserError& error) {
      throw UserError(fmt::format("{}: {} rows from row {} on: {}", lines.path().string(), block.rows(), rows, error.what()));
    }
    odd.look({cells, block.rows()}, rows, counts);
    rows_text.write(rows, cells.data(), probabilities, block.rows(), text);
    file.write(text);
    rows += block.rows();
    block.clear();
  };
  for (std::vector<std::string_view> cells; lines.next(cells);) {
    block.add(cells);
    if (block.full()) work();
  }
  if (block.rows() > 0) work();
  if (rows == 0) throw UserError(fmt::format("{} has no rows", lines.path().string()));
  file.commit();
  return report_of_rows(predictor, rows, output, counts, odd, 1, seconds_since(start));
}

}  // namespace l0gm
