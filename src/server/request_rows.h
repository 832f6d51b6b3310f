#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/predictor.h"

// Bodies of requests as rows of cells for a Predictor. Views of the body wherever that is possible: it must stay where it is.
namespace l0gm {

// The columns of one predictor by name; made once, shared by all requests.
class ColumnNames {
 public:
  explicit ColumnNames(const Predictor& predictor);  // which must outlive it
  const Predictor& predictor() const { return predictor_; }
  size_t size() const { return notations_.size(); }
  int32_t find(std::string_view name) const;  // -1: there is none
  char notation(size_t column) const { return notations_[column]; }
  const std::string& key(size_t column) const { return keys_[column]; }  // as clients write it in JSON, with quotes and colon

 private:
  const Predictor& predictor_;
  std::unordered_map<std::string_view, int32_t> places_;
  std::vector<char> notations_;
  std::vector<std::string> keys_;
};

struct RequestRows {
  std::vector<std::string_view> cells;  // rows x columns
  int64_t rows = 0;
  std::optional<bool> calibrated;  // as the body asks; unset: as the model says

  void clear() { cells.clear(), rows = 0, calibrated.reset(); }
};

}  // namespace l0gm
