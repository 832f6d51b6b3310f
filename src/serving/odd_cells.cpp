#include "serving/odd_cells.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace l0gm {

namespace {

constexpr ptrdiff_t most_columns = 20;  // of each kind: a report that is longer is not read
constexpr size_t longest_text = 80;     // bytes of a cell

// The beginning of a text, in whole characters.
std::string beginning(std::string_view text) {
  size_t size = std::min(text.size(), longest_text);
  while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size)) + (size < text.size() ? "…" : "");
}

}  // namespace

// A graph that is asked about some nodes computes many others: it is not asked again.
OddCells::OddCells(const Predictor& predictor)
    : predictor_(predictor),
      asks_again_(!predictor.reads_texts() && (predictor.concurrent() || !predictor.columns_name_rows())),
      unseen_(predictor.columns().size()),
      unreadable_(predictor.columns().size()) {}

void OddCells::look(const Cells& cells, int64_t first_row, const InputCounts& counts) {
  if (!asks_again_ || cells.rows == 0) return;
  look_for(&InputCounts::unseen, unseen_, cells, first_row, counts);
  look_for(&InputCounts::unreadable, unreadable_, cells, first_row, counts);
}

void OddCells::look_for(Kind kind, Found& found, const Cells& cells, int64_t first_row, const InputCounts& counts) {
  ptrdiff_t known = std::count_if(found.begin(), found.end(), [](const auto& cell) { return cell.has_value(); });
  for (size_t column = 0; column < found.size() && known < most_columns; ++column) {
    if (found[column] || (counts.*kind)[column] == 0) continue;
    const int64_t row = first_odd_row(kind, column, cells);
    const std::string_view text = trim(cells.cells[static_cast<size_t>(row) * found.size() + column]);
    found[column] = Cell{first_row + row, beginning(text)};
    ++known;
  }
}

// By halves: all rows before `begin` are without, and there is one before `end`.
int64_t OddCells::first_odd_row(Kind kind, size_t column, const Cells& cells) const {
  const size_t width = predictor_.columns().size();
  std::vector<float> unused(static_cast<size_t>(cells.rows) * predictor_.classes().size());
  int64_t begin = 0, end = cells.rows;
  while (end - begin > 1) {
    const int64_t middle = begin + (end - begin) / 2, rows = middle - begin;
    const Cells part{cells.cells.subspan(static_cast<size_t>(begin) * width, static_cast<size_t>(rows) * width), rows};
    InputCounts counts = predictor_.empty_counts();
    predictor_.predict(part, std::span(unused).first(static_cast<size_t>(rows) * predictor_.classes().size()), counts);
    ((counts.*kind)[column] > 0 ? end : begin) = middle;
  }
  return begin;
}

void OddCells::merge(const OddCells& other) {
  const auto take_earlier = [](Found& ours, const Found& theirs) {
    for (size_t i = 0; i < ours.size(); ++i) {
      if (theirs[i] && (!ours[i] || theirs[i]->row < ours[i]->row)) ours[i] = theirs[i];
    }
  };
  take_earlier(unseen_, other.unseen_);
  take_earlier(unreadable_, other.unreadable_);
}

nlohmann::json OddCells::json() const {
  const auto by_column = [&](const Found& found) {
    nlohmann::json result = nlohmann::json::object();
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i]) result[predictor_.columns()[i]] = {{"cell", found[i]->text}, {"row", found[i]->row}};
    }
    return result;
  };
  return {{"unseen", by_column(unseen_)}, {"unreadable", by_column(unreadable_)}};
}

}  // namespace l0gm
