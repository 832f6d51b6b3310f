#include "runtime/manifest_net.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_checks.h"
#include "runtime/manifest.h"

// Reads the shape of a net. Every number is checked: kinds, slots and numbers of codes come from the schema, offsets from
// arrange().
namespace l0gm {
namespace {

using namespace json_checks;
using Net = TableNet<PackedRows>;
using Tensors = std::map<std::string, TensorBytes>;

void check_product(int64_t a, int64_t b, int64_t most, std::string_view where, std::string_view what) {
  if (a > 0 && b > most / a) refuse(where, fmt::format("{} * {} {} are more than the {} that are allowed", a, b, what, most));
}

void read_sizes(const Json& json, const Schema& schema, Net& net) {
  net.members = count(json, "net", "members", 1, limits::members);
  net.outputs = count(json, "net", "outputs", 1, limits::width);
  const auto classes = static_cast<int64_t>(schema.classes.size());
  const int64_t wanted = classes == 2 ? 1 : classes;
  if (net.outputs != wanted) refuse("net", fmt::format("it has {} outputs, {} classes need {}", net.outputs, classes, wanted));
  check_product(net.members, net.outputs, limits::width, "net", "logits");
  net.hidden = count(json, "net", "hidden", 0, limits::width);
  check_product(net.members, net.hidden, limits::width, "net", "hidden units");
  if (!json.contains("ensemble")) return;
  const std::string ensemble = text(json, "net", "ensemble");
  if (ensemble != "batch") refuse("net", fmt::format("its ensemble is '{}', wanted 'batch' or none", ensemble));
  if (net.hidden == 0) refuse("net", "its members share layers, and it has none");
  net.shared = true;
}

void read_layers(const Json& json, Net& net) {
  const std::vector<int64_t> widths = counts(json, "net", "layers", 1, limits::width);
  if (net.hidden == 0 && !widths.empty()) refuse("net", "it has layers behind a first one without units");
  if (static_cast<int64_t>(widths.size()) > limits::layers) {
    refuse("net", fmt::format("it has {} layers, {} are allowed", widths.size(), limits::layers));
  }
  net.layers.resize(widths.size());
  int64_t before = net.hidden;
  for (size_t k = 0; k < widths.size(); ++k) {
    check_product(net.members, widths[k], limits::width, "net", "units of a layer");
    net.layers[k].in = before;
    net.layers[k].out = before = widths[k];
  }
}

// The number of units must match the column's table: a file that claims many units must contain as many bytes.
void check_unit_table(const Tensors& tensors, size_t index, const NetColumn& column, std::string_view where) {
  const std::string name = fmt::format("column{}.units", index);
  const auto found = tensors.find(name);
  if (found == tensors.end()) refuse(where, fmt::format("it has {} units, but there is no tensor '{}'", column.units, name));
  if (found->second.shape != std::vector<int64_t>{column.table_rows(), column.units}) {
    refuse(where, fmt::format("tensor '{}' is not of {} rows and {} units", name, column.table_rows(), column.units));
  }
}

void read_columns(const Json& json, const Schema& schema, const Tensors& tensors, Net& net) {
  net.columns = columns_of(schema);
  const std::vector<bool> periodic = periodic_columns(schema);
  const Json& list = array(json, "net", "columns");
  if (list.size() != net.columns.size()) {
    refuse("net", fmt::format("it has {} columns, the schema has {}", list.size(), net.columns.size()));
  }
  size_t tables = 0, waves = 0;
  for (size_t c = 0; c < net.columns.size(); ++c) {
    NetColumn& column = net.columns[c];
    const std::string where = fmt::format("net column {}", c);
    refuse_other_keys(list[c], where, {"folded", "units", "waves"});
    column.folded = flag(list[c], where, "folded");
    column.units = count(list[c], where, "units", 0, limits::units);
    column.waves = count(list[c], where, "waves", 0, limits::waves);
    const bool read = column.folded || column.units > 0;
    if (column.waves % 2 != 0 || (column.waves > 0) != (read && periodic[static_cast<size_t>(column.column)])) {
      refuse(where, fmt::format("it has {} waves, wanted an even number, above 0 just for a periodic column that is read",
                                column.waves));
    }
    if (column.units > 0) check_unit_table(tensors, c, column, where);
    tables += column.units > 0 ? 1 : 0;
    waves += column.waves > 0 ? 1 : 0;
  }
  net.unit_tables.resize(tables);
  net.frequencies.resize(waves);
  net.statistic_slots = statistic_slots_of(schema);
  if (json.contains("statistics")) {
    net.statistic_slots = counts(json, "net", "statistics", 0, limits::slots);
    if (!are_statistic_slots(net.statistic_slots, schema))
      refuse("net", "'statistics' are not the slots of the schema's, once or twice each and ascending");
  }
}

void read_grid(const Json& json, Net& net) {
  if (!json.contains("grid")) return;
  const Json& grid = member(json, "net", "grid");
  refuse_other_keys(grid, "grid", {"fields", "coordinates", "places"});
  net.grid_fields = count(grid, "grid", "fields", 1, limits::grid);
  net.grid_coordinates = count(grid, "grid", "coordinates", 1, limits::grid);
  check_product(net.grid_fields, net.grid_coordinates, limits::grid, "grid", "places");
  const int64_t size = net.grid_fields * net.grid_coordinates;
  const std::vector<int64_t> places = counts(grid, "grid", "places", -1, size - 1);
  if (places.size() != net.units.size())
    refuse("grid", fmt::format("it places {} units, there are {}", places.size(), net.units.size()));
  const auto placed = static_cast<int64_t>(std::count_if(places.begin(), places.end(), [](int64_t place) { return place >= 0; }));
  if (net.grid_fields > placed ||
      net.grid_coordinates > placed) {  // so that working memory is backed by units, and these by tensors
    refuse("grid", fmt::format("{} fields and {} coordinates for {} units that lie on it", net.grid_fields, net.grid_coordinates,
                               placed));
  }
  std::vector<bool> taken(static_cast<size_t>(size), false);
  for (size_t u = 0; u < places.size(); ++u) {
    net.units[u].place = places[u];
    if (places[u] < 0) continue;
    if (taken[static_cast<size_t>(places[u])]) refuse("grid", fmt::format("two units lie at place {}", places[u]));
    taken[static_cast<size_t>(places[u])] = true;
  }
}

void read_pairs_and_cin(const Json& json, Net& net) {
  net.pairs.present = json.contains("pairs");
  net.cin.present = json.contains("cin");
  if ((net.pairs.present || net.cin.present) && net.grid_fields == 0) refuse("net", "it has pairs or a CIN but no grid to read");
  if (net.pairs.present) {
    const Json& pairs = member(json, "net", "pairs");
    refuse_other_keys(pairs, "pairs", {"weighted", "by_coordinate"});
    net.pairs.weighted = flag(pairs, "pairs", "weighted");
    net.pairs.by_coordinate = flag(pairs, "pairs", "by_coordinate");
  }
  if (net.cin.present) {
    const Json& cin = member(json, "net", "cin");
    refuse_other_keys(cin, "cin", {"maps"});
    net.cin.maps = counts(cin, "cin", "maps", 1, limits::grid);
    if (static_cast<int64_t>(net.cin.maps.size()) > limits::layers) refuse("cin", "it has too many depths");
    for (const int64_t maps : net.cin.maps)
      check_product(maps, net.grid_coordinates, limits::grid, "cin", "coordinates of feature maps");
    net.cin.weights.resize(net.cin.maps.size());
    net.cin.pooled.resize(net.cin.maps.size());
  }
}

void read_gate(const Json& json, Net& net) {
  net.gate.present = json.contains("gate");
  if (!net.gate.present) return;
  NetGate<PackedRows>& gate = net.gate;
  const Json& stored = member(json, "net", "gate");
  refuse_other_keys(stored, "gate", {"gates", "rank", "step", "threshold", "scale", "gamma", "zeta", "begin", "of_unit"});
  gate.gates = count(stored, "gate", "gates", 1, limits::units);
  gate.rank = count(stored, "gate", "rank", 0, limits::units);
  gate.step = flag(stored, "gate", "step");
  gate.threshold = number(stored, "gate", "threshold");
  gate.scale = number(stored, "gate", "scale");
  gate.gamma = number(stored, "gate", "gamma");
  gate.zeta = number(stored, "gate", "zeta");
  if (!(gate.scale > 0) || !(gate.gamma < gate.zeta)) refuse("gate", "'scale' must be above 0 and 'gamma' below 'zeta'");
  gate.gate_of_unit = counts(stored, "gate", "of_unit", 0, gate.gates - 1);
  const auto listed = static_cast<int64_t>(gate.gate_of_unit.size());
  gate.gate_begin = counts(stored, "gate", "begin", 0, listed);
  const std::vector<int64_t>& begin = gate.gate_begin;
  if (begin.size() != net.units.size() + 1) {
    refuse("gate",
           fmt::format("'begin' holds {} numbers, {} units need one more than there are units", begin.size(), net.units.size()));
  }
  if (begin.front() != 0 || begin.back() != listed || !std::is_sorted(begin.begin(), begin.end())) {
    refuse("gate", "'begin' does not rise from 0 to the length of 'of_unit'");
  }
}

}  // namespace

TableNet<PackedRows> net_from_json(const nlohmann::json& json, const Schema& schema, const Tensors& tensors) {
  refuse_other_keys(json, "net",
                    {"members", "outputs", "hidden", "ensemble", "layers", "columns", "statistics", "grid", "pairs", "cin",
                     "gate"});
  Net net;
  read_sizes(json, schema, net);
  read_layers(json, net);
  read_columns(json, schema, tensors, net);
  net.arrange();
  read_grid(json, net);
  read_pairs_and_cin(json, net);
  read_gate(json, net);
  return net;
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

nlohmann::json net_to_json(const TableNet<Matrix>& net, const Schema& schema) {
  nlohmann::json result = {{"members", net.members}, {"outputs", net.outputs}, {"hidden", net.hidden}};
  if (net.shared) result["ensemble"] = "batch";
  result["layers"] = result["columns"] = nlohmann::json::array();
  for (const NetLayer<Matrix>& layer : net.layers) result["layers"].push_back(layer.out);
  for (const NetColumn& column : net.columns) {
    result["columns"].push_back({{"folded", column.folded}, {"units", column.units}, {"waves", column.waves}});
  }
  if (net.statistic_slots != statistic_slots_of(schema)) result["statistics"] = net.statistic_slots;
  if (net.grid_fields > 0) {
    nlohmann::json places = nlohmann::json::array();
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
