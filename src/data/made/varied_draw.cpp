#include "data/made/varied_draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/random.h"

namespace l0gm {
namespace {

constexpr std::array<std::string_view, 6> column_kinds = {"normal", "skewed", "uniform", "count", "category", "identifier"};
constexpr std::array<std::string_view, 8> effect_kinds = {"smooth",  "step", "periodic", "values",
                                                          "spatial", "pair", "triple",   "missing"};
constexpr int64_t rows_of_rarest = 40;  // at least, on average: a class that no split misses

using Column = VariedColumn::Kind;
using Effect = VariedEffect::Kind;

bool is_number(const VariedColumn& column) { return column.kind <= Column::count; }

class Drawing {
 public:
  explicit Drawing(uint64_t seed) : random_(mix_key(seed, 0x76617279)) {}

  void draw_size(VariedDraw& draw, int64_t rows) {
    const auto drawn = static_cast<int64_t>(between_logs(500, 200'000));
    draw.rows = rows > 0 ? rows : drawn;
    const bool two = happens(0.6);
    draw.classes = two ? 2 : 3 + static_cast<int64_t>(random_.below(10));
    const double most = std::min(500.0, static_cast<double>(draw.rows) / rows_of_rarest);
    draw.imbalance = std::min(happens(0.3) ? between_logs(1, 500) : between_logs(1, 5), std::max(1.0, most));
    draw.label_noise = happens(0.5) ? 0 : 0.1 * random_.uniform();
    draw.strength = 1 + 2 * random_.uniform();
  }

  void draw_columns(VariedDraw& draw) {
    const auto count = static_cast<size_t>(between_logs(4, 201));
    const double numbers = 0.2 + 0.7 * random_.uniform();  // most tables have more of one kind
    const bool identifiers = happens(0.4);
    for (size_t c = 0; c < count; ++c) draw.columns.push_back(draw_column(c, numbers, identifiers && c == count - 1));
  }

  void draw_effects(VariedDraw& draw) {
    const size_t count = std::clamp<size_t>(draw.columns.size() / 2, 3, 16);
    for (size_t e = 0; e < count; ++e) draw.effects.push_back(draw_effect(draw));
  }

 private:
  bool happens(double share) { return random_.uniform() < share; }
  double between_logs(double low, double high) { return low * std::pow(high / low, random_.uniform()); }

  VariedColumn draw_column(size_t index, double numbers, bool identifier) {
    VariedColumn column;
    if (identifier) {
      column.kind = Column::identifier;
      column.values = static_cast<int64_t>(between_logs(200, 20'000));
    } else if (happens(numbers)) {
      column.kind = std::array{Column::normal, Column::normal, Column::skewed, Column::uniform, Column::count}[random_.below(5)];
      if (column.kind == Column::count) column.values = static_cast<int64_t>(between_logs(3, 60));
    } else {
      column.kind = Column::category;
      column.values = static_cast<int64_t>(between_logs(2, 60));
    }
    const bool gaps = happens(0.25);
    if (gaps) column.missing = 0.02 + 0.28 * random_.uniform();
    column.missing_large = gaps && happens(0.4);
    column.name = fmt::format("{}{:03}", is_number(column) ? 'n' : identifier ? 'i' : 'k', index);
    return column;
  }

  // A column with the property, or one of all where none has it.
  template <class Is>
  size_t column_that(const VariedDraw& draw, const Is& is) {
    std::vector<size_t> found;
    for (size_t c = 0; c < draw.columns.size(); ++c) {
      if (is(draw.columns[c])) found.push_back(c);
    }
    return found.empty() ? random_.below(draw.columns.size()) : found[random_.below(found.size())];
  }

  VariedEffect draw_effect(const VariedDraw& draw) {
    const bool missing = std::any_of(draw.columns.begin(), draw.columns.end(), [](const auto& c) { return c.missing > 0; });
    constexpr std::array kinds = {Effect::smooth,  Effect::smooth, Effect::step, Effect::periodic, Effect::values,
                                  Effect::spatial, Effect::pair,   Effect::pair, Effect::triple,   Effect::missing};
    VariedEffect effect;
    effect.kind = kinds[random_.below(missing ? kinds.size() : kinds.size() - 1)];
    const auto number = [&] { return column_that(draw, is_number); };
    const auto any = [&] { return static_cast<size_t>(random_.below(draw.columns.size())); };
    switch (effect.kind) {
      case Effect::smooth:
        effect.columns = {number()};
        effect.shape = {0.5 + 1.5 * random_.uniform(), random_.normal(), happens(0.3) ? 1.0 : 0.0};  // slope, centre, U-shaped
        break;
      case Effect::step:
        effect.columns = {number()};
        effect.shape = {0.2 + 0.6 * random_.uniform()};
        break;
      case Effect::periodic:
        effect.columns = {number()};
        effect.shape = {1 + 5 * random_.uniform(), random_.uniform()};  // periods, phase
        break;
      case Effect::values:
        effect.columns = {column_that(draw, [](const VariedColumn& c) { return !is_number(c); })};
        break;
      case Effect::spatial:
        effect.columns = {number(), number()};
        for (int bump = 0; bump < 6; ++bump) {  // centre, width, height
          for (const double value : {random_.uniform(), random_.uniform(), 0.05 + 0.15 * random_.uniform(), random_.normal()})
            effect.shape.push_back(value);
        }
        break;
      case Effect::pair:
        effect.columns = {any(), any()};
        break;
      case Effect::triple:
        effect.columns = {any(), any(), any()};
        break;
      case Effect::missing:
        effect.columns = {column_that(draw, [](const VariedColumn& c) { return c.missing > 0; })};
        break;
    }
    for (int64_t k = 0; k < draw.classes; ++k) effect.weights.push_back(random_.normal());
    if (draw.classes == 2) effect.weights = {0, (happens(0.5) ? 1 : -1) * (0.5 + random_.uniform())};
    return effect;
  }

  RandomStream random_;
};

}  // namespace

std::vector<std::string> VariedDraw::informative() const {
  std::vector<bool> read(columns.size(), false);
  for (const VariedEffect& effect : effects) {
    for (const size_t c : effect.columns) read[c] = true;
  }
  std::vector<std::string> names;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (read[c]) names.push_back(columns[c].name);
  }
  return names;
}

nlohmann::json VariedDraw::to_json() const {
  nlohmann::json json = {{"rows", rows},           {"columns", columns.size()},  {"classes", classes},
                         {"imbalance", imbalance}, {"label_noise", label_noise}, {"strength", strength}};
  for (size_t kind = 0; kind < column_kinds.size(); ++kind) {
    const auto is = [&](const VariedColumn& column) { return static_cast<size_t>(column.kind) == kind; };
    json["kinds"][std::string(column_kinds[kind])] = std::count_if(columns.begin(), columns.end(), is);
  }
  for (const VariedEffect& effect : effects) {
    std::vector<std::string> names;
    for (const size_t c : effect.columns) names.push_back(columns[c].name);
    json["effects"].push_back({{"kind", effect_kinds[static_cast<size_t>(effect.kind)]}, {"columns", names}});
  }
  return json;
}

VariedDraw draw_varied(uint64_t seed, int64_t rows) {
  Drawing drawing(seed);
  VariedDraw draw;
  drawing.draw_size(draw, rows);
  drawing.draw_columns(draw);
  drawing.draw_effects(draw);
  return draw;
}

}  // namespace l0gm
