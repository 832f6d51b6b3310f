#include "encode/text/transformer_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

using Json = nlohmann::json;

constexpr int64_t most_parameters = int64_t{4} << 30;

struct SizeLimits {
  int64_t least, most;
};
constexpr SizeLimits hidden_limits{1, 16384}, layer_limits{1, 256}, head_limits{1, 1024}, intermediate_limits{1, 131072},
    vocabulary_limits{1, 10'000'000}, position_limits{1, 1 << 20}, type_limits{0, 1024};

struct ModelType {
  const char* name;
  TransformerFamily family;
  const char* architecture;
};
constexpr ModelType model_types[] = {{"bert", TransformerFamily::bert, "BertModel"},
                                     {"distilbert", TransformerFamily::distilbert, "DistilBertModel"},
                                     {"roberta", TransformerFamily::roberta, "RobertaModel"},
                                     {"xlm-roberta", TransformerFamily::roberta, "XLMRobertaModel"},
                                     {"camembert", TransformerFamily::roberta, "CamembertModel"},
                                     {"deberta-v2", TransformerFamily::deberta, "DebertaV2Model"}};

const ModelType* model_type(const std::string& name) {
  const auto* found = std::find_if(std::begin(model_types), std::end(model_types), [&](const auto& t) { return name == t.name; });
  return found == std::end(model_types) ? nullptr : found;
}

// What is quoted from a file is kept short.
std::string quoted(const Json& value) {
  if (value.is_structured()) return value.type_name();
  return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 60);
}

// Reads members of a config.json; what is wrong is named with the file.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string_view where) : json_(json), where_(where) {}

  [[noreturn]] void refuse(const std::string& what) const { throw UserError(fmt::format("'{}': {}", where_, what)); }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  int64_t count(const char* key, SizeLimits limits) const {
    const Json* value = find(key);
    if (value == nullptr) refuse(fmt::format("'{}' is absent, which an encoder's config.json has", key));
    return checked(key, *value, limits);
  }
  int64_t count(const char* key, SizeLimits limits, int64_t otherwise) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : checked(key, *value, limits);
  }
  double number(const char* key, double least, double most, double otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() >= least) || !(value->get<double>() <= most)) {
      refuse(fmt::format("'{}' is {}, wanted a number from {} to {}", key, quoted(*value), least, most));
    }
    return value->get<double>();
  }
  std::string text(const char* key, const char* otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) refuse(fmt::format("'{}' is {}, wanted a text", key, quoted(*value)));
    return value->get<std::string>();
  }
  bool flag(const char* key, bool otherwise) const {
    const Json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(fmt::format("'{}' is {}, wanted true or false", key, quoted(*value)));
    return value->get<bool>();
  }

 private:
  int64_t checked(const char* key, const Json& value, SizeLimits limits) const {
    const bool whole = value.is_number_unsigned() ? value.get<uint64_t>() <= uint64_t{INT64_MAX} : value.is_number_integer();
    if (!whole || value.get<int64_t>() < limits.least || value.get<int64_t>() > limits.most) {
      refuse(fmt::format("'{}' is {}, wanted a whole number from {} to {}", key, quoted(value), limits.least, limits.most));
    }
    return value.get<int64_t>();
  }
  const Json& json_;
  std::string where_;
};

Activation activation_of(const ConfigReader& reader, const char* key) {
  const std::string name = reader.text(key, "gelu");
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  reader.refuse(fmt::format("'{}' is '{}', and known are gelu, gelu_new, gelu_pytorch_tanh, relu", key, name.substr(0, 60)));
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_new";
    case Activation::relu:
      return "relu";
  }
  return "gelu";
}

void read_distilbert(const ConfigReader& reader, TransformerConfig& config) {
  config.hidden = reader.count("dim", hidden_limits);
  config.layers = reader.count("n_layers", layer_limits);
  config.heads = reader.count("n_heads", head_limits);
  config.intermediate = reader.count("hidden_dim", intermediate_limits);
  config.activation = activation_of(reader, "activation");
  config.hidden_dropout = reader.number("dropout", 0, 0.99, 0.1);
  config.attention_dropout = reader.number("attention_dropout", 0, 0.99, 0.1);
}

