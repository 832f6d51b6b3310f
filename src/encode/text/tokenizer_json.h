#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encode/text/normalizer.h"
#include "encode/text/pre_tokenizer.h"
#include "encode/text/word_model.h"

// The parts of tokenizer.json, each read by a function of its own. Unknown kinds are refused by name, numbers are checked before
// use.
namespace l0gm::tokenizer_json {

using Json = nlohmann::json;
using Vocabulary = std::vector<std::pair<std::string, int32_t>>;

constexpr size_t most_bytes = size_t{1} << 26, most_tokens = size_t{1} << 22, longest_token = 512;
constexpr int most_nesting = 24;

[[noreturn]] void refuse(std::string_view where, std::string_view what);
[[noreturn]] void refuse_kind(std::string_view where, std::string_view part, std::string_view kind, std::string_view known);

// Text to JSON; deep nesting, a name given twice in one object and text that is no JSON are refused.
Json parse(std::string_view text, std::string_view where);
std::string type_of(const Json& part, std::string_view where);
bool flag_or(const Json& part, std::string_view where, const char* key, bool otherwise);  // absent or null: otherwise
std::string text_or(const Json& part, std::string_view where, const char* key, std::string otherwise);

// nullptr: there is none. `bert`: whether it is a BertNormalizer and nothing else.
std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& where);
struct Splits {
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  bool bert = false;        // BertPreTokenizer and nothing else
  bool byte_level = false;  // the last step hands over raw bytes
};
Splits read_splits(const Json& json, const std::string& where);

struct Model {
  std::unique_ptr<WordModel> model;
  Vocabulary vocabulary;
  int32_t unknown = -1;
  int64_t longest_word = 0;  // of WordPiece
};
Model read_model(const Json& json, bool byte_level, const std::string& where);

struct Around {
  std::vector<int32_t> before, after;
};
Around read_post_processor(const Json& json, const std::string& where);

}  // namespace l0gm::tokenizer_json
