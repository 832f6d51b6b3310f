#include "training/text/text_record.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"

namespace l0gm {

nlohmann::json TextRecord::to_json() const {
  nlohmann::json json = {{"text_column", text_column},
                         {"label", label_column},
                         {"classes", classes},
                         {"class_rows", class_rows},
                         {"tokenizer", tokenizer->json()},
                         {"encoder", l0gm::to_json(encoder)},
                         {"max_tokens", max_tokens},
                         {"texts", texts},
                         {"truncated_share", truncated_share},
                         {"mean_tokens", mean_tokens},
                         {"weights", l0gm::to_json(weights)},
                         {"bayes_auc", bayes_auc},
                         {"dataset", dataset},
                         {"files", l0gm::to_json(files)},
                         {"planted", planted},
                         {"training_rows", training_rows},
                         {"teacher", teacher}};
  if (mean_square_tokens > 0) json["mean_square_tokens"] = mean_square_tokens;
  if (times) {
    json["times"] = {{"besides", times->besides},
                     {"rest", times->rest},
                     {"head", times->head},
                     {"neuron", times->neuron},
                     {"device", timed_on}};
  }
  return json;
}

TextRecord TextRecord::from_json(const nlohmann::json& json) {
  try {
    TextRecord record;
    record.text_column = json.at("text_column").get<std::string>();
    record.label_column = json.at("label").get<std::string>();
    record.classes = json.at("classes").get<std::vector<std::string>>();
    record.class_rows = json.at("class_rows").get<std::vector<int64_t>>();
    record.tokenizer = tokenizer_from_json(json.at("tokenizer").get<std::string>(), "schema.json");
    record.encoder = parse_transformer_config(json.at("encoder"), "schema.json");
    record.max_tokens = json.at("max_tokens").get<int64_t>();
    record.texts = json.at("texts").get<int64_t>();
    record.truncated_share = json.at("truncated_share").get<double>();
    record.mean_tokens = json.at("mean_tokens").get<double>();
    record.mean_square_tokens = json.value("mean_square_tokens", 0.0);
    if (json.contains("times")) {
      const nlohmann::json& of = json["times"];
      record.times = PartTimes{of.at("besides").get<double>(), of.at("rest").get<double>(), of.at("head").get<double>(),
                               of.at("neuron").get<double>()};
      record.timed_on = of.at("device").get<std::string>();
    }
    record.weights = stamps_from_json(json.at("weights"));
    record.bayes_auc = json.at("bayes_auc").get<double>();
    record.dataset = json.at("dataset").get<std::string>();
    record.files = stamps_from_json(json.at("files"));
    record.planted = json.at("planted").get<std::vector<std::string>>();
    record.training_rows = json.at("training_rows").get<std::string>();
    record.teacher = json.at("teacher").get<std::string>();
    if (record.classes.size() != record.class_rows.size() || record.classes.size() < 2) {
      throw UserError(
          fmt::format("schema.json: {} classes and {} counts of them", record.classes.size(), record.class_rows.size()));
    }
    if (record.tokenizer->vocabulary_size() > record.encoder.vocabulary) {
      throw UserError(fmt::format("schema.json: the tokenizer has {} tokens, the encoder {}", record.tokenizer->vocabulary_size(),
                                  record.encoder.vocabulary));
    }
    if (record.max_tokens < 2 || record.max_tokens > record.encoder.longest_text()) {
      throw UserError(fmt::format("schema.json: max_tokens is {}, and the encoder reads 2 to {}", record.max_tokens,
                                  record.encoder.longest_text()));
    }
    return record;
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("schema.json is damaged: {}", error.what()));
  }
}

}  // namespace l0gm
