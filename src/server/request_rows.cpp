#include "server/request_rows.h"

#include "server/http_message.h"

namespace l0gm {

ColumnNames::ColumnNames(const Predictor& predictor) : predictor_(predictor) {
  for (const std::string& name : predictor.columns()) {
    notations_.push_back(predictor.number_notation(places_.size()));
    append_json_text(keys_.emplace_back(), name);
    keys_.back() += ':';
    places_.emplace(name, static_cast<int32_t>(places_.size()));
  }
}

int32_t ColumnNames::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? -1 : found->second;
}

}  // namespace l0gm
