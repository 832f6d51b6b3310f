#include <fmt/format.h>

#include "base/json_checks.h"
#include "encode/text/precompiled.h"
#include "encode/text/tokenizer_json.h"

namespace l0gm::tokenizer_json {
namespace {

constexpr std::string_view known_normalizers =
    "BertNormalizer, Sequence, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend, Replace, Precompiled";
constexpr size_t most_steps = 32, longest_addition = 64;

std::unique_ptr<Normalizer> read_bert(const Json& json, const std::string& where) {
  BertNormalizerOptions options;
  options.clean_text = json_checks::flag(json, where, "clean_text");
  options.chinese = json_checks::flag(json, where, "handle_chinese_chars");
  options.lowercase = json_checks::flag(json, where, "lowercase");
  options.strip_accents = flag_or(json, where, "strip_accents", options.lowercase);
  return std::make_unique<BertNormalizer>(options);
}

std::unique_ptr<Normalizer> read_replace(const Json& json, const std::string& where) {
  const Json& pattern = json_checks::member(json, where, "pattern");
  std::string content = json_checks::text(json, where, "content");
  if (content.size() > longest_addition) refuse(where, "'content' is too long");
  if (pattern.contains("String")) {
    const std::string what = json_checks::text(pattern, where, "String");
    if (what.empty() || what.size() > longest_token) refuse(where, "'String' is empty or too long");
    return make_replace(what, std::move(content));
  }
  const std::string expression = json_checks::text(pattern, where, "Regex");
  std::unique_ptr<Normalizer> result = make_replace_expression(expression, std::move(content));
  if (result == nullptr)
    refuse_kind(where, "the regular expression", expression, R"(' {2,}', ' +', '\s+', '\s{2,}', '\s{2,}|[\n\r\t]')");
  return result;
}

std::unique_ptr<Normalizer> read_step(const Json& json, const std::string& where) {
  const std::string type = type_of(json, where);
  if (type == "BertNormalizer") return read_bert(json, where);
  if (type == "NFC") return make_unicode_form(UnicodeForm::nfc);
  if (type == "NFD") return make_unicode_form(UnicodeForm::nfd);
  if (type == "NFKC") return make_unicode_form(UnicodeForm::nfkc);
  if (type == "NFKD") return make_unicode_form(UnicodeForm::nfkd);
  if (type == "Lowercase") return make_lowercase();
  if (type == "StripAccents") return make_strip_accents();
  if (type == "Strip")
    return make_strip(json_checks::flag(json, where, "strip_left"), json_checks::flag(json, where, "strip_right"));
  if (type == "Prepend") {
    std::string prefix = json_checks::text(json, where, "prepend");
    if (prefix.size() > longest_addition) refuse(where, "'prepend' is too long");
    return make_prepend(std::move(prefix));
  }
  if (type == "Replace") return read_replace(json, where);
  if (type == "Precompiled") {
    const std::string map = json_checks::text(json, where, "precompiled_charsmap");
    return make_precompiled(from_base64(map, where), where);
  }
  refuse_kind(where, "the normalizer", type, known_normalizers);
}

// Sequences inside sequences become one.
void add_steps(const Json& json, const std::string& where, std::vector<std::unique_ptr<Normalizer>>& steps) {
  if (type_of(json, where) == "Sequence") {
    for (const Json& step : json_checks::array(json, where, "normalizers")) add_steps(step, where, steps);
    return;
  }
  if (steps.size() == most_steps) refuse(where, fmt::format("more than {} normalizers", most_steps));
  steps.push_back(read_step(json, where));
}

}  // namespace

std::unique_ptr<Normalizer> read_normalizer(const Json& json, const std::string& where) {
  if (json.is_null()) return nullptr;
  std::vector<std::unique_ptr<Normalizer>> steps;
  add_steps(json, where, steps);
  return steps.size() == 1 ? std::move(steps[0]) : make_sequence(std::move(steps));
}

}  // namespace l0gm::tokenizer_json