void read_bert(const ConfigReader& reader, TransformerConfig& config) {
  config.hidden = reader.count("hidden_size", hidden_limits);
  config.layers = reader.count("num_hidden_layers", layer_limits);
  config.heads = reader.count("num_attention_heads", head_limits);
  config.intermediate = reader.count("intermediate_size", intermediate_limits);
  config.token_types = reader.count("type_vocab_size", type_limits, config.family == TransformerFamily::deberta ? 0 : 2);
  config.activation = activation_of(reader, "hidden_act");
  config.norm_epsilon = reader.number("layer_norm_eps", 0, 1, config.family == TransformerFamily::deberta ? 1e-7 : 1e-12);
  config.hidden_dropout = reader.number("hidden_dropout_prob", 0, 0.99, 0.1);
  config.attention_dropout = reader.number("attention_probs_dropout_prob", 0, 0.99, 0.1);
  const std::string positions = reader.text("position_embedding_type", "absolute");
  if (positions != "absolute") {
    reader.refuse(
        fmt::format("'position_embedding_type' is '{}', and only absolute positions are computed here", positions.substr(0, 60)));
  }
  if (reader.flag("is_decoder", false)) reader.refuse("'is_decoder' is true, and texts are classified by encoders");
  const int64_t embedding = reader.count("embedding_size", hidden_limits, config.hidden);
  if (embedding != config.hidden) {
    reader.refuse(fmt::format("'embedding_size' is {} and 'hidden_size' {}: embeddings of another width are not computed here",
                              embedding, config.hidden));
  }
}

std::vector<std::string> attention_kinds(const ConfigReader& reader) {
  const Json* value = reader.find("pos_att_type");
  std::vector<std::string> kinds;
  if (value == nullptr) return kinds;
  if (value->is_string()) {
    std::string rest = value->get<std::string>().substr(0, 200);
    for (size_t bar = 0; bar != std::string::npos;) {
      bar = rest.find('|');
      kinds.push_back(lower(trim(rest.substr(0, bar))));
      rest = bar == std::string::npos ? "" : rest.substr(bar + 1);
    }
    return kinds;
  }
  if (!value->is_array() || value->size() > 8) reader.refuse("'pos_att_type' is neither a text nor a short list of texts");
  for (const Json& item : *value) {
    if (!item.is_string()) reader.refuse("'pos_att_type' holds something that is not a text");
    kinds.push_back(lower(item.get<std::string>().substr(0, 60)));
  }
  return kinds;
}

void read_relative(const ConfigReader& reader, TransformerConfig& config) {
  config.relative_attention = reader.flag("relative_attention", false);
  config.absolute_positions = reader.flag("position_biased_input", true);
  config.position_buckets = reader.count("position_buckets", {-1, position_limits.most}, -1);
  config.max_relative_positions = reader.count("max_relative_positions", {-1, position_limits.most}, -1);
  config.share_attention_key = reader.flag("share_att_key", false);
  config.norm_relative = reader.text("norm_rel_ebd", "none").find("layer_norm") != std::string::npos;
  if (reader.count("conv_kernel_size", {-1, 1 << 20}, 0) > 0) {
    reader.refuse("'conv_kernel_size' is set, and the convolution beside the first layer is not computed here");
  }
  for (const std::string& kind : attention_kinds(reader)) {
    if (kind == "c2p") {
      config.content_to_position = true;
    } else if (kind == "p2c") {
      config.position_to_content = true;
    } else if (!kind.empty() && kind != "none") {
      reader.refuse(fmt::format("'pos_att_type' names '{}', and known are c2p and p2c", kind));
    }
  }
  if (config.position_buckets >= 0 && config.position_buckets < 4) {
    if (config.position_buckets > 0) reader.refuse("'position_buckets' is below 4");
    config.position_buckets = -1;
  }
  if (config.relative_attention && config.position_buckets > 0 &&
      config.largest_relative_position() <= config.position_buckets / 2 + 1) {
    reader.refuse("'max_relative_positions' is not above half of 'position_buckets'");
  }
}

void check_sizes(const ConfigReader& reader, const TransformerConfig& config) {
  if (config.hidden % config.heads != 0) {
    reader.refuse(fmt::format("a width of {} does not divide into {} attention heads", config.hidden, config.heads));
  }
  if (config.longest_text() < 2) {
    reader.refuse(fmt::format("'max_position_embeddings' is {}, which leaves no position for a text", config.positions));
  }
  if (config.parameters() > most_parameters) {
    reader.refuse(fmt::format("these sizes make an encoder of {} parameters; at most {} are read",
                              with_thousands(config.parameters()), with_thousands(most_parameters)));
  }
}

}  // namespace

int64_t TransformerConfig::longest_text() const { return absolute_positions ? positions - first_position() : INT64_MAX; }

