#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "l0gm/options.h"

namespace l0gm {

// The interface of a text: the mean of its tokens' states, or the state of the first.
enum class Pooling { mean, cls };
template <>
inline constexpr auto enum_names<Pooling> = std::to_array<std::string_view>({"mean", "cls"});

// Fine units: the gates of token states are shared by blocks of positions, which begin here.
inline constexpr std::array<int64_t, 4> token_block_starts = {0, 64, 128, 256};

enum class TransformerFamily { bert, distilbert, roberta, deberta };
enum class Activation { gelu, gelu_tanh, relu };

// What one layer has, where layers differ.
struct LayerShape {
  int64_t heads = 0, intermediate = 0;  // either may be 0: then only biases and norms are left of that part
  bool operator==(const LayerShape&) const = default;
};

// The shape of a Transformer encoder: what its config.json says in the layout of the Hugging Face library.
//   TransformerConfig config = parse_transformer_config(nlohmann::json::parse(text), "model/config.json");
struct TransformerConfig {
  TransformerFamily family = TransformerFamily::bert;
  std::string model_type = "bert";  // as config.json spells it: roberta has names of its own for the same layout
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t intermediate = 0;
  int64_t positions = 0;    // rows of the position embeddings
  int64_t token_types = 0;  // 0: none; all texts are of type 0
  int64_t padding_id = 0;
  Activation activation = Activation::gelu;
  double norm_epsilon = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double initial_range = 0.02;

  // DeBERTa: attention also reads how far two tokens are apart.
  bool relative_attention = false;
  bool absolute_positions = true;       // position embeddings are added to the input
  int64_t position_buckets = -1;        // distances beyond half of them share logarithmic buckets; -1: none do
  int64_t max_relative_positions = -1;  // -1: as many as positions
  bool share_attention_key = false;     // positions are projected by the layer's own query and key weights
  bool content_to_position = false, position_to_content = false;
  bool norm_relative = false;  // a layer norm on the relative embeddings

  // Layers that have lost heads or neurons, one entry each; empty: all have `heads` and `intermediate`. No part of config.json.
  std::vector<LayerShape> narrowed;

  int64_t head_width() const { return hidden / heads; }
  LayerShape shape_of(int64_t layer) const {
    return narrowed.empty() ? LayerShape{heads, intermediate} : narrowed.at(static_cast<size_t>(layer));
  }
  // RoBERTa counts positions from the one after its padding token.
  int64_t first_position() const { return family == TransformerFamily::roberta ? padding_id + 1 : 0; }
  int64_t longest_text() const;  // in tokens; INT64_MAX: any
  // Rows of the relative embeddings are 2 of these: as many distances in each direction.
  int64_t relative_span() const;
  int64_t largest_relative_position() const { return max_relative_positions < 1 ? positions : max_relative_positions; }
  int64_t parameters() const;  // of the encoder that this program keeps: no pooler, no head
  bool operator==(const TransformerConfig&) const = default;
};

// A UserError that names `where`: an architecture that is not known, sizes that make no sense, parts that are not computed here.
TransformerConfig parse_transformer_config(const nlohmann::json& json, std::string_view where);
// The same layout, as the reference library reads it.
nlohmann::json to_json(const TransformerConfig& config);

}  // namespace l0gm
