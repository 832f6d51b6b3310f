#include <fmt/format.h>

#include "base/json_checks.h"
#include "encode/text/tokenizer_json.h"

namespace l0gm::tokenizer_json {
namespace {

constexpr size_t most_around = 64;

int32_t checked_id(const Json& id, const std::string& where) {
  if (!id.is_number_unsigned() || id.get<uint64_t>() > 2 * most_tokens + 4096)
    refuse(where, "the post-processor has an id out of range");
  return id.get<int32_t>();
}

// ["[SEP]", 102]
int32_t pair_id(const Json& json, const std::string& where, const char* key) {
  const Json& pair = json_checks::array(json, where, key);
  if (pair.size() != 2) refuse(where, fmt::format("'{}' is not a pair of token and id", key));
  return checked_id(pair[1], where);
}

Around read_template(const Json& json, const std::string& where) {
  Around result;
  int texts = 0;
  const Json& special = json_checks::member(json, where, "special_tokens");
  for (const Json& piece : json_checks::array(json, where, "single")) {
    if (piece.contains("Sequence")) {
      if (json_checks::text(piece["Sequence"], where, "id") != "A")
        refuse(where, "the template of a single text asks for a second one");
      ++texts;
      continue;
    }
    const std::string name = json_checks::text(json_checks::member(piece, where, "SpecialToken"), where, "id");
    std::vector<int32_t>& side = texts == 0 ? result.before : result.after;
    for (const Json& id : json_checks::array(json_checks::member(special, where, name.c_str()), where, "ids"))
      side.push_back(checked_id(id, where));
    if (side.size() > most_around) refuse(where, fmt::format("a template of more than {} special tokens", most_around));
  }
  if (texts != 1) refuse(where, fmt::format("the template of a single text holds it {} times, wanted once", texts));
  return result;
}

void append(std::vector<int32_t>& ids, const std::vector<int32_t>& more) { ids.insert(ids.end(), more.begin(), more.end()); }

}  // namespace

Around read_post_processor(const Json& json, const std::string& where) {
  if (json.is_null()) return {};
  const std::string type = type_of(json, where);
  if (type == "TemplateProcessing") return read_template(json, where);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return {{pair_id(json, where, "cls")}, {pair_id(json, where, "sep")}};
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "Sequence") {
    Around result;
    for (const Json& step : json_checks::array(json, where, "processors")) {
      const Around inner = read_post_processor(step, where);
      result.before.insert(result.before.begin(), inner.before.begin(), inner.before.end());
      append(result.after, inner.after);
      if (result.before.size() + result.after.size() > most_around) refuse(where, "too many special tokens around a text");
    }
    return result;
  }
  refuse_kind(where, "the post-processor", type, "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel, Sequence");
}

}  // namespace l0gm::tokenizer_json
