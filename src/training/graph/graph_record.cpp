#include "training/graph/graph_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"

namespace l0gm {

nlohmann::json GraphRecord::to_json() const {
  nlohmann::json json = {{"dataset", dataset},
                         {"nodes", nodes},
                         {"edges", edges},
                         {"scaling", scaling.to_json()},
                         {"attribute_names", attribute_names},
                         {"classes", classes},
                         {"class_rows", class_rows},
                         {"files", l0gm::to_json(files)},
                         {"training_nodes", training_rows},
                         {"planted", planted}};
  if (!teacher.empty()) json["teacher"] = teacher;
  return json;
}

GraphRecord GraphRecord::from_json(const nlohmann::json& json) {
  try {
    GraphRecord record;
    record.dataset = json.at("dataset").get<std::string>();
    record.nodes = json.at("nodes").get<int64_t>();
    record.edges = json.at("edges").get<int64_t>();
    record.scaling = AttributeScaling::from_json(json.at("scaling"));
    record.attribute_names = json.at("attribute_names").get<std::vector<std::string>>();
    record.classes = json.at("classes").get<std::vector<std::string>>();
    record.class_rows = json.at("class_rows").get<std::vector<int64_t>>();
    record.files = stamps_from_json(json.at("files"));
    record.training_rows = json.at("training_nodes").get<std::string>();
    record.planted = json.at("planted").get<std::vector<std::string>>();
    record.teacher = json.value("teacher", "");
    if (static_cast<int64_t>(record.attribute_names.size()) != record.scaling.width() || record.classes.size() < 2 ||
        record.class_rows.size() != record.classes.size()) {
      throw UserError("schema.json is damaged: its counts of attributes or classes do not agree");
    }
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("schema.json is damaged: {}", error.what()));
  }
}

}  // namespace l0gm
