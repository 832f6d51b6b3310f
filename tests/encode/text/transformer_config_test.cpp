#include "encode/text/transformer_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

Json bert() {
  return {{"model_type", "bert"},   {"vocab_size", 30522},        {"hidden_size", 384},
          {"num_hidden_layers", 6}, {"num_attention_heads", 12},  {"intermediate_size", 1536},
          {"hidden_act", "gelu"},   {"layer_norm_eps", 1e-12},    {"max_position_embeddings", 512},
          {"type_vocab_size", 2},   {"hidden_dropout_prob", 0.1}, {"attention_probs_dropout_prob", 0.2}};
}

Json deberta() {
  Json json = bert();
  json.update({{"model_type", "deberta-v2"},
               {"type_vocab_size", 0},
               {"relative_attention", true},
               {"position_buckets", 256},
               {"norm_rel_ebd", "layer_norm"},
               {"share_att_key", true},
               {"pos_att_type", "p2c|c2p"},
               {"position_biased_input", false},
               {"max_relative_positions", -1}});
  return json;
}

std::string refusal(const Json& json) {
  return message_of<UserError>([&] { parse_transformer_config(json, "folder/config.json"); });
}

TEST(TransformerConfig, ReadsSizes) {
  const TransformerConfig config = parse_transformer_config(bert(), "config.json");
  EXPECT_EQ(config.hidden, 384);
  EXPECT_EQ(config.head_width(), 32);
  EXPECT_EQ(config.longest_text(), 512);
  EXPECT_EQ(config.attention_dropout, 0.2);
  EXPECT_EQ(config.parameters(), 22565376);  // 22.7 million with the pooler's 147,840
}

TEST(TransformerConfig, RobertaCountsPositionsAfterItsPadding) {
  Json json = bert();
  json.update({{"model_type", "roberta"}, {"pad_token_id", 1}, {"max_position_embeddings", 514}});
  const TransformerConfig config = parse_transformer_config(json, "config.json");
  EXPECT_EQ(config.first_position(), 2);
  EXPECT_EQ(config.longest_text(), 512);
}

TEST(TransformerConfig, DebertaHasNoLongestText) {
  const TransformerConfig config = parse_transformer_config(deberta(), "config.json");
  EXPECT_TRUE(config.content_to_position && config.position_to_content && config.norm_relative);
  EXPECT_EQ(config.longest_text(), INT64_MAX);
  EXPECT_EQ(config.relative_span(), 256);
}

TEST(TransformerConfig, WrittenAndReadAgainItIsTheSame) {
  Json distilbert = {
      {"model_type", "distilbert"},    {"vocab_size", 50},    {"dim", 16}, {"n_layers", 2}, {"n_heads", 2}, {"hidden_dim", 24},
      {"max_position_embeddings", 40}, {"activation", "relu"}};
  for (const Json& json : {bert(), deberta(), distilbert}) {
    const TransformerConfig config = parse_transformer_config(json, "config.json");
    EXPECT_EQ(parse_transformer_config(to_json(config), "again"), config);
  }
}

TEST(TransformerConfig, AnotherArchitectureIsRefusedByName) {
  Json json = bert();
  json["model_type"] = "gpt2";
  EXPECT_NE(refusal(json).find("gpt2"), std::string::npos);
  EXPECT_NE(refusal(json).find("distilbert"), std::string::npos);
  json.erase("model_type");
  EXPECT_NE(refusal(json).find("absent"), std::string::npos);
  EXPECT_NE(refusal(Json::array()).find("array"), std::string::npos);
}

TEST(TransformerConfig, WhatIsNotComputedIsRefused) {
  const auto with = [](Json json, const char* key, const Json& value) {
    json[key] = value;
    return refusal(json);
  };
  EXPECT_NE(with(bert(), "hidden_act", "silu").find("silu"), std::string::npos);
  EXPECT_NE(with(bert(), "position_embedding_type", "relative_key").find("relative_key"), std::string::npos);
  EXPECT_NE(with(bert(), "is_decoder", true).find("is_decoder"), std::string::npos);
  EXPECT_NE(with(bert(), "embedding_size", 128).find("embedding_size"), std::string::npos);
  EXPECT_NE(with(deberta(), "conv_kernel_size", 3).find("conv_kernel_size"), std::string::npos);
  EXPECT_NE(with(deberta(), "pos_att_type", "p2p").find("p2p"), std::string::npos);
}

TEST(TransformerConfig, AbsurdSizesAreRefused) {
  for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                          "max_position_embeddings"}) {
    for (const Json& value :
         {Json(0), Json(-5), Json(1e18), Json(UINT64_MAX), Json("7"), Json(1.5), Json(nullptr), Json::object()}) {
      Json json = bert();
      json[key] = value;
      EXPECT_NE(refusal(json).find(key), std::string::npos) << key << " " << value;
    }
  }
  Json json = bert();
  json["num_attention_heads"] = 7;
  EXPECT_NE(refusal(json).find("7 attention heads"), std::string::npos);
  json = bert();
  json.update({{"hidden_size", 16384}, {"num_attention_heads", 16}, {"num_hidden_layers", 256}, {"intermediate_size", 131072}});
  EXPECT_NE(refusal(json).find("parameters"), std::string::npos);
  json = deberta();
  json["max_relative_positions"] = 100;
  EXPECT_NE(refusal(json).find("max_relative_positions"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
