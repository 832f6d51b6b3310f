#include "encode/text/tokenizer_json.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/json_checks.h"
#include "l0gm/error.h"

namespace l0gm::tokenizer_json {
namespace {

// Names seen in each open object.
class NamesSeen {
 public:
  explicit NamesSeen(std::string_view where) : where_(where) {}
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth > most_nesting) refuse(where_, fmt::format("values are nested more than {} deep", most_nesting));
    if (event == Json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == Json::parse_event_t::key && !open_.back().insert(parsed.get_ref<const std::string&>()).second) {
      refuse(where_, fmt::format("an object has '{}' twice", parsed.get_ref<const std::string&>()));
    }
    return true;
  }

 private:
  std::string_view where_;
  std::vector<std::unordered_set<std::string>> open_;
};

}  // namespace

void refuse(std::string_view where, std::string_view what) {
  throw UserError(fmt::format("{}: {}. The file is damaged or not a tokenizer; fetch or make it again.", where, what));
}

void refuse_kind(std::string_view where, std::string_view part, std::string_view kind, std::string_view known) {
  throw UserError(fmt::format("{}: {} '{}' is not known here; known: {}. Take a model whose tokenizer has one of these.", where,
                              part, kind.substr(0, 80), known));
}

Json parse(std::string_view text, std::string_view where) {
  if (text.size() > most_bytes) refuse(where, fmt::format("{} bytes are more than the {} allowed", text.size(), most_bytes));
  NamesSeen seen(where);
  try {
    return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& parsed) { return seen(depth, event, parsed); });
  } catch (const Json::exception& error) {
    refuse(where, fmt::format("no JSON: {}", error.what()));
  }
}

std::string type_of(const Json& part, std::string_view where) { return json_checks::text(part, where, "type"); }

bool flag_or(const Json& part, std::string_view where, const char* key, bool otherwise) {
  const auto found = part.find(key);
  return found == part.end() || found->is_null() ? otherwise : json_checks::flag(part, where, key);
}

std::string text_or(const Json& part, std::string_view where, const char* key, std::string otherwise) {
  const auto found = part.find(key);
  return found == part.end() || found->is_null() ? otherwise : json_checks::text(part, where, key);
}

}  // namespace l0gm::tokenizer_json
