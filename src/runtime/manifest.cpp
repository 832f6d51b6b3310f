#include "runtime/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/json_checks.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using nlohmann::json;

constexpr int deepest = 64;  // what is written nests 6 deep; printing and comparing JSON costs stack per level

}  // namespace

json parse_manifest(std::string_view text) {
  if (text.empty() || text.front() != '{') throw UserError("its manifest does not begin with '{'");
  std::vector<std::set<std::string>> open;  // keys so far of the objects around the parser's place
  const auto watch = [&open](int depth, json::parse_event_t event, json& value) {
    if (depth > deepest) throw UserError(fmt::format("its manifest nests deeper than {} levels", deepest));
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      throw UserError(fmt::format("its manifest has '{}' twice in one object", value.get<std::string>()));
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception& error) {
    throw UserError(fmt::format("its manifest is not valid JSON: {}", error.what()));
  }
}

void refuse_other_keys(const json& value, std::string_view where, std::initializer_list<std::string_view> keys) {
  if (!value.is_object()) json_checks::refuse(where, fmt::format("found {}, wanted an object", value.type_name()));
  for (const auto& item : value.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) {
      json_checks::refuse(where, fmt::format("'{}' is not known in format version 1", item.key()));
    }
  }
}

void refuse_unknown_keys(const json& value, const json& known, std::string_view where) {
  if (value.is_object() && known.is_object()) {
    for (const auto& item : value.items()) {
      const auto same = known.find(item.key());
      if (same == known.end()) json_checks::refuse(where, fmt::format("'{}' is not known in format version 1", item.key()));
      refuse_unknown_keys(item.value(), *same, item.key());
    }
  }
  if (value.is_array() && known.is_array()) {
    for (size_t i = 0; i < std::min(value.size(), known.size()); ++i) refuse_unknown_keys(value[i], known[i], where);
  }
}

std::vector<int64_t> statistic_slots_of(const Schema& schema) {
  const std::vector<int64_t> slots = slots_of_fields(schema);
  std::vector<int64_t> result;
  for (size_t f = 0; f < slots.size(); ++f) {
    if (schema.fields[f].kind == FieldKind::statistic) result.push_back(slots[f]);
  }
  return result;
}

bool are_statistic_slots(const std::vector<int64_t>& slots, const Schema& schema) {
  const std::vector<int64_t> known = statistic_slots_of(schema);
  if (slots.size() > 2 * known.size() || !std::is_sorted(slots.begin(), slots.end())) return false;
  for (size_t i = 2; i < slots.size(); ++i) {
    if (slots[i] == slots[i - 2]) return false;
  }
  std::vector<int64_t> distinct = slots;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  return distinct == known;
}

std::vector<bool> periodic_columns(const Schema& schema) {
  std::vector<bool> periodic(schema.columns.size(), false);
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::periodic) periodic[static_cast<size_t>(field.column)] = true;
  }
  return periodic;
}

json net_to_json(const TableNet<Matrix>& net, const Schema& schema) {
  json result = {{"members", net.members}, {"outputs", net.outputs}, {"hidden", net.hidden}};
  result["layers"] = result["columns"] = json::array();
  for (const NetLayer<Matrix>& layer : net.layers) result["layers"].push_back(layer.out);
  for (const NetColumn& column : net.columns) {
    result["columns"].push_back({{"folded", column.folded}, {"units", column.units}, {"waves", column.waves}});
  }
  if (net.statistic_slots != statistic_slots_of(schema)) result["statistics"] = net.statistic_slots;
  if (net.grid_fields > 0) {
    json places = json::array();
    for (const Unit& unit : net.units) places.push_back(unit.place);
    result["grid"] = {{"fields", net.grid_fields}, {"coordinates", net.grid_coordinates}, {"places", places}};
  }
  if (net.pairs.present) result["pairs"] = {{"weighted", net.pairs.weighted}, {"by_coordinate", net.pairs.by_coordinate}};
  if (net.cin.present) result["cin"] = {{"maps", net.cin.maps}};
  if (net.gate.present) {
    const NetGate<Matrix>& gate = net.gate;
    result["gate"] = {{"gates", gate.gates},         {"rank", gate.rank},        {"step", gate.step},
                      {"threshold", gate.threshold}, {"scale", gate.scale},      {"gamma", gate.gamma},
                      {"zeta", gate.zeta},           {"begin", gate.gate_begin}, {"of_unit", gate.gate_of_unit}};
  }
  return result;
}

}  // namespace l0gm
