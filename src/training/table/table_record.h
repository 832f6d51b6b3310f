#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/table/encoded.h"
#include "encoders/table/serving_costs.h"
#include "training/modality.h"

namespace l0gm {

// Everything a run knows about its table without having it: schema.json.
class TableRecord : public Record {
 public:
  Schema schema;
  std::vector<FieldCounts> counts;
  double bayes_auc = 0, bayes_nll = 0;
  std::optional<ServingPrices> prices;  // gate.cost = serving: as they were when training began

  nlohmann::json to_json() const override;
  static TableRecord from_json(const nlohmann::json& json);
  std::string label() const override { return schema.label; }
  const std::vector<std::string>& class_names() const override { return schema.classes; }
  const std::vector<int64_t>& rows_of_classes() const override { return schema.class_rows; }
};

}  // namespace l0gm
