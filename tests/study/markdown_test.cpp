#include "study/markdown.h"

#include <gtest/gtest.h>

#include <cmath>

namespace l0gm {
namespace {

TEST(Markdown, ColumnsAreOfOneWidth) {
  EXPECT_EQ(markdown_table({"a", "longer"}, {{"wide cell", "µ"}, {"x"}}),
            "| a         | longer |\n"
            "|-----------|--------|\n"
            "| wide cell | µ      |\n"
            "| x         |        |\n");
}

TEST(Markdown, Figures) {
  EXPECT_EQ(figure_text(0.12345), "0.1235");
  EXPECT_EQ(figure_text(std::nan("")), "-");
  EXPECT_EQ(interval_text(0.5, 0.25, 0.75, 2), "0.50 (0.25 … 0.75)");
  EXPECT_EQ(interval_text(0.5, std::nan(""), 0.75, 2), "0.50");
  EXPECT_EQ(signed_text(0.001, -0.002, 0.004, 3), "+0.001 (-0.002 … +0.004)");
  EXPECT_EQ(signed_text(std::nan(""), 0, 0), "-");
}

}  // namespace
}  // namespace l0gm
