#include "base/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "standard_error.h"

namespace l0gm {
namespace {

long columns(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TEST(ProgressLine, ShowsBarPercentageTimesAndNote) {
  EXPECT_EQ(progress_line("train", 1, 4, 10, "nll 0.27", 200),
            "train │███████▌                      │  25 %  00:10 < 00:30  nll 0.27");
  EXPECT_EQ(progress_line("train", 4, 4, 3725, "", 200), "train │██████████████████████████████│ 100 %  1:02:05 < 00:00");
  EXPECT_EQ(progress_line("train", 0, 4, 1, "", 200), "train │                              │   0 %  00:01 < --:--");
  EXPECT_EQ(progress_line("train", 9999, 10000, 1, "", 44), "train │██████████████▉│  99 %  00:01 < 00:00");
}

TEST(ProgressLine, CountsOutOfRange) {
  EXPECT_EQ(progress_line("t", 9, 4, 1, "", 200), progress_line("t", 4, 4, 1, "", 200));
  EXPECT_EQ(progress_line("t", -3, 4, 1, "", 200), progress_line("t", 0, 4, 1, "", 200));
  EXPECT_EQ(progress_line("read", 12345, 0, 61, "rows", 200), "read  12,345  01:01  rows");
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_NE(progress_line("t", most, most, 1, "", 200).find("100 %"), std::string::npos);
}

TEST(ProgressLine, RateOfWhatIsCounted) {
  EXPECT_EQ(progress_line("train", 1, 4, 10, "nll 0.27", 200, {"steps"}),
            "train │███████▌                      │  25 %  00:10 < 00:30  0.10 steps/s  nll 0.27");
  EXPECT_EQ(progress_line("read", 12340, 0, 10, "", 200, {"rows"}), "read  12,340  00:10  1,234 rows/s");
  EXPECT_NE(progress_line("f", 50'000'000, 100'000'000, 4, "", 200, {"bytes"}).find("< 00:04  12.5 MB/s"), std::string::npos);
  EXPECT_EQ(progress_line("t", 0, 4, 1, "", 200, {"rows"}), progress_line("t", 0, 4, 1, "", 200)) << "nothing to tell yet";
}

TEST(ProgressLine, AResumedJobCountsFromWhereItBegan) {
  const std::string line = progress_line("train", 600, 1000, 10, "", 200, {"steps", 500});
  EXPECT_NE(line.find("60 %  00:10 < 00:40  10.0 steps/s"), std::string::npos) << line;
}

TEST(ProgressLine, FitsEveryWidth) {
  for (int width = 0; width < 150; ++width) {
    for (const int64_t total : {0, 100}) {
      EXPECT_LE(columns(progress_line("a title – é", 33, total, 5, "harden  valid nll 0.2731  active 12.5 %", width)), width);
    }
  }
  EXPECT_EQ(progress_line("abcdef", 1, 2, 1, "", 4), "abc…");
}

TEST(ProgressLine, ControlCharactersBecomeBlanks) {
  EXPECT_EQ(progress_line("a\nb", 5, 0, 0, "c\x1b[2Jd\r", 200), "a b  5  00:00  c [2Jd ");
}

TEST(Progress, PrintsNothingElsewhereThanOnATerminal) {
  const std::string text = written_to_standard_error([] {
    Progress progress("train", 10);
    progress.update(5, "note");
    log_info("line");
  });
  EXPECT_EQ(text, "line\n");
}

TEST(Progress, LogLinesGoAboveTheBarAndTheBarIsCleared) {
  const std::string text = written_to_terminal(60, [] {
    Progress progress("train", 10);
    progress.update(5, "note");
    log_info("a line");
  });
  if (text == no_terminal) GTEST_SKIP() << "no pseudo terminal here";
  const std::string clear = "\r\x1b[K";
  const size_t first_bar = text.find("\rtrain │");
  const size_t line = text.find(clear + "a line\r\n");
  ASSERT_EQ(first_bar, 0U) << text;
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_NE(text.find("\rtrain │", line), std::string::npos) << "drawn again below the line";
  EXPECT_TRUE(text.ends_with(clear)) << text;
}

TEST(Progress, IsDrawnAtMostTenTimesASecond) {
  const std::string text = written_to_terminal(60, [] {
    Progress progress("train", 1000000);
    for (int i = 0; i < 1000; ++i) progress.update(i);
  });
  if (text == no_terminal) GTEST_SKIP() << "no pseudo terminal here";
  size_t drawn = 0;
  for (size_t at = 0; (at = text.find("train", at)) != std::string::npos; ++at) ++drawn;
  EXPECT_GE(drawn, 1U);
  EXPECT_LT(drawn, 500U);  // a thousand without the limit
}

TEST(Progress, QuietShowsNoBar) {
  set_log_level(LogLevel::quiet);
  const std::string text = written_to_terminal(60, [] { Progress("train", 10).update(5); });
  set_log_level(LogLevel::normal);
  if (text == no_terminal) GTEST_SKIP() << "no pseudo terminal here";
  EXPECT_EQ(text, "");
}

TEST(Progress, InnerBarGivesWayToTheOuterOne) {
  const std::string text = written_to_terminal(60, [] {
    Progress outer("outer", 10);
    outer.update(1);
    {
      Progress inner("inner", 10);
      inner.update(5);
      outer.update(2);
    }
  });
  if (text == no_terminal) GTEST_SKIP() << "no pseudo terminal here";
  const size_t inner = text.find("inner");
  ASSERT_NE(inner, std::string::npos) << text;
  EXPECT_LT(text.find("outer"), inner);
  EXPECT_NE(text.find("outer", inner), std::string::npos);
}

}  // namespace
}  // namespace l0gm
