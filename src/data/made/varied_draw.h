#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace l0gm {

// What a draw of `varied-table` is made of (varied_table.h): all of it follows from the seed.

struct VariedColumn {
  enum class Kind { normal, skewed, uniform, count, category, identifier };
  std::string name;
  Kind kind = Kind::normal;
  int64_t values = 0;          // count, category, identifier: different values
  double missing = 0;          // share of the rows
  bool missing_large = false;  // not at random: large values (rare ones of a category) are the missing ones
};

// A part of the scores: a function of one to three columns, about -1 … 1, times a weight for each class.
struct VariedEffect {
  enum class Kind { smooth, step, periodic, values, spatial, pair, triple, missing };
  Kind kind = Kind::smooth;
  std::vector<size_t> columns;
  std::vector<double> shape;    // thresholds, periods, centres: as the kind needs them
  std::vector<double> weights;  // per class
};

struct VariedDraw {
  int64_t rows = 0, classes = 2;
  double imbalance = 1;    // rows of the most frequent class for each of the rarest
  double label_noise = 0;  // share of the labels that are drawn from all classes alike
  double strength = 1;     // deviation of the scores
  std::vector<VariedColumn> columns;
  std::vector<VariedEffect> effects;

  std::vector<std::string> informative() const;  // names of the columns that an effect reads, in their order
  nlohmann::json to_json() const;
};

// `rows`: 0: drawn as well.
VariedDraw draw_varied(uint64_t seed, int64_t rows = 0);

}  // namespace l0gm
