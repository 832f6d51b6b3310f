#include "server/model_description.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "encode/table/number_text.h"

namespace l0gm {
namespace {

using nlohmann::json;

constexpr size_t most_categories = 500;  // that are listed; a form of more would help nobody

const json& member(const json& object, const char* key) {
  static const json absent;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : absent;
}

// The first of the column's fields of that kind, or null.
const json& field_of(const json& schema, size_t column, std::initializer_list<std::string_view> kinds) {
  static const json absent;
  for (const json& field : member(schema, "fields")) {
    if (field.value("column", int64_t{-1}) != static_cast<int64_t>(column)) continue;
    const std::string kind = field.value("kind", "");
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) return field;
  }
  return absent;
}

void describe_numbers(json& input, const json& schema, size_t c, char notation) {
  const json& column = schema["columns"][c];
  input["type"] = notation == date_notation ? "date" : "number";
  const double low = column.value("low", 0.0), high = column.value("high", 0.0);
  if (notation == date_notation) {
    input["low"] = number_text(low, notation);
    input["high"] = number_text(high, notation);
  } else {
    input["low"] = low;
    input["high"] = high;
  }
  input["whole"] = column.value("integral", false);
  if (notation == date_notation) return;
  const json &edges = member(field_of(schema, c, {"piecewise"}), "edges"),
             &values = member(field_of(schema, c, {"exact"}), "values");
  const bool has_edges = edges.is_array() && !edges.empty();
  if (values.is_array() && !values.empty()) {
    input["typical"] = values[0];  // the most frequent one
  } else if (has_edges) {
    input["typical"] = edges[edges.size() / 2];  // the bins hold about as many training rows each
  }
  if (has_edges) input["steps"] = edges;
}

void describe_categories(json& input, const json& schema, size_t c) {
  const json& column = schema["columns"][c];
  input["type"] = column.value("type", "") == "multi" ? "list" : "category";
  const json& field = field_of(schema, c, {"categorical", "multi"});
  if (const json& hashed = field_of(schema, c, {"hashed"}); field.is_null() && !hashed.is_null()) {
    input["type"] = "text";  // any text has a place
    return;
  }
  if (input["type"] == "list") input["separator"] = field.value("separator", "|");
  const json& vocabulary = member(field, "vocabulary");
  input["categories"] = json::array();
  for (size_t i = 0; i < std::min(vocabulary.size(), most_categories); ++i) input["categories"].push_back(vocabulary[i]);
  input["categories_in_all"] = vocabulary.size();
}

json describe_input(const ServedModel& model, const json& schema, size_t c) {
  const Predictor& predictor = model.predictor();
  json input = {{"name", predictor.columns()[c]}, {"type", "text"}};
  if (predictor.reads_texts()) {
    input["type"] = "long_text";
    return input;
  }
  if (member(schema, "columns").size() != predictor.columns().size()) return input;  // it does not say
  schema["columns"][c].value("type", "") == "numeric" ? describe_numbers(input, schema, c, predictor.number_notation(c))
                                                      : describe_categories(input, schema, c);
  if (!model.training_missing().empty()) input["missing_in_training"] = model.training_missing()[c];
  return input;
}

// Of what the file says about itself, what a person who tries the model wants to know; no options, no files.
json describe_about(const json& about) {
  json told = json::object();
  for (const char* key : {"model", "members", "gate", "closed_columns", "figures", "dimensions", "open_dimensions",
                          "parameters_dense", "parameters_open", "training_rows", "encoder_narrowed", "made_with"}) {
    if (const json& value = member(about, key); !value.is_null()) told[key] = value;
  }
  return told;
}

}  // namespace

json describe_model(const ServedModel& model, const json& manifest) {
  const Predictor& predictor = model.predictor();
  const json& schema = member(manifest, "schema");
  json told = {{"name", model.name()},
               {"version", model.version()},
               {"input", predictor.reads_texts() ? "texts" : "rows"},
               {"classes", predictor.classes()},
               {"calibrated", predictor.is_calibrated()},
               {"calibration_can_be_chosen", model.has_both()},
               {"delimiter", std::string(1, predictor.delimiter())},
               {"inputs", json::array()},
               {"about", describe_about(member(manifest, "about"))}};
  if (const json& label = member(schema, "label"); label.is_string()) told["label"] = label;
  if (const json& weights = member(manifest, "weights"); weights.is_string()) told["weights"] = weights;
  if (!model.training_shares().empty()) told["training_shares"] = model.training_shares();
  for (size_t c = 0; c < predictor.columns().size(); ++c) told["inputs"].push_back(describe_input(model, schema, c));
  return told;
}

}  // namespace l0gm
