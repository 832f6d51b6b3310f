#include "encode/text/folder_files.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/files.h"
#include "base/json_checks.h"
#include "base/text.h"
#include "encode/text/tokenizer_json.h"

namespace l0gm::folder_files {
namespace {

using tokenizer_json::flag_or;
using tokenizer_json::refuse;

// Lines without their ends; the last one may lack it.
template <class Take>
void for_each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Json read_config(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "tokenizer_config.json";
  if (!std::filesystem::exists(file)) return Json::object();
  Json config = tokenizer_json::parse(read_file(file), file.string());
  if (!config.is_object()) refuse(file.string(), fmt::format("found {}, wanted an object", config.type_name()));
  return config;
}

std::string token_name(const Json& config, const char* key, std::string otherwise) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return otherwise;
  return found->is_object() ? json_checks::text(*found, "tokenizer_config.json", "content")
                            : json_checks::text(config, "tokenizer_config.json", key);
}

void check_utf8(std::string_view text, const std::string& where) {
  if (const auto place = first_invalid_utf8(text)) refuse(where, fmt::format("byte {} is no UTF-8", *place));
}

Json added_token(const std::string& content, int64_t id, bool special, bool strip_left) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", strip_left},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

Json layout(Json added, Json normalizer, Json splits, Json post_processor, Json model) {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", std::move(added)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", std::move(splits)},
          {"post_processor", std::move(post_processor)},
          {"decoder", nullptr},
          {"model", std::move(model)}};
}

Json around_text(const std::string& cls, int64_t cls_id, const std::string& sep, int64_t sep_id) {
  const auto token = [](const std::string& name, int type) { return Json{{"SpecialToken", {{"id", name}, {"type_id", type}}}}; };
  const auto text = [](const char* name, int type) { return Json{{"Sequence", {{"id", name}, {"type_id", type}}}}; };
  const auto ids = [](const std::string& name, int64_t id) {
    return Json{{"id", name}, {"ids", Json::array({id})}, {"tokens", Json::array({name})}};
  };
  return {{"type", "TemplateProcessing"},
          {"single", Json::array({token(cls, 0), text("A", 0), token(sep, 0)})},
          {"pair", Json::array({token(cls, 0), text("A", 0), token(sep, 0), text("B", 1), token(sep, 1)})},
          {"special_tokens", {{cls, ids(cls, cls_id)}, {sep, ids(sep, sep_id)}}}};
}

std::string json_from_vocabulary(std::string_view lines, const Json& config, const std::string& where) {
  check_utf8(lines, where);
  Json vocabulary = Json::object();
  int64_t line_number = 0;
  for_each_line(lines, [&](std::string_view line) {
    if (!vocabulary.emplace(std::string(line), line_number++).second)
      refuse(where, fmt::format("line {}: '{}' is there twice", line_number, line));
  });
  const std::string unknown = token_name(config, "unk_token", "[UNK]"), cls = token_name(config, "cls_token", "[CLS]"),
                    sep = token_name(config, "sep_token", "[SEP]"), pad = token_name(config, "pad_token", "[PAD]"),
                    mask = token_name(config, "mask_token", "[MASK]");
  std::map<int64_t, std::string> special;
  for (const std::string& name : {pad, unknown, cls, sep, mask}) {
    if (const auto found = vocabulary.find(name); found != vocabulary.end()) special.emplace(found->get<int64_t>(), name);
  }
  if (!vocabulary.contains(cls) || !vocabulary.contains(sep))
    refuse(where, fmt::format("'{}' or '{}' is not in the vocabulary", cls, sep));
  Json added = Json::array();
  for (const auto& [id, name] : special) added.push_back(added_token(name, id, true));
  const Json accents = config.contains("strip_accents") ? config["strip_accents"] : Json();
  const Json normalizer = {{"type", "BertNormalizer"},
                           {"clean_text", true},
                           {"handle_chinese_chars", flag_or(config, where, "tokenize_chinese_chars", true)},
                           {"strip_accents", accents},
                           {"lowercase", flag_or(config, where, "do_lower_case", true)}};
  const Json around = around_text(cls, vocabulary[cls].get<int64_t>(), sep, vocabulary[sep].get<int64_t>());
  const Json model = {{"type", "WordPiece"},
                      {"unk_token", unknown},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", std::move(vocabulary)}};
  return layout(std::move(added), normalizer, {{"type", "BertPreTokenizer"}}, around, model).dump();
}

std::string json_from_merges(std::string_view vocabulary_text, std::string_view merges_text, const Json& config,
                             const std::string& where) {
  check_utf8(merges_text, where);
  const Json vocabulary = tokenizer_json::parse(vocabulary_text, where);
  if (!vocabulary.is_object()) refuse(where, fmt::format("vocab.json is {}, wanted an object", vocabulary.type_name()));
  Json merges = Json::array();
  for_each_line(merges_text, [&](std::string_view line) {
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(std::string(line));
  });
  const std::string cls = token_name(config, "cls_token", "<s>"), sep = token_name(config, "sep_token", "</s>"),
                    mask = token_name(config, "mask_token", "<mask>");
  std::map<int64_t, std::string> special;
  for (const std::string& name :
       {cls, sep, mask, token_name(config, "unk_token", "<unk>"), token_name(config, "pad_token", "<pad>"),
        token_name(config, "bos_token", "<s>"), token_name(config, "eos_token", "</s>")}) {
    const auto found = vocabulary.find(name);
    if (found != vocabulary.end() && found->is_number_unsigned()) special.emplace(found->get<int64_t>(), name);
  }
  Json added = Json::array(), around;
  for (const auto& [id, name] : special) added.push_back(added_token(name, id, true, name == mask));
  const bool prefix = flag_or(config, where, "add_prefix_space", false);
  if (vocabulary.contains(cls) && vocabulary.contains(sep)) {
    around = {{"type", "RobertaProcessing"},
              {"sep", Json::array({sep, vocabulary[sep]})},
              {"cls", Json::array({cls, vocabulary[cls]})},
              {"trim_offsets", true},
              {"add_prefix_space", prefix}};
  }
  const Json splits = {{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}};
  const Json model = {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", ""},
                      {"end_of_word_suffix", ""},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"ignore_merges", false},
                      {"vocab", vocabulary},
                      {"merges", std::move(merges)}};
  return layout(std::move(added), nullptr, splits, around, model).dump();
}

}  // namespace l0gm::folder_files
