#include "server/predict_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "server/request_csv.h"
#include "server/request_error.h"
#include "server/request_json.h"
#include "serving/row_text.h"

namespace l0gm {
namespace {

void append_float(std::string& out, float value) {
  char digits[24];
  out.append(digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits));
}

// ,"unseen":{"column":2}: values that the model had to read as unseen or missing, which a client may not have meant.
void append_counts(std::string& out, const char* name, const std::vector<std::string>& columns,
                   const std::vector<int64_t>& counts) {
  bool first = true;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (counts[c] == 0) continue;
    out += first ? fmt::format(",\"{}\":{{", name) : ",";
    first = false;
    append_json_text(out, columns[c]);
    out += fmt::format(":{}", counts[c]);
  }
  if (!first) out += '}';
}

}  // namespace

void PredictJob::read(int64_t most_rows) {
  rows.clear();
  format == BodyFormat::json ? read_json_rows(body, model->columns(), most_rows, rows)
                             : read_csv_rows(body, model->columns(), delimiter, most_rows, rows);
  if (calibrated && rows.calibrated && *calibrated != *rows.calibrated) {
    throw RequestError(400, "'calibrated' is not the same in the address and in the body");
  }
  predictor = &model->predictor(rows.calibrated ? rows.calibrated : calibrated);
  const size_t width = predictor->columns().size();
  cost = 0;
  for (int64_t row = 0; row < rows.rows; ++row) {
    cost += predictor->row_cost(std::span(rows.cells).subspan(static_cast<size_t>(row) * width, width));
  }
}

HttpResponse PredictJob::answer_of(const std::vector<float>& probabilities, size_t first, const InputCounts* counts) const {
  HttpResponse response;
  const size_t classes = predictor->classes().size(), count = static_cast<size_t>(rows.rows);
  const float* const begin = probabilities.data() + first * classes;
  std::string& out = response.body;
  if (answer == BodyFormat::csv) {
    response.content_type = "text/csv; charset=utf-8";
    std::string lines;
    RowText(*predictor).write(0, rows.cells.data(), {begin, begin + count * classes}, rows.rows, lines);
    out = RowText::header(*predictor) + lines;
    return response;
  }
  const std::string& start = model->answer_start(*predictor);
  out.reserve(start.size() + 64 + count * (16 + classes * 14));
  out += start;
  const std::vector<std::string>& names = model->class_texts();
  for (size_t row = 0; row < count; ++row) {
    const float* const p = begin + row * classes;
    if (row > 0) out += ',';
    out += names[static_cast<size_t>(std::max_element(p, p + classes) - p)];
  }
  out += "],\"probabilities\":[";
  for (size_t row = 0; row < count; ++row) {
    out += row > 0 ? ",[" : "[";
    for (size_t c = 0; c < classes; ++c) {
      if (c > 0) out += ',';
      append_float(out, begin[row * classes + c]);
    }
    out += ']';
  }
  out += ']';
  if (counts != nullptr) {
    append_counts(out, "unseen", predictor->columns(), counts->unseen);
    append_counts(out, "unreadable", predictor->columns(), counts->unreadable);
  }
  out += "}\n";
  return response;
}

}  // namespace l0gm
