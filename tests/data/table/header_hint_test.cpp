#include "data/table/header_hint.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(HeaderHint, AnotherDelimiter) {
  EXPECT_EQ(header_hint({"x;y"}, ',', "y", training_words), " Its first line is separated by ';': set data.delimiter = \";\".");
  EXPECT_EQ(header_hint({"x\t\"y\"\tz", "w"}, ',', "y", predict_words),
            " Its first line is separated by '\\t': set --delimiter '\\t'.");
  EXPECT_EQ(header_hint({"x|z"}, ',', "y", training_words), " Its first line is separated by '|': set data.delimiter = \"|\".");
}

TEST(HeaderHint, NoHeader) {
  const std::string hint = header_hint({"39", "State-gov", "77516"}, ',', "income", training_words);
  EXPECT_NE(hint.find("line 1, looks like a row"), std::string::npos) << hint;
  EXPECT_NE(hint.find("data.header = false"), std::string::npos) << hint;
  EXPECT_NE(header_hint({"1", "2"}, ',', "x", predict_words).find("--no-header"), std::string::npos);
  const std::string named = header_hint({"1", "2"}, ',', "x", predict_named_words);
  EXPECT_NE(named.find("put a line with the names of its columns above it"), std::string::npos) << named;
}

TEST(HeaderHint, AnOrdinaryHeader) {
  EXPECT_EQ(header_hint({"age", "income"}, ',', "incom", training_words), "");
  EXPECT_EQ(header_hint({"age; in years", "income"}, ',', "incom", training_words), "");
}

}  // namespace
}  // namespace l0gm
