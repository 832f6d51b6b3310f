#include "encoders/text/encoder_shape.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

Json bert() {
  return {{"model_type", "bert"},
          {"vocab_size", 30522},
          {"hidden_size", 384},
          {"num_hidden_layers", 6},
          {"num_attention_heads", 12},
          {"intermediate_size", 1536},
          {"type_vocab_size", 2},
          {"max_position_embeddings", 512},
          {"attention_probs_dropout_prob", 0.2}};
}

TEST(EncoderShape, OptionsChangeLayersAndDropout) {
  EncoderOptions options;
  options.layers = 4;
  options.dropout = 0.3;
  const TransformerConfig config = with_options(parse_transformer_config(bert(), "config.json"), options);
  EXPECT_EQ(config.layers, 4);
  EXPECT_EQ(config.hidden_dropout, 0.3);
  EXPECT_EQ(config.attention_dropout, 0.2);
}

TEST(EncoderShape, TextsAreCutToThePositions) {
  Json json = bert();
  const auto longest = [&](int64_t positions, std::optional<int64_t> asked) {
    json["max_position_embeddings"] = positions;
    EncoderOptions options;
    options.max_tokens = asked;
    return longest_input(parse_transformer_config(json, "config.json"), options);
  };
  EXPECT_EQ(longest(512, {}), 512);
  EXPECT_EQ(longest(2048, {}), 512);
  EXPECT_EQ(longest(2048, 1000), 1000);
  EXPECT_EQ(longest(128, {}), 128);
  EXPECT_THROW(longest(128, 129), UserError);
}

TEST(EncoderShape, FromScratchHeadsMustDivideTheWidth) {
  EncoderOptions options;
  options.heads = 3;
  EXPECT_NE(message_of<UserError>([&] { transformer_from_scratch(options, 100); }).find("heads"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
