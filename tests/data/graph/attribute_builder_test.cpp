#include "data/graph/attribute_builder.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace l0gm {
namespace {

// Rows of which `first` of the values are not zero up to row 2,000, and `then` behind it.
std::vector<float> rows_of(int64_t rows, int64_t width, double first, double then) {
  RandomStream random(3);
  std::vector<float> values(static_cast<size_t>(rows * width), 0.F);
  for (size_t i = 0; i < values.size(); ++i) {
    if (random.uniform() < (static_cast<int64_t>(i) / width < 2000 ? first : then)) values[i] = static_cast<float>(i + 1);
  }
  return values;
}

std::vector<float> as_dense(const Graph& graph, int64_t rows) {
  if (!graph.is_sparse()) return {graph.dense.begin(), graph.dense.end()};
  std::vector<float> values(static_cast<size_t>(rows * graph.attributes), 0.F);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = graph.sparse.offsets[row]; i < graph.sparse.offsets[row + 1]; ++i) {
      values[static_cast<size_t>(row * graph.attributes + graph.sparse.columns[i])] = graph.sparse.values[i];
    }
  }
  return values;
}

TEST(AttributeBuilder, StoresWhatItWasGivenAsItIs) {
  constexpr int64_t width = 20;
  struct Case {
    int64_t rows;
    double first, then;
    bool sparse;
  };
  // Few rows and many; both kinds; and rows that begin as one kind and turn out as the other.
  for (const Case& c : {Case{10, 0.1, 0, true}, Case{10, 0.5, 0, false}, Case{3000, 0.1, 0.1, true}, Case{3000, 0.6, 0.6, false},
                        Case{12000, 0.6, 0.05, true}, Case{12000, 0.05, 0.6, false}}) {
    const std::vector<float> values = rows_of(c.rows, width, c.first, c.then);
    AttributeBuilder builder;
    for (int64_t row = 0; row < c.rows; ++row) builder.add({values.data() + row * width, static_cast<size_t>(width)});
    EXPECT_EQ(builder.rows(), c.rows);
    EXPECT_EQ(builder.width(), width);
    Graph graph, whole;
    builder.finish(graph);
    EXPECT_EQ(graph.is_sparse(), c.sparse) << c.rows << " " << c.first;
    EXPECT_EQ(as_dense(graph, c.rows), values);
    set_attributes(whole, values, width);
    EXPECT_EQ(whole.is_sparse(), c.sparse);
    EXPECT_EQ(as_dense(whole, c.rows), values);
  }
}

TEST(AttributeBuilder, AQuarterIsDense) {
  Graph graph;
  set_attributes(graph, {1, 0, 0, 0, 0, 0, 0, 2}, 4);
  EXPECT_FALSE(graph.is_sparse());
  set_attributes(graph, {1, 0, 0, 0, 0, 0, 0, 0}, 4);
  EXPECT_TRUE(graph.is_sparse());
  EXPECT_EQ(graph.attributes, 4);
}

}  // namespace
}  // namespace l0gm
