#include <fmt/format.h>

#include <unordered_set>

#include "base/json_checks.h"
#include "encode/text/byte_pairs.h"
#include "encode/text/tokenizer_json.h"
#include "encode/text/unigram.h"
#include "encode/text/wordpiece.h"

namespace l0gm::tokenizer_json {
namespace {

void check_token(const std::string& token, const std::string& where) {
  if (token.size() > longest_token)
    refuse(where, fmt::format("a token has {} bytes, at most {} are read", token.size(), longest_token));
}

// Ids are few more than tokens: a table by id must not grow because of one number in a file.
void check_ids(const Vocabulary& vocabulary, const std::string& where) {
  if (vocabulary.empty() || vocabulary.size() > most_tokens)
    refuse(where, fmt::format("the vocabulary has {} tokens, wanted 1 to {}", vocabulary.size(), most_tokens));
  std::unordered_set<int32_t> seen;
  for (const auto& [token, id] : vocabulary) {
    if (!seen.insert(id).second) refuse(where, fmt::format("the id {} is given to two tokens, '{}' is one of them", id, token));
  }
}

Vocabulary read_map(const Json& json, const std::string& where) {
  const Json& map = json_checks::member(json, where, "vocab");
  if (!map.is_object()) refuse(where, fmt::format("'vocab' is {}, wanted an object", map.type_name()));
  const int64_t most_id = static_cast<int64_t>(2 * map.size() + 1024);
  Vocabulary vocabulary;
  for (const auto& [token, id] : map.items()) {
    check_token(token, where);
    if (!id.is_number_unsigned() || id.get<uint64_t>() > static_cast<uint64_t>(most_id))
      refuse(where, fmt::format("the token '{}' has the id {}, wanted 0 to {} in a vocabulary of {}", token,
                                id.dump().substr(0, 40), most_id, map.size()));
    vocabulary.emplace_back(token, id.get<int32_t>());
  }
  check_ids(vocabulary, where);
  return vocabulary;
}

int32_t id_of(const Vocabulary& vocabulary, std::string_view token, const std::string& where) {
  for (const auto& [text, id] : vocabulary) {
    if (text == token) return id;
  }
  refuse(where, fmt::format("the token '{}' for unknown text is not in the vocabulary", token));
}

Model read_wordpiece(const Json& json, const std::string& where) {
  Model result;
  result.vocabulary = read_map(json, where);
  WordPiece::Options options;
  options.continuing_prefix = text_or(json, where, "continuing_subword_prefix", "##");
  check_token(options.continuing_prefix, where);
  options.longest_word = json_checks::count(json, where, "max_input_chars_per_word", 1, 10000);
  options.unknown = result.unknown = id_of(result.vocabulary, json_checks::text(json, where, "unk_token"), where);
  result.longest_word = options.longest_word;
  result.model = std::make_unique<WordPiece>(result.vocabulary, options);
  return result;
}

std::pair<std::string, std::string> read_merge(const Json& merge, const std::string& where) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  if (merge.is_string()) {
    const std::string& text = merge.get_ref<const std::string&>();
    const size_t blank = text.find(' ');
    if (blank != std::string::npos && text.find(' ', blank + 1) == std::string::npos)
      return {text.substr(0, blank), text.substr(blank + 1)};
  }
  refuse(where, fmt::format("a merge is {}, wanted two tokens",
                            merge.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80)));
}

Model read_byte_pairs(const Json& json, bool byte_level, const std::string& where) {
  Model result;
  result.vocabulary = read_map(json, where);
  BytePairs::Options options;
  options.byte_level = byte_level;
  options.continuing_prefix = text_or(json, where, "continuing_subword_prefix", "");
  options.end_suffix = text_or(json, where, "end_of_word_suffix", "");
  check_token(options.continuing_prefix, where);
  check_token(options.end_suffix, where);
  options.fuse_unknown = flag_or(json, where, "fuse_unk", false);
  options.byte_fallback = flag_or(json, where, "byte_fallback", false);
  options.ignore_merges = flag_or(json, where, "ignore_merges", false);
  if (json.contains("dropout") && !json["dropout"].is_null() && json["dropout"] != 0.0)
    refuse_kind(where, "the BPE model's dropout", json["dropout"].dump(), "none: the same text gives the same tokens");
  if (const std::string unknown = text_or(json, where, "unk_token", ""); !unknown.empty())
    options.unknown = result.unknown = id_of(result.vocabulary, unknown, where);
  const Json& merges = json_checks::array(json, where, "merges");
  if (merges.size() > most_tokens) refuse(where, fmt::format("{} merges", merges.size()));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Json& merge : merges) pairs.push_back(read_merge(merge, where));
  result.model = std::make_unique<BytePairs>(result.vocabulary, pairs, options, where);
  return result;
}

Model read_unigram(const Json& json, const std::string& where) {
  Model result;
  const Json& pieces = json_checks::array(json, where, "vocab");
  if (pieces.size() > most_tokens) refuse(where, fmt::format("{} pieces", pieces.size()));
  std::vector<double> scores;
  std::unordered_set<std::string_view> seen;
  for (const Json& piece : pieces) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number() ||
        !std::isfinite(piece[1].get<double>()))
      refuse(where, "'vocab' holds something else than pairs of a text and a score");
    const std::string& text = piece[0].get_ref<const std::string&>();
    check_token(text, where);
    if (!seen.insert(text).second) refuse(where, fmt::format("the piece '{}' is in the vocabulary twice", text));
    result.vocabulary.emplace_back(text, static_cast<int32_t>(scores.size()));
    scores.push_back(piece[1].get<double>());
  }
  check_ids(result.vocabulary, where);
  Unigram::Options options;
  options.unknown = result.unknown =
      static_cast<int32_t>(json_checks::count(json, where, "unk_id", 0, static_cast<int64_t>(scores.size()) - 1));
  options.byte_fallback = flag_or(json, where, "byte_fallback", false);
  result.model = std::make_unique<Unigram>(result.vocabulary, scores, options);
  return result;
}

}  // namespace

Model read_model(const Json& json, bool byte_level, const std::string& where) {
  const std::string type = type_of(json, where);
  if (byte_level && type != "BPE") refuse_kind(where, "the model behind ByteLevel,", type, "BPE");
  if (type == "WordPiece") return read_wordpiece(json, where);
  if (type == "BPE") return read_byte_pairs(json, byte_level, where);
  if (type == "Unigram") return read_unigram(json, where);
  refuse_kind(where, "the model", type, "WordPiece, BPE, Unigram");
}

}  // namespace l0gm::tokenizer_json
