#include <gtest/gtest.h>

#include "data/graph/attribute_tools.h"
#include "data/graph/attributes.h"
#include "data/graph/check_graph.h"

namespace l0gm {
namespace {

const std::vector<std::vector<float>> rows = {{1, 0, -2, 0.5F, 0}, {0, 0, 0, 0, 0}, {0, 3, 0, 4, 5}, {6, 0, 0, 0, 7}};

class SelectAttributes : public testing::TestWithParam<bool> {
 protected:
  SelectAttributes() : graph_(graph_of(rows, {0, 2}, GetParam())) { graph_.attribute_names = {"a", "b", "c", "d", "e"}; }
  Graph graph_;
};

TEST_P(SelectAttributes, LeavesTheColumnsThatAreKept) {
  const Graph less = select_attributes(graph_, {0, 2, 4});
  EXPECT_EQ(less.attributes, 3);
  EXPECT_EQ(less.is_sparse(), GetParam());
  EXPECT_EQ(less.attribute_names, (std::vector<std::string>{"a", "c", "e"}));
  for (int64_t node = 0; node < 4; ++node) {
    const auto& all = rows[static_cast<size_t>(node)];
    EXPECT_EQ(row_of(less, node), (std::vector<float>{all[0], all[2], all[4]})) << node;
  }
  EXPECT_NO_THROW(check_graph(less, "less"));
}

TEST_P(SelectAttributes, StoresNoMoreThanIsLeft) {
  const Graph less = select_attributes(graph_, {1, 3});
  if (GetParam()) {
    EXPECT_EQ(less.sparse.values.size(), 3) << "0.5, 3 and 4";
    EXPECT_EQ(less.sparse.columns.size(), 3);
    EXPECT_EQ(less.sparse.offsets.size(), 5);
  } else {
    EXPECT_EQ(less.dense.size(), 4 * 2);
  }
}

TEST_P(SelectAttributes, AllAreTheSameGraph) {
  const Graph same = select_attributes(graph_, {0, 1, 2, 3, 4});
  for (int64_t node = 0; node < 4; ++node) EXPECT_EQ(row_of(same, node), row_of(graph_, node)) << node;
  EXPECT_EQ(same.attribute_names, graph_.attribute_names);
}

TEST_P(SelectAttributes, TwiceIsOnceWithBoth) {
  const Graph twice = select_attributes(select_attributes(graph_, {1, 2, 4}), {0, 2});
  const Graph once = select_attributes(graph_, {1, 4});
  for (int64_t node = 0; node < 4; ++node) EXPECT_EQ(row_of(twice, node), row_of(once, node)) << node;
  EXPECT_EQ(twice.attribute_names, (std::vector<std::string>{"b", "e"}));
}

TEST_P(SelectAttributes, NamesThatWereNumbersStayWithTheirColumns) {
  graph_.attribute_names.clear();
  EXPECT_EQ(select_attributes(graph_, {1, 4}).attribute_names, (std::vector<std::string>{"1", "4"}));
}

TEST_P(SelectAttributes, StructureLabelsAndSplitAreShared) {
  const Graph less = select_attributes(graph_, {3});
  EXPECT_EQ(less.offsets.data(), graph_.offsets.data());
  EXPECT_EQ(less.labels.data(), graph_.labels.data());
  EXPECT_EQ(less.train, graph_.train);
  EXPECT_EQ(less.classes, graph_.classes);
}

INSTANTIATE_TEST_SUITE_P(Stored, SelectAttributes, testing::Bool(),
                         [](const auto& sparse) { return sparse.param ? "Sparse" : "Dense"; });

}  // namespace
}  // namespace l0gm
