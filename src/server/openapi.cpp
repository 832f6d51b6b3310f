#include "server/openapi.h"

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "encode/table/number_text.h"

namespace l0gm {
namespace {

using nlohmann::json;

json reference(const char* name) { return {{"$ref", std::string("#/components/schemas/") + name}}; }

json content(const char* type, json schema) { return {{type, {{"schema", std::move(schema)}}}}; }

json answer(const char* description, const char* type, json schema) {
  return {{"description", description}, {"content", content(type, std::move(schema))}};
}

json errors(json responses, std::initializer_list<std::pair<const char*, const char*>> codes) {
  for (const auto& [code, description] : codes) responses[code] = answer(description, "application/json", reference("Error"));
  return responses;
}

json get(const char* id, const char* summary, json ok, bool with_token, bool open = false) {
  json responses =
      errors({{"200", std::move(ok)}}, {{"400", "not HTTP as it should be"}, {"403", "not addressed by a local name"}});
  if (with_token && !open) responses = errors(responses, {{"401", "a token is wanted"}});
  json operation = {{"operationId", id}, {"summary", summary}, {"responses", responses}};
  if (open) operation["security"] = json::array();
  return {{"get", operation}};
}

// A cell of a column: dates are texts, all others may be numbers as well.
json cell_schema(const Predictor& predictor, size_t column) {
  if (predictor.reads_texts()) return {{"type", "string"}};
  if (predictor.number_notation(column) == date_notation) return {{"type", {"string", "null"}}};
  return {{"type", {"string", "number", "boolean", "null"}}};
}

json list_of(json items, int64_t most) {
  return {{"type", "array"}, {"minItems", 1}, {"maxItems", most}, {"items", std::move(items)}};
}

json object(json properties, json required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

json request_schema(const Predictor& predictor, int64_t most_rows, bool both_calibrations) {
  const json calibrated = both_calibrations ? json{{"type", "boolean"}} : json{{"const", predictor.is_calibrated()}};
  json row = {{"type", "object"}, {"properties", json::object()}, {"required", predictor.columns()}};
  json cells = json::array();
  for (size_t c = 0; c < predictor.columns().size(); ++c) {
    row["properties"][predictor.columns()[c]] = cell_schema(predictor, c);
    cells.push_back(cell_schema(predictor, c));
  }
  const auto width = predictor.columns().size();
  const json array = {{"type", "array"}, {"prefixItems", cells}, {"items", false}, {"minItems", width}, {"maxItems", width}};
  json forms = json::array(
      {object({{"rows", list_of(row, most_rows)}, {"calibrated", calibrated}}, {"rows"}),
       object({{"columns", {{"const", predictor.columns()}}}, {"rows", list_of(array, most_rows)}, {"calibrated", calibrated}},
              {"columns", "rows"})});
  if (predictor.reads_texts()) {
    forms.insert(forms.begin(),
                 object({{"texts", list_of({{"type", "string"}}, most_rows)}, {"calibrated", calibrated}}, {"texts"}));
  }
  return {{"anyOf", forms}};
}

json predict_path(const ModelStore::Entry& entry, int64_t most_rows, bool with_token) {
  const ServedModel& model = *entry.model;
  json body = {{"required", true},
               {"content", content("application/json", request_schema(model.predictor(), most_rows, model.has_both()))}};
  json responses = {
      {"200",
       {{"description", "probabilities, in the order of the rows"},
        {"content",
         {{"application/json", {{"schema", reference("Predictions")}}}, {"text/csv", {{"schema", {{"type", "string"}}}}}}}}}};
  responses = errors(responses, {{"400", "the body or a parameter is not what is wanted; the message says where and why"},
                                 {"403", "not addressed by a local name"},
                                 {"413", "too many rows or bytes"},
                                 {"415", "neither JSON nor CSV"},
                                 {"503", "too much to do, or too slow"}});
  if (with_token) responses = errors(responses, {{"401", "a token is wanted"}});
  return {
      {"post",
       {{"operationId", "predict_" + model.name()},
        {"summary", "Probabilities of rows or texts"},
        {"description",
         "Also takes text/csv, with a header line; then ?calibrated=false chooses raw probabilities, and ?delimiter=; another "
         "delimiter than the training files'. Columns that the model does not read are ignored."},
        {"requestBody", body},
        {"responses", responses}}}};
}

json schemas() {
  const json text = {{"type", "string"}}, texts = {{"type", "array"}, {"items", text}};
  const json counts = {{"type", "object"}, {"additionalProperties", {{"type", "integer"}}}};
  const json number = {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
  return {{"Error",
           object({{"error", object({{"status", {{"type", "integer"}}}, {"message", text}}, {"status", "message"})}}, {"error"})},
          {"Predictions", object({{"model", text},
                                  {"version", text},
                                  {"calibrated", {{"type", "boolean"}}},
                                  {"classes", texts},
                                  {"predictions", texts},
                                  {"probabilities", {{"type", "array"}, {"items", {{"type", "array"}, {"items", number}}}}},
                                  {"unseen", counts},
                                  {"unreadable", counts}},
                                 {"model", "version", "calibrated", "classes", "predictions", "probabilities"})},
          {"Status", object({{"status", text}}, {"status"})}};
}

}  // namespace

json openapi(const std::vector<ModelStore::Entry>& models, int64_t most_rows, bool with_token) {
  json document = {{"openapi", "3.1.0"},
                   {"info", {{"title", "l0gm-serve"}, {"version", version}, {"description", "Predictions of compact models."}}},
                   {"components", {{"schemas", schemas()}}}};
  json& paths = document["paths"];
  const json any = {{"type", "object"}}, text = {{"type", "string"}};
  const auto add = [&](const char* path, const char* id, const char* summary, const char* type, const json& schema, bool open) {
    json ok = answer(summary, type, schema);
    paths[path] = get(id, summary, ok, with_token, open);
  };
  add("/", "page", "A page to try the models", "text/html", text, true);
  add("/healthz", "healthz", "The process is alive", "application/json", reference("Status"), true);
  add("/readyz", "readyz", "Models are loaded and requests are taken", "application/json", reference("Status"), true);
  paths["/readyz"]["get"]["responses"]["503"] = answer("stopping", "application/json", reference("Error"));
  add("/metrics", "metrics", "Figures in Prometheus' text format", "text/plain", text, false);
  add("/openapi.json", "openapi", "This document", "application/json", any, false);
  add("/v1/models", "models", "The models that are served", "application/json", any, false);
  for (const ModelStore::Entry& entry : models) {
    const std::string path = "/v1/models/" + entry.model->name();
    paths[path] = get(("model_" + entry.model->name()).c_str(), "Inputs, classes, gate and figures of the model",
                      answer("what the file knows of itself", "application/json", any), with_token);
    paths[path + ":predict"] = predict_path(entry, most_rows, with_token);
  }
  if (with_token) {
    document["components"]["securitySchemes"] = {{"token", {{"type", "http"}, {"scheme", "bearer"}}}};
    document["security"] = json::array({{{"token", json::array()}}});
  }
  return document;
}

}  // namespace l0gm
