#include "runtime/model_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "runtime/desk.h"

namespace l0gm {
namespace {

constexpr size_t most_desk_bytes = size_t{1} << 30, most_bytes_of_all_desks = size_t{1} << 28;
constexpr size_t most_block_bytes = size_t{1} << 20;  // of codes and slopes: rows of very many codes go fewer at a time
constexpr int most_threads = 1024;

int checked_threads(int threads) {
  if (threads >= 1 && threads <= most_threads) return threads;
  throw UserError(fmt::format("a call cannot use {} threads; choose 1 to {}", threads, most_threads));
}

}  // namespace

ModelState::ModelState(CompactFile file, CompactModel::Options options)
    : manifest_(std::move(file.manifest)),
      calibrator_(std::move(file.header.calibrator)),
      delimiter_(file.header.delimiter),
      encoder_(std::move(file.header.schema)),
      program_(std::move(file.net)),
      code_slots_(schema().code_slots()),
      slope_slots_(schema().slope_slots()),
      logits_(program_.net().logits()),
      class_count_(static_cast<int64_t>(schema().classes.size())),
      calibrated_(options.calibrated && calibrator_.kind != CalibratorKind::none),
      shape_(shape_of(schema(), program_)) {
  const int threads = checked_threads(options.threads);
  for (const Column& column : schema().columns) columns_.push_back(column.name);
  fill_desks(threads);
  if (threads > 1) threads_ = std::make_unique<ThreadPool>(threads - 1);
}

ModelState::~ModelState() = default;

ModelState::Shape ModelState::shape_of(const Schema& schema, const TableProgram& program) {
  Shape shape;
  const auto slots = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  const size_t row_bytes = slots(schema.code_slots()) + slots(schema.slope_slots());
  shape.block =
      std::clamp<int64_t>(static_cast<int64_t>(most_block_bytes / std::max<size_t>(row_bytes, 1)), 1, TableProgram::block_rows);
  size_t end = 0;
  const auto place = [&end](size_t bytes) {  // every part begins on a cache line
    const size_t begin = end;
    end = (end + bytes + 63) / 64 * 64;
    return begin;
  };
  place(slots(shape.block * schema.code_slots()));
  shape.slopes = place(slots(shape.block * schema.slope_slots()));
  shape.logits = place(slots(shape.block * program.net().logits()));
  shape.row = place(schema.classes.size() * sizeof(double));
  shape.cells = place(schema.columns.size() * sizeof(std::string_view));
  shape.program = place(program.workspace_bytes());
  shape.bytes = end;
  if (end > most_desk_bytes) {
    throw UserError(fmt::format("the model needs {} bytes of working memory per thread, {} are allowed; compact a smaller one",
                                end, most_desk_bytes));
  }
  return shape;
}

void ModelState::fill_desks(int threads) {
  const size_t wanted = std::max<size_t>({4, std::thread::hardware_concurrency(), static_cast<size_t>(threads) + 1});
  const size_t count = std::clamp<size_t>(most_bytes_of_all_desks / std::max<size_t>(shape_.bytes, 1), 1, wanted);
  for (size_t i = 0; i < count; ++i) desks_.push_back(std::make_unique<Desk>(shape_.bytes, encoder_.empty_counts()));
}

size_t ModelState::memory_bytes() const {
  size_t bytes = 0;
  program_.net().visit(
      [&bytes](const std::string&, const PackedRows& rows, int64_t, int64_t, ArrayKind) { bytes += rows.bytes(); });
  return bytes;
}

bool ModelState::is_numeric(size_t column) const {
  if (column < columns_.size()) return schema().columns[column].type == ColumnType::numeric;
  throw UserError(fmt::format("there is no column {}: the model has {}, counted from 0", column, columns_.size()));
}

int32_t ModelState::code(size_t column, std::string_view text) const {
  if (!is_numeric(column)) return encoder_.code_of(column, text);
  throw UserError(fmt::format("column '{}' is numeric and has no codes; give its value itself", columns_[column]));
}

RowLayout ModelState::layout(std::span<const std::string> names) const {
  std::unordered_map<std::string_view, int32_t> places;
  std::unordered_map<std::string_view, int> times;
  for (size_t i = 0; i < names.size(); ++i) {
    places.emplace(names[i], static_cast<int32_t>(i));
    ++times[names[i]];
  }
  RowLayout layout;
  layout.width = static_cast<int64_t>(names.size());
  std::vector<std::string> absent;
  for (const std::string& column : columns_) {
    const auto found = places.find(column);
    if (found == places.end()) {
      absent.push_back(fmt::format("'{}'.{}", column, did_you_mean(column, names)));
    } else if (times.at(column) > 1) {
      throw UserError(
          fmt::format("column '{}' is there {} times; name every column that the model reads once", column, times.at(column)));
    } else {
      layout.positions.push_back(found->second);
    }
  }
  if (absent.empty()) return layout;
  const std::span<const std::string> first = std::span(absent).first(std::min<size_t>(absent.size(), 12));
  throw UserError(
      fmt::format("{} of the {} columns that the model reads are not among the {} given: {} Add them; a cell may be empty where "
                  "the value is missing.",
                  absent.size(), columns_.size(), names.size(), join(first, " ")));
}

void ModelState::check_layout(const RowLayout& layout) const {
  bool inside = layout.positions.size() == columns_.size();
  for (const int32_t position : layout.positions) inside = inside && position >= 0 && position < layout.width;
  if (!inside) {
    throw UserError(fmt::format(
        "the layout has {} positions in rows of {} cells and does not fit the model's {} columns; make it with layout()",
        layout.positions.size(), layout.width, columns_.size()));
  }
}

}  // namespace l0gm
