#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/json_checks.h"
#include "encode/text/pipeline.h"
#include "encode/text/tokenizer_json.h"

namespace l0gm {
namespace {

using tokenizer_json::Json;
using tokenizer_json::refuse;
using TokenIds = std::unordered_map<std::string, int32_t>;

const Json& part_or_null(const Json& json, const char* key) {
  static const Json null;
  const auto found = json.find(key);
  return found == json.end() ? null : *found;
}

// The reference gives ids of its own, whatever the file says: a token of the vocabulary keeps its id, a new one gets the next.
// A file that says otherwise would be read differently elsewhere.
std::vector<AddedToken> read_added(const Json& json, const std::string& where, TokenIds& ids) {
  std::vector<AddedToken> result;
  if (json.is_null()) return result;
  if (!json.is_array()) refuse(where, fmt::format("'added_tokens' is {}, wanted an array", json.type_name()));
  const auto model_size = static_cast<int32_t>(ids.size());
  int32_t highest = -1;
  std::unordered_set<std::string> seen;
  for (const Json& item : json) {
    AddedToken token;
    token.content = json_checks::text(item, where, "content");
    if (token.content.empty()) continue;
    if (token.content.size() > tokenizer_json::longest_token) refuse(where, "an added token is too long");
    const int64_t given = json_checks::count(item, where, "id", 0, INT32_MAX);
    const auto [known, is_new] = ids.try_emplace(token.content, highest >= model_size ? highest + 1 : model_size);
    token.id = known->second;
    if (given != token.id)
      refuse(where, fmt::format("the added token '{}' has the id {}, by its place it is {}", token.content, given, token.id));
    if (!seen.insert(token.content).second) refuse(where, fmt::format("the added token '{}' is there twice", token.content));
    highest = std::max(highest, token.id);
    token.special = tokenizer_json::flag_or(item, where, "special", false);
    token.normalized = tokenizer_json::flag_or(item, where, "normalized", !token.special);
    token.single_word = tokenizer_json::flag_or(item, where, "single_word", false);
    token.strip_left = tokenizer_json::flag_or(item, where, "lstrip", false);
    token.strip_right = tokenizer_json::flag_or(item, where, "rstrip", false);
    result.push_back(std::move(token));
  }
  return result;
}

std::vector<std::string> tokens_by_id(const TokenIds& ids, const std::string& where) {
  int32_t highest = 0;
  for (const auto& [token, id] : ids) highest = std::max(highest, id);
  std::vector<std::string> tokens(static_cast<size_t>(highest) + 1);
  for (const auto& [token, id] : ids) {
    if (!tokens[static_cast<size_t>(id)].empty())
      refuse(where, fmt::format("'{}' has the id {}, which another token has", token, id));
    tokens[static_cast<size_t>(id)] = token;
  }
  return tokens;
}

SpecialTokens find_special(const TokenIds& ids, const TokenizerParts& parts, int32_t unknown) {
  const auto find = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto found = ids.find(name); found != ids.end()) return found->second;
    }
    return -1;
  };
  SpecialTokens special;
  special.cls = parts.before.size() == 1 ? parts.before[0] : find({"[CLS]", "<s>"});
  special.sep = parts.after.size() == 1 ? parts.after[0] : find({"[SEP]", "</s>"});
  special.pad = find({"[PAD]", "<pad>"});
  special.mask = find({"[MASK]", "<mask>"});
  special.unknown = unknown >= 0 ? unknown : find({"[UNK]", "<unk>"});
  return special;
}

}  // namespace

std::shared_ptr<const Tokenizer> tokenizer_from_json(std::string text, const std::string& where) {
  const Json json = tokenizer_json::parse(text, where);
  if (!json.is_object()) refuse(where, fmt::format("found {}, wanted an object", json.type_name()));
  TokenizerParts parts;
  parts.normalizer = tokenizer_json::read_normalizer(part_or_null(json, "normalizer"), where);
  tokenizer_json::Splits splits = tokenizer_json::read_splits(part_or_null(json, "pre_tokenizer"), where);
  tokenizer_json::Model model = tokenizer_json::read_model(json_checks::member(json, where, "model"), splits.byte_level, where);
  tokenizer_json::Around around = tokenizer_json::read_post_processor(part_or_null(json, "post_processor"), where);

  TokenIds ids;
  for (auto& [token, id] : model.vocabulary) ids.emplace(std::move(token), id);
  parts.added = read_added(part_or_null(json, "added_tokens"), where, ids);
  parts.tokens = tokens_by_id(ids, where);
  for (const std::vector<int32_t>* side : {&around.before, &around.after}) {
    for (const int32_t id : *side) {
      if (static_cast<size_t>(id) >= parts.tokens.size() || parts.tokens[static_cast<size_t>(id)].empty())
        refuse(where, fmt::format("the post-processor puts the token {} around texts, which the vocabulary does not have", id));
    }
  }
  parts.before = std::move(around.before);
  parts.after = std::move(around.after);
  parts.special = find_special(ids, parts, model.unknown);
  const auto* bert = dynamic_cast<const BertNormalizer*>(parts.normalizer.get());
  if (bert != nullptr && splits.bert && splits.steps.size() == 1 && model.longest_word > 0) {
    parts.bert = bert->options();
    parts.longest_word = model.longest_word;
  }
  parts.splits = std::move(splits.steps);
  parts.model = std::move(model.model);
  parts.json = std::move(text);
  return std::make_shared<Pipeline>(std::move(parts));
}

}  // namespace l0gm
