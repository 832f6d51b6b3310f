#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace l0gm {

// What may be tried for one thing: each value is a list of settings, key=value, that belong together.
struct SearchAxis {
  std::string name;
  std::vector<std::vector<std::string>> values;
};
using SearchSpace = std::vector<SearchAxis>;

// One of a space's points, as settings.
struct Trial {
  std::string name;  // "as given", or its settings
  std::vector<std::string> settings;
};

SearchAxis axis_of(const std::string& key, const std::vector<std::string>& values);  // a setting each
// "train.lr=1e-4,3e-4,1e-3". UserError otherwise.
SearchAxis read_axis(const std::string& text);

double points_of(const SearchSpace& space);
// Every point, the last axis fastest. UserError where there are more than `most`.
std::vector<Trial> grid_of(const SearchSpace& space, int64_t most);
// The configuration as it is, then points drawn without repetition, `count` in all or as many as there are. Of the same space and
// seed a longer list begins like a shorter one.
std::vector<Trial> draw_trials(const SearchSpace& space, int64_t count, uint64_t seed);

}  // namespace l0gm
