#include "training/table/table_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_fields.h"
#include "l0gm/error.h"

namespace l0gm {

nlohmann::json TableRecord::to_json() const {
  nlohmann::json counted = nlohmann::json::array();
  for (const FieldCounts& field : counts)
    counted.push_back({{"count", field.count}, {"slope_sum", field.slope_sum}, {"slopes", field.slopes}});
  nlohmann::json json = {{"schema", schema.to_json()}, {"counts", counted},
                         {"dataset", dataset},         {"files", l0gm::to_json(files)},
                         {"planted", planted},         {"bayes_auc", bayes_auc},
                         {"bayes_nll", bayes_nll},     {"training_rows", training_rows},
                         {"teacher", teacher}};
  if (prices) json["serving_prices"] = fields_to_json(*prices);
  return json;
}

TableRecord TableRecord::from_json(const nlohmann::json& json) {
  try {
    TableRecord record;
    record.schema = Schema::from_json(json.at("schema"));
    for (const auto& field : json.at("counts")) {
      const auto numbers = [&](const char* key) { return field.at(key).get<std::vector<double>>(); };
      record.counts.push_back({numbers("count"), numbers("slope_sum"), numbers("slopes")});
    }
    record.dataset = json.at("dataset").get<std::string>();
    record.files = stamps_from_json(json.at("files"));
    record.planted = json.at("planted").get<std::vector<std::string>>();
    record.bayes_auc = json.at("bayes_auc").get<double>();
    record.bayes_nll = json.at("bayes_nll").get<double>();
    record.training_rows = json.at("training_rows").get<std::string>();
    record.teacher = json.at("teacher").get<std::string>();
    if (json.contains("serving_prices")) record.prices = fields_from_json<ServingPrices>(json["serving_prices"]);
    if (record.counts.size() != record.schema.fields.size()) throw UserError("schema.json: counts and fields differ in number");
    for (size_t f = 0; f < record.counts.size(); ++f) {
      const auto rows = static_cast<size_t>(record.schema.fields[f].rows());
      if (record.counts[f].count.size() != rows || record.counts[f].slope_sum.size() != rows) {
        throw UserError(fmt::format("schema.json: the counts of field '{}' do not fit it", record.schema.fields[f].name));
      }
    }
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("schema.json is damaged: {}", error.what()));
  }
}

}  // namespace l0gm
