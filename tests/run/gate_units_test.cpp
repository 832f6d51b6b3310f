#include "run/gate_units.h"

#include <gtest/gtest.h>

#include <numeric>

namespace l0gm {
namespace {

TEST(GateHistogram, CountsEveryUnitOnce) {
  const std::vector<double> p = {0, 0.01, 1.0 / 30, 0.5, 0.99, 1};
  const GateHistogram histogram = gate_histogram("interface", p);
  EXPECT_EQ(histogram.site, "interface");
  ASSERT_EQ(std::ssize(histogram.counts), gate_histogram_bins);
  EXPECT_EQ(histogram.counts[0], 2);
  EXPECT_EQ(histogram.counts[1], 1) << "a bin begins with its lower edge";
  EXPECT_EQ(histogram.counts[15], 1);
  EXPECT_EQ(histogram.counts[29], 2) << "1 is in the last one";
  EXPECT_DOUBLE_EQ(histogram.sum, 2.5 + 1.0 / 30);
  EXPECT_DOUBLE_EQ(histogram.smallest, 0);
  EXPECT_DOUBLE_EQ(histogram.largest, 1);
  EXPECT_NEAR(histogram.sum_of_squares, 0.0001 + 1.0 / 900 + 0.25 + 0.9801 + 1, 1e-12);
}

TEST(GateHistogram, WithoutUnits) {
  const GateHistogram histogram = gate_histogram("x", {});
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), int64_t{0}), 0);
}

std::vector<std::string> groups(const std::vector<std::string>& names) { return group_names(names, "interface"); }

TEST(GroupNames, AreWhatStandsBeforeTheNumber) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(groups({"age[0]", "age[11]", "city"}), (Names{"age", "age", "city"}));
  EXPECT_EQ(groups({"layer 1 head 0", "layer 12 head 3"}), (Names{"layer 1", "layer 12"}));
  EXPECT_EQ(groups({"channel 0", "channel 1"}), (Names{"interface", "interface"})) << "nothing stands before it: the site";
  EXPECT_EQ(groups({"year 2019", "city"}), (Names{"year 2019", "city"})) << "names of columns, not numbered ones";
  EXPECT_EQ(groups({"a[b]", "[3]", "x[]", "x[3"}), (Names{"a[b]", "[3]", "x[]", "x[3"})) << "no index";
}

SiteUnits example(int64_t fields, int64_t width) {
  std::vector<double> p, values;
  for (int64_t i = 0; i < fields * width; ++i) {
    p.push_back(i % width == 0 ? 0.98 : 0.02);
    values.push_back(i % width == 0 ? 1 : 0);
  }
  const auto name = [width](int64_t unit) {
    return "f" + std::to_string(unit / width) + "[" + std::to_string(unit % width) + "]";
  };
  return site_units("interface", "units", name, p, values);
}

TEST(SiteUnits, GroupsInTheOrderOfTheModel) {
  const SiteUnits site = example(3, 4);
  EXPECT_EQ(site.units, 12);
  EXPECT_EQ(site.open_units, 3);
  ASSERT_EQ(site.groups.size(), 3u);
  EXPECT_EQ(site.groups[1].name, "f1");
  EXPECT_EQ(site.groups[1].units, 4);
  EXPECT_EQ(site.groups[1].open, 1);
  EXPECT_NEAR(site.groups[1].mean, (0.98 + 3 * 0.02) / 4, 1e-12);
  ASSERT_TRUE(site.names && site.probability && site.open && site.group_of);
  EXPECT_EQ((*site.names)[5], "f1[1]");
  EXPECT_EQ((*site.group_of)[5], 1);
  EXPECT_EQ((*site.open)[4], 1);
  EXPECT_EQ((*site.open)[5], 0);
}

TEST(SiteUnits, ManyUnitsAreToldInGroups) {
  const SiteUnits site = example(10, most_named_units);
  EXPECT_FALSE(site.names || site.probability || site.open || site.group_of);
  EXPECT_EQ(site.groups.size(), 10u);
}

TEST(SiteUnits, OfManyGroupsThoseWithTheMostOpenUnits) {
  std::vector<double> p(most_told_groups + 100, 0.1), values(p.size(), 0);
  values.back() = 1;
  const SiteUnits site = site_units("input", "columns", [](int64_t unit) { return "c" + std::to_string(unit); }, p, values);
  EXPECT_EQ(std::ssize(site.groups), most_told_groups);
  EXPECT_EQ(site.groups_in_all, most_told_groups + 100);
  EXPECT_EQ(site.groups.back().name, "c" + std::to_string(p.size() - 1));
  EXPECT_EQ(site.group_of->back(), most_told_groups - 1);
  EXPECT_EQ((*site.group_of)[p.size() - 2], -1) << "its group is not told";
}

TEST(SiteUnits, ThereAndBackThroughJson) {
  const SiteUnits site = example(2, 3);
  const SiteUnits again = fields_from_json<SiteUnits>(fields_to_json(site));
  EXPECT_EQ(again.names, site.names);
  EXPECT_EQ(again.probability, site.probability);
  EXPECT_EQ(again.histogram, site.histogram);
}

}  // namespace
}  // namespace l0gm
