#include "runtime/text/text_net.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_checks.h"
#include "runtime/manifest_net.h"

namespace l0gm {

int64_t TextNet::parameters() const { return encoder.parameters() + members * outputs() * (1 + head_width()); }

int64_t TextNet::numbers() const {
  const auto blocks = static_cast<int64_t>(token_block_starts.size());
  return parameters() + (scaled ? 2 * encoder.hidden : 0) + (token_factors ? blocks * encoder.hidden : 0);
}

nlohmann::json TextNet::to_json() const {
  nlohmann::json json = {{"encoder", l0gm::to_json(encoder)},
                         {"pooling", name_of_enum(pooling)},
                         {"members", members},
                         {"selected", selected},
                         {"scaled", scaled},
                         {"token_factors", token_factors}};
  if (encoder.narrowed.empty()) return json;
  json["heads"] = nlohmann::json::array();  // of each layer
  json["neurons"] = nlohmann::json::array();
  for (const LayerShape& shape : encoder.narrowed) {
    json["heads"].push_back(shape.heads);
    json["neurons"].push_back(shape.intermediate);
  }
  return json;
}

namespace {

// Layers that differ from each other, which files of encoders that nothing was taken from do not mention.
void read_narrowed_layers(const nlohmann::json& value, TransformerConfig& encoder) {
  using namespace json_checks;
  if (!value.contains("heads") && !value.contains("neurons")) return;
  const std::vector<int64_t> heads = counts(value, "net", "heads", 0, encoder.heads),
                             neurons = counts(value, "net", "neurons", 0, encoder.intermediate);
  const auto layers = static_cast<size_t>(encoder.layers);
  if (heads.size() != layers || neurons.size() != layers)
    refuse("net", fmt::format("'heads' and 'neurons' are lists of {} and {} numbers, wanted one for each of {} layers",
                              heads.size(), neurons.size(), layers));
  for (size_t i = 0; i < layers; ++i) encoder.narrowed.push_back({heads[i], neurons[i]});
}

}  // namespace

TextNet TextNet::from_json(const nlohmann::json& value, int64_t classes) {
  using namespace json_checks;
  TextNet net;
  net.classes = classes;
  net.encoder = parse_transformer_config(member(value, "net", "encoder"), "net encoder");
  read_narrowed_layers(value, net.encoder);
  net.pooling = enumerator<Pooling>(value, "net", "pooling");
  net.members = count(value, "net", "members", 1, limits::members);
  net.selected = counts(value, "net", "selected", 0, net.encoder.hidden - 1);
  if (std::adjacent_find(net.selected.begin(), net.selected.end(), std::greater_equal<>()) != net.selected.end()) {
    refuse("net", "'selected' does not ascend");
  }
  net.scaled = flag(value, "net", "scaled");
  net.token_factors = flag(value, "net", "token_factors");
  return net;
}

}  // namespace l0gm
