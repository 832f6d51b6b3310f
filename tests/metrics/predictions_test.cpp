#include "metrics/predictions.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/files.h"
#include "l0gm/error.h"
#include "make_predictions.h"

namespace l0gm {
namespace {

using testing_tools::calibrated_model;
using testing_tools::make_predictions;

std::filesystem::path place() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return std::filesystem::path(testing::TempDir()) / (std::string("l0gm_predictions_") + test->name() + ".csv");
}

Predictions read_text(const std::string& text) {
  std::ofstream(place(), std::ios::binary) << text;
  return read_predictions(place());
}

std::string message_of(const std::string& text) {
  try {
    read_text(text);
  } catch (const UserError& error) {
    const std::string message = error.what();
    const std::string file = place().string();
    return message.starts_with(file) ? message.substr(file.size()) : message;
  }
  return "accepted";
}

TEST(Predictions, WritesTheDocumentedFormat) {
  Predictions p = make_predictions({1, -1}, {{0.25, 0.75}, {1, 0}});
  p.rows = {7, 3};
  write_predictions(place(), p);
  EXPECT_EQ(read_file(place()), "row,label,p_c0,p_c1\n7,c1,0.25,0.75\n3,,1,0\n");
}

TEST(Predictions, RoundTripIsBitExact) {
  Predictions p = calibrated_model(500, 7, 3, 1);
  p.labels[3] = -1;
  p.probabilities[0] = 0;  // then renormalise row 0, with a denormal beside it
  p.probabilities[1] = 5e-324;
  double sum = 0;
  for (int c = 0; c < 7; ++c) sum += p.probabilities[c];
  for (int c = 2; c < 7; ++c) p.probabilities[c] /= sum;
  write_predictions(place(), p);
  const Predictions back = read_predictions(place());
  EXPECT_EQ(back.classes, p.classes);
  EXPECT_EQ(back.rows, p.rows);
  EXPECT_EQ(back.labels, p.labels);
  EXPECT_EQ(back.probabilities, p.probabilities);
}

TEST(Predictions, AwkwardClassNamesSurvive) {
  Predictions p = make_predictions({0, 1, 2, 3, 4, 5}, std::vector<std::vector<double>>(6, {0.5, 0.1, 0.1, 0.1, 0.1, 0.1}));
  p.classes = {"<=50K, \"net\"", "two\nlines", " blank ", "p_", "cr\r", "größer"};
  write_predictions(place(), p);
  const Predictions back = read_predictions(place());
  EXPECT_EQ(back.classes, p.classes);
  EXPECT_EQ(back.labels, p.labels);
}

TEST(Predictions, ReadsCrlfByteOrderMarkAndAMissingLastLineFeed) {
  const Predictions p = read_text("\xEF\xBB\xBFrow,label,p_a,p_b\r\n0,b,0.5,0.5\r\n1,\"a\",1e0,0");
  EXPECT_EQ(p.classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(p.labels, (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(p.probabilities, (std::vector<double>{0.5, 0.5, 1, 0}));
  EXPECT_EQ(read_text("row,label,p_a\n0,,1\n\n\r\n").size(), 1);
  EXPECT_EQ(read_text("row,label,p_a\n").size(), 0);
}

TEST(Predictions, RenormalisesWithinTheTolerance) {
  const Predictions p = read_text("row,label,p_a,p_b\n0,a,0.50004,0.50004\n");
  EXPECT_DOUBLE_EQ(p.probabilities[0], 0.5);
  EXPECT_EQ(message_of("row,label,p_a,p_b\n0,a,0.5001,0.5001\n"),
            ", line 2: the probabilities sum to 1.0002; wanted 1 (within 0.0001)");
}

TEST(Predictions, RefusesBadHeaders) {
  EXPECT_EQ(message_of(""), ", line 1: the file is empty; wanted a header 'row,label,p_<class>,…'");
  const std::string shape = ", line 1: the header is not 'row,label,p_<class>,…' with a column for each class";
  EXPECT_EQ(message_of("0,1,0.5\n"), shape);
  EXPECT_EQ(message_of("row,label\n"), shape);
  EXPECT_EQ(message_of("row,label,a\n"), ", line 1: column 3 is named 'a'; wanted 'p_' followed by the name of a class");
  EXPECT_EQ(message_of("row,label,p_\n"), ", line 1: column 3 is named 'p_'; wanted 'p_' followed by the name of a class");
  EXPECT_EQ(message_of("row,label,p_a,"), ", line 1: column 4 is named ''; wanted 'p_' followed by the name of a class");
  EXPECT_EQ(message_of("row,label,p_a,p_a\n"), ", line 1: the class 'a' has two columns; each class needs exactly one");
  EXPECT_EQ(message_of("row,label,p_a\xFF\n"), ", line 1: the name of column 3 is not valid UTF-8 (byte 3)");
}

TEST(Predictions, RefusesBadRowsAndNamesTheLine) {
  const std::string head = "row,label,\"p_a\nb\",p_c\n0,c,0.5,0.5\n";  // the header takes two lines
  EXPECT_EQ(message_of(head + "1,c,0.5\n"), ", line 4: found 3 fields; the header has 4");
  EXPECT_EQ(message_of(head + "\n1,c,0.5,0.5\n"), ", line 4: found 1 fields; the header has 4");
  EXPECT_EQ(message_of(head + "1,c,0.5,0.5,\n"), ", line 4: found 5 fields; the header has 4");
  EXPECT_EQ(message_of(head + "1.5,c,0.5,0.5\n"), ", line 4: the row number is '1.5'; wanted an integer");
  EXPECT_TRUE(message_of(head + "1,d,0.5,0.5\n").starts_with(", line 4: the label 'd' is not one of the classes "));
  for (const std::string bad : {"nan", "inf", "-0.1", "1.1", "", "0.5x", "0,5"}) {
    EXPECT_TRUE(message_of(head + "1,c," + bad + ",0.5\n").starts_with(", line 4: ")) << bad;
  }
  EXPECT_EQ(message_of(head + "1,c,nan,0.5\n"),
            ", line 4: the probability of class 'a\nb' is 'nan'; wanted a number from 0 to 1");
  EXPECT_EQ(message_of(head + "1,\"c,0.5,0.5\n"), ", line 4: a quoted field is not closed before the end of the file");
  EXPECT_EQ(message_of(head + "1,\"c\"x,0.5,0.5\n"),
            ", line 4: text follows the closing quote of a field; a quote inside a field is written twice");
  EXPECT_EQ(message_of(head + "5,c,0,1\n3,c,0,1\n5,c,0,1\n"),
            ", line 6: row 5 was already given on line 4; each row may appear once");
}

TEST(Predictions, MissingFileIsTheUsersError) { EXPECT_THROW(read_predictions("/nonexistent/valid.csv"), UserError); }

TEST(Predictions, RefusesToWriteWhatItCouldNotReadBack) {
  Predictions p = make_predictions({0}, {{0.5, 0.5}});
  p.classes = {"a", "a"};
  EXPECT_THROW(write_predictions(place(), p), UserError);
  p.classes = {"a", ""};
  EXPECT_THROW(write_predictions(place(), p), UserError);
  p.classes = {"a", "b"};
  p.probabilities[0] = std::nan("");
  EXPECT_THROW(write_predictions(place(), p), std::invalid_argument);
  p.probabilities = {1};
  EXPECT_THROW(write_predictions(place(), p), std::invalid_argument);
  p = make_predictions({2}, {{0.5, 0.5}});
  EXPECT_THROW(write_predictions(place(), p), std::invalid_argument);
  EXPECT_FALSE(std::filesystem::exists(place()));
}

}  // namespace
}  // namespace l0gm
