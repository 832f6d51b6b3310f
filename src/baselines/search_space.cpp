#include "baselines/search_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

Trial trial_at(const SearchSpace& space, const std::vector<size_t>& place) {
  Trial trial;
  for (size_t axis = 0; axis < space.size(); ++axis) {
    const std::vector<std::string>& value = space[axis].values[place[axis]];
    trial.settings.insert(trial.settings.end(), value.begin(), value.end());
  }
  trial.name = join(trial.settings, " ");
  return trial;
}

}  // namespace

SearchAxis axis_of(const std::string& key, const std::vector<std::string>& values) {
  SearchAxis axis{key, {}};
  for (const std::string& value : values) axis.values.push_back({key + "=" + value});
  return axis;
}

SearchAxis read_axis(const std::string& text) {
  const size_t equals = text.find('=');
  std::vector<std::string> values;
  for (size_t begin = equals + 1; equals != std::string::npos && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    values.emplace_back(trim(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  const bool empty = std::any_of(values.begin(), values.end(), [](const std::string& value) { return value.empty(); });
  if (values.size() < 2 || empty || equals == 0) {
    throw UserError(
        fmt::format("--search has '{}', wanted a key and two values at least, such as train.lr=1e-4,3e-4,1e-3", text));
  }
  return axis_of(std::string(trim(text.substr(0, equals))), values);
}

double points_of(const SearchSpace& space) {
  double points = 1;
  for (const SearchAxis& axis : space) points *= static_cast<double>(axis.values.size());
  return points;
}

std::vector<Trial> grid_of(const SearchSpace& space, int64_t most) {
  const double points = points_of(space);
  if (points > static_cast<double>(most)) {
    throw UserError(fmt::format(
        "the grid has {:.0f} points and the budget is {} trainings: name fewer values with --search, take --by random, or "
        "raise --budget",
        points, most));
  }
  std::vector<Trial> trials;
  std::vector<size_t> place(space.size(), 0);
  for (;;) {
    trials.push_back(trial_at(space, place));
    size_t axis = space.size();
    while (axis > 0 && ++place[axis - 1] == space[axis - 1].values.size()) place[--axis] = 0;
    if (axis == 0) return trials;
  }
}

std::vector<Trial> draw_trials(const SearchSpace& space, int64_t count, uint64_t seed) {
  std::vector<Trial> trials = {{"as given", {}}};
  const auto wanted = static_cast<size_t>(std::min(static_cast<double>(count), points_of(space) + 1));
  std::set<std::vector<size_t>> drawn;
  RandomStream random(seed, 0x74756e65);
  while (trials.size() < wanted) {
    std::vector<size_t> place;
    for (const SearchAxis& axis : space) place.push_back(static_cast<size_t>(random.below(axis.values.size())));
    if (drawn.insert(place).second) trials.push_back(trial_at(space, place));
  }
  return trials;
}

}  // namespace l0gm
