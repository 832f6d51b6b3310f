#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/graph/attributes.h"
#include "training/modality.h"

namespace l0gm {

// Everything a run knows about its graph without having it: schema.json.
class GraphRecord : public Record {
 public:
  int64_t nodes = 0, edges = 0;
  AttributeScaling scaling;
  std::vector<std::string> attribute_names;  // of what the model reads
  std::vector<std::string> classes;
  std::vector<int64_t> class_rows;     // training nodes of each
  std::vector<float> attribute_sizes;  // mean magnitudes over training nodes, for a new model alone; not stored

  nlohmann::json to_json() const override;
  static GraphRecord from_json(const nlohmann::json& json);
  std::string label() const override { return "class"; }
  const std::vector<std::string>& class_names() const override { return classes; }
  const std::vector<int64_t>& rows_of_classes() const override { return class_rows; }
};

}  // namespace l0gm