int64_t TransformerConfig::relative_span() const { return position_buckets > 0 ? position_buckets : largest_relative_position(); }

int64_t TransformerConfig::parameters() const {
  int64_t rows = vocabulary + token_types + (absolute_positions ? positions : 0) + 2;
  if (relative_attention) rows += 2 * relative_span() + (norm_relative ? 2 : 0);
  const bool own_projections = relative_attention && !share_attention_key;
  const int64_t projections =
      own_projections ? static_cast<int64_t>(content_to_position) + static_cast<int64_t>(position_to_content) : 0;
  const auto of_layer = [&](const LayerShape& shape) {
    const int64_t width = shape.heads * head_width();
    return (3 + projections) * width * (hidden + 1) + hidden * (width + 1)          // attention
           + shape.intermediate * (hidden + 1) + hidden * (shape.intermediate + 1)  // feed-forward
           + 4 * hidden;                                                            // norms
  };
  int64_t sum = rows * hidden;
  if (narrowed.empty()) return sum + layers * of_layer({heads, intermediate});
  for (const LayerShape& shape : narrowed) sum += of_layer(shape);
  return sum;
}

TransformerConfig parse_transformer_config(const Json& json, std::string_view where) {
  const ConfigReader reader(json, where);
  if (!json.is_object()) reader.refuse(fmt::format("found {}, wanted an encoder's config.json, an object", json.type_name()));
  TransformerConfig config;
  config.model_type = reader.text("model_type", "");
  const ModelType* known = model_type(config.model_type);
  if (known == nullptr) {
    std::vector<std::string> names;
    for (const ModelType& type : model_types) names.emplace_back(type.name);
    reader.refuse(fmt::format("'model_type' is {}, and the encoders known here are {}",
                              config.model_type.empty() ? "absent" : quoted(Json(config.model_type)), join(names, ", ")));
  }
  config.family = known->family;
  config.vocabulary = reader.count("vocab_size", vocabulary_limits);
  config.positions = reader.count("max_position_embeddings", position_limits);
  config.padding_id =
      reader.count("pad_token_id", {-1, vocabulary_limits.most}, config.family == TransformerFamily::roberta ? 1 : 0);
  config.initial_range = reader.number("initializer_range", 0, 10, 0.02);
  if (config.family == TransformerFamily::distilbert) {
    read_distilbert(reader, config);
  } else {
    read_bert(reader, config);
  }
  if (config.family == TransformerFamily::deberta) read_relative(reader, config);
  check_sizes(reader, config);
  return config;
}

Json to_json(const TransformerConfig& config) {
  const ModelType* type = model_type(config.model_type);
  if (type == nullptr) throw std::logic_error("a configuration of unknown model_type");
  Json json = {{"architectures", {type->architecture}}, {"model_type", config.model_type},
               {"vocab_size", config.vocabulary},       {"max_position_embeddings", config.positions},
               {"pad_token_id", config.padding_id},     {"initializer_range", config.initial_range}};
  if (config.family == TransformerFamily::distilbert) {
    json.update({{"dim", config.hidden},
                 {"n_layers", config.layers},
                 {"n_heads", config.heads},
                 {"hidden_dim", config.intermediate},
                 {"activation", name_of(config.activation)},
                 {"dropout", config.hidden_dropout},
                 {"attention_dropout", config.attention_dropout},
                 {"sinusoidal_pos_embds", false}});
    return json;
  }
  json.update({{"hidden_size", config.hidden},
               {"num_hidden_layers", config.layers},
               {"num_attention_heads", config.heads},
               {"intermediate_size", config.intermediate},
               {"type_vocab_size", config.token_types},
               {"hidden_act", name_of(config.activation)},
               {"layer_norm_eps", config.norm_epsilon},
               {"hidden_dropout_prob", config.hidden_dropout},
               {"attention_probs_dropout_prob", config.attention_dropout}});
  if (config.family != TransformerFamily::deberta) {
    json["position_embedding_type"] = "absolute";
    return json;
  }
  Json kinds = Json::array();
  if (config.position_to_content) kinds.push_back("p2c");
  if (config.content_to_position) kinds.push_back("c2p");
  json.update({{"relative_attention", config.relative_attention},
               {"position_biased_input", config.absolute_positions},
               {"position_buckets", config.position_buckets},
               {"max_relative_positions", config.max_relative_positions},
               {"share_att_key", config.share_attention_key},
               {"norm_rel_ebd", config.norm_relative ? "layer_norm" : "none"},
               {"pos_att_type", kinds}});
  return json;
}

}  // namespace l0gm
