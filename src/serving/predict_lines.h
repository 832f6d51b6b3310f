#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "runtime/predictor.h"

namespace l0gm {

// Rows of a file that is not csv, one after the other.
class LineRows {
 public:
  virtual ~LineRows() = default;
  virtual bool next(std::vector<std::string_view>& cells) = 0;  // in the order of columns; valid until the next call
  virtual const std::filesystem::path& path() const = 0;
};

// .jsonl: an object per line with a key for each column. .txt, for a predictor that reads texts: a text per line, no header.
// nullptr: any other name.
std::unique_ptr<LineRows> open_line_rows(const Predictor& predictor, const std::filesystem::path& input);

// As predict_file(), by one thread.
nlohmann::json predict_lines(const Predictor& predictor, LineRows& rows, const std::filesystem::path& output);

}  // namespace l0gm
