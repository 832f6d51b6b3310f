#include "serving/row_text.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/text.h"

namespace l0gm {
namespace {

template <class Number>
void append_number(std::string& out, Number number) {
  char buffer[32];  // the longest float takes 15 characters, the longest integer 20
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  out.append(buffer, static_cast<size_t>(end - buffer));
}

// Columns without any are left out.
nlohmann::json by_column(const std::vector<std::string>& columns, const std::vector<int64_t>& counts) {
  nlohmann::json result = nlohmann::json::object();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (counts[i] > 0) result[columns[i]] = counts[i];
  }
  return result;
}

}  // namespace

RowText::RowText(const Predictor& predictor, size_t keep)
    : width_(predictor.columns_name_rows() ? predictor.columns().size() : 0), keep_(keep), classes_(predictor.classes().size()) {
  for (size_t i = 0; i < classes_.size(); ++i) append_csv_cell(classes_[i], predictor.classes()[i]);
}

std::string RowText::header(const Predictor& predictor, const std::vector<std::string>& keep) {
  std::string text;
  if (predictor.columns_name_rows()) {
    for (const std::string& name : predictor.columns()) append_csv_cell(text += text.empty() ? "" : ",", name);
  } else {
    text = "row";
  }
  for (const std::string& name : keep) append_csv_cell(text += ',', name);
  text += ",prediction";
  for (const std::string& name : predictor.classes()) append_csv_cell(text += ',', "p_" + name);
  return text + '\n';
}

void RowText::write(int64_t first_row, const std::string_view* cells, const std::vector<float>& probabilities, int64_t rows,
                    std::string& out, const std::string_view* kept) const {
  out.clear();
  for (int64_t i = 0; i < rows; ++i) {
    const float* p = probabilities.data() + static_cast<size_t>(i) * classes_.size();
    if (width_ == 0) append_number(out, first_row + i);
    for (size_t c = 0; c < width_; ++c)
      append_csv_cell(c > 0 ? out += ',' : out, trim(cells[static_cast<size_t>(i) * width_ + c]));
    for (size_t k = 0; k < keep_; ++k) append_csv_cell(out += ',', kept[static_cast<size_t>(i) * keep_ + k]);
    out += ',';
    out += classes_[static_cast<size_t>(std::max_element(p, p + classes_.size()) - p)];
    for (size_t c = 0; c < classes_.size(); ++c) {
      out += ',';
      append_number(out, p[c]);
    }
    out += '\n';
  }
}

nlohmann::json report_of_rows(const Predictor& predictor, int64_t rows, const std::filesystem::path& output,
                              const InputCounts& counts, const OddCells& odd, int64_t threads, double seconds) {
  return {{"rows", rows},
          {"output", output.string()},
          {"unseen", by_column(predictor.columns(), counts.unseen)},
          {"unreadable", by_column(predictor.columns(), counts.unreadable)},
          {"missing", by_column(predictor.columns(), counts.missing)},
          {"first", odd.json()},
          {"threads", threads},
          {"seconds", seconds},
          {"rows_per_second", static_cast<double>(rows) / std::max(seconds, 1e-9)}};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool has_ending(const std::filesystem::path& path, std::string_view ending) {
  const std::string whole = lower(path.filename().string());
  std::string_view name = whole;
  for (const std::string_view compressed : {".gz", ".xz", ".zst"}) {
    if (name.ends_with(compressed)) {
      name.remove_suffix(compressed.size());
      break;
    }
  }
  return name.ends_with(ending);
}

}  // namespace l0gm
