#include "baselines/search_space.h"

#include <gtest/gtest.h>

#include <set>

#include "l0gm/error.h"

namespace l0gm {
namespace {

SearchSpace small_space() {
  return {axis_of("train.lr", {"1e-3", "3e-3"}),
          {"coupling", {{"coupling.kind=none"}, {"coupling.kind=mmce", "coupling.weight=0.3"}}}};
}

TEST(SearchSpace, GridIsEveryPoint) {
  const std::vector<Trial> trials = grid_of(small_space(), 4);
  ASSERT_EQ(trials.size(), 4U);
  EXPECT_EQ(trials[0].name, "train.lr=1e-3 coupling.kind=none");
  EXPECT_EQ(trials[3].settings, (std::vector<std::string>{"train.lr=3e-3", "coupling.kind=mmce", "coupling.weight=0.3"}));
  EXPECT_THROW(grid_of(small_space(), 3), UserError);
}

TEST(SearchSpace, DrawsBeginAlikeAndDoNotRepeat) {
  const std::vector<Trial> few = draw_trials(small_space(), 3, 7), all = draw_trials(small_space(), 100, 7);
  EXPECT_EQ(few[0].name, "as given");
  EXPECT_TRUE(few[0].settings.empty());
  ASSERT_EQ(few.size(), 3U);
  ASSERT_EQ(all.size(), 5U);  // as given, and the four points
  std::set<std::string> names;
  for (const Trial& trial : all) names.insert(trial.name);
  EXPECT_EQ(names.size(), 5U);
  for (size_t i = 0; i < few.size(); ++i) EXPECT_EQ(few[i].name, all[i].name);
  EXPECT_EQ(points_of(small_space()), 4);
}

TEST(SearchSpace, ReadsAxes) {
  const SearchAxis axis = read_axis("train.lr = 1e-4, 3e-4");
  EXPECT_EQ(axis.name, "train.lr");
  ASSERT_EQ(axis.values.size(), 2U);
  EXPECT_EQ(axis.values[1], std::vector<std::string>{"train.lr=3e-4"});
  for (const char* wrong : {"train.lr", "train.lr=", "train.lr=1", "=1,2", "train.lr=1,,2"})
    EXPECT_THROW(read_axis(wrong), UserError) << wrong;
}

}  // namespace
}  // namespace l0gm
