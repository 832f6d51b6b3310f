#include <fmt/format.h>

#include "base/json_checks.h"
#include "encode/text/tokenizer_json.h"
#include "encode/text/utf8.h"

namespace l0gm::tokenizer_json {
namespace {

std::unique_ptr<PreTokenizer> read_metaspace(const Json& json, const std::string& where) {
  const std::string mark = text_or(json, where, "replacement", text_or(json, where, "str_rep", "\u2581"));
  if (mark.empty() || mark.size() != code_size(mark[0])) refuse(where, "'replacement' is not one character");
  // Files of older versions have only add_prefix_space.
  const std::string scheme =
      text_or(json, where, "prepend_scheme", flag_or(json, where, "add_prefix_space", true) ? "always" : "never");
  const char32_t code = decode_code(mark.data()).code;
  const bool split = flag_or(json, where, "split", true);
  if (scheme == "always") return make_metaspace(code, PrependScheme::always, split);
  if (scheme == "first") return make_metaspace(code, PrependScheme::first, split);
  if (scheme == "never") return make_metaspace(code, PrependScheme::never, split);
  refuse_kind(where, "Metaspace's prepend_scheme", scheme, "always, first, never");
}

void add_splits(const Json& json, const std::string& where, Splits& splits) {
  const std::string type = type_of(json, where);
  if (type == "Sequence") {
    for (const Json& step : json_checks::array(json, where, "pretokenizers")) add_splits(step, where, splits);
    return;
  }
  if (splits.byte_level) refuse_kind(where, "a step behind ByteLevel,", type, "ByteLevel as the last step");
  if (splits.steps.size() == Workspace::most_steps)
    refuse(where, fmt::format("more than {} pre-tokenizers", Workspace::most_steps));
  splits.bert = type == "BertPreTokenizer" && splits.steps.empty();
  if (type == "BertPreTokenizer") {
    splits.steps.push_back(make_bert_split());
  } else if (type == "Whitespace") {
    splits.steps.push_back(make_word_split());
  } else if (type == "WhitespaceSplit") {
    splits.steps.push_back(make_whitespace_split());
  } else if (type == "Metaspace") {
    splits.steps.push_back(read_metaspace(json, where));
  } else if (type == "ByteLevel") {
    splits.steps.push_back(
        make_byte_level(json_checks::flag(json, where, "add_prefix_space"), flag_or(json, where, "use_regex", true)));
    splits.byte_level = true;
  } else if (type == "Punctuation" && text_or(json, where, "behavior", "Isolated") == "Isolated") {
    splits.steps.push_back(make_punctuation_split());
  } else {
    refuse_kind(where, "the pre-tokenizer", type,
                "BertPreTokenizer, ByteLevel, Metaspace, Whitespace, WhitespaceSplit, Punctuation (Isolated), Sequence");
  }
}

}  // namespace

Splits read_splits(const Json& json, const std::string& where) {
  Splits splits;
  if (!json.is_null()) add_splits(json, where, splits);
  return splits;
}

}  // namespace l0gm::tokenizer_json
