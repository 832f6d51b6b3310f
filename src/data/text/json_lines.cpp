#include "data/text/json_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

// Hears the events of the parser and keeps the wanted members of the outermost object; nothing else takes memory.
class WantedMembers : public nlohmann::json_sax<Json> {
 public:
  WantedMembers(const std::vector<std::string>& keys, std::vector<JsonLines::Value>& values) : keys_(keys), values_(values) {
    for (JsonLines::Value& value : values) value.kind = JsonLines::Kind::absent;
  }
  std::string problem;
  std::vector<std::string> found;  // keys of the object, for messages

  bool null() override { return keep(JsonLines::Kind::other, "null"); }
  bool boolean(bool value) override { return keep(JsonLines::Kind::boolean, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return keep(JsonLines::Kind::number, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return keep(JsonLines::Kind::number, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& spelled) override { return keep(JsonLines::Kind::number, spelled); }
  bool string(string_t& value) override {
    if (depth_ != 1) return depth_ > 1 || refuse("a string");
    if (wanted_ == nullptr) return true;
    std::swap(wanted_->text, value);
    wanted_->kind = JsonLines::Kind::text;
    return true;
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override {
    if (depth_ == 1) keep(JsonLines::Kind::other, "an object");
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(size_t) override {
    if (depth_ == 0) return refuse("an array");
    if (depth_ == 1) keep(JsonLines::Kind::other, "an array");
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    const auto place = std::find(keys_.begin(), keys_.end(), name);
    wanted_ = place == keys_.end() ? nullptr : &values_[static_cast<size_t>(place - keys_.begin())];
    if (found.size() < most_found) found.push_back(name);
    if (wanted_ == nullptr || wanted_->kind == JsonLines::Kind::absent) return true;
    problem = fmt::format("the key '{}' is there twice", name);
    return false;
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    problem = error.what();
    return false;
  }

 private:
  static constexpr size_t most_found = 20;
  bool keep(JsonLines::Kind kind, std::string spelled) {
    if (depth_ == 0) return refuse(spelled);
    if (depth_ == 1 && wanted_ != nullptr) *wanted_ = {kind, std::move(spelled)};
    return true;
  }
  bool refuse(std::string_view what) {
    problem = fmt::format("found {}, wanted an object", what);
    return false;
  }
  const std::vector<std::string>& keys_;
  std::vector<JsonLines::Value>& values_;
  JsonLines::Value* wanted_ = nullptr;
  size_t depth_ = 0;
};

}  // namespace

JsonLines::JsonLines(const std::filesystem::path& path, std::vector<std::string> keys)
    : reader_(path), keys_(std::move(keys)), values_(keys_.size()) {}

void JsonLines::refuse(const std::string& what) const {
  constexpr size_t most = 300;  // the parser's message quotes what it read, which may be the whole line
  const std::string shown = what.size() > most ? what.substr(0, most) + " …" : what;
  throw UserError(fmt::format("{} line {}: {}{} Wanted is one JSON object per line, in UTF-8; correct the line or remove it.",
                              reader_.path().string(), reader_.line(), shown, shown.ends_with('?') ? "" : "."));
}

bool JsonLines::next() {
  std::string_view line;
  do {
    if (!reader_.next(line)) return false;
    if (reader_.line() == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  } while (trim(line).empty());
  WantedMembers members(keys_, values_);
  if (!Json::sax_parse(line.begin(), line.end(), &members)) refuse(members.problem);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (values_[i].kind != Kind::absent) continue;
    const std::string near = did_you_mean(keys_[i], members.found);
    refuse(fmt::format("there is no key '{}'; there are: {}{}{}", keys_[i], list_some(members.found), near.empty() ? "" : ".",
                       near));
  }
  return true;
}

void JsonLines::refuse_kind(size_t key, std::string_view wanted) const {
  const Value& value = values_[key];
  refuse(fmt::format("'{}' is {}, wanted {}", keys_[key], value.text, wanted));
}

std::string_view JsonLines::text(size_t key) const {
  if (values_[key].kind != Kind::text) refuse_kind(key, "a string");
  return values_[key].text;
}

std::string_view JsonLines::scalar(size_t key) const {
  if (values_[key].kind == Kind::other) refuse_kind(key, "a string, a number or a boolean");
  return values_[key].text;
}

}  // namespace l0gm
