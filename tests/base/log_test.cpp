#include "base/log.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "standard_error.h"

namespace l0gm {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::normal); }
};

std::string everything_at(LogLevel level) {
  set_log_level(level);
  return written_to_standard_error([] {
    log_info("some news");
    log_detail("a detail");
    log_warning("a risk");
    log_error("a failure");
  });
}

TEST_F(Log, LevelsDecideWhatIsShown) {
  EXPECT_EQ(log_level(), LogLevel::normal);
  EXPECT_EQ(everything_at(LogLevel::quiet), "warning: a risk\nerror: a failure\n");
  EXPECT_EQ(everything_at(LogLevel::normal), "some news\nwarning: a risk\nerror: a failure\n");
  EXPECT_EQ(everything_at(LogLevel::verbose), "some news\na detail\nwarning: a risk\nerror: a failure\n");
}

TEST_F(Log, PercentSignsAndBracesAreText) {
  EXPECT_EQ(written_to_standard_error([] { log_info("100 %s %n {} {0"); }), "100 %s %n {} {0\n");
}

TEST_F(Log, LinesOfThreadsDoNotMix) {
  const std::string text = written_to_standard_error([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([i] {
        for (int line = 0; line < 50; ++line) log_info(std::string(100, static_cast<char>('a' + i)));
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_EQ(text.size(), 8U * 50 * 101);
  for (size_t at = 0; at < text.size(); at += 101) {
    ASSERT_EQ(text.substr(at, 101), std::string(100, text[at]) + "\n");
  }
}

TEST_F(Log, ColoursOnATerminalOnly) {
  const std::string text = written_to_terminal(80, [] {
    EXPECT_TRUE(standard_error_is_terminal());
    log_warning("a risk");
  });
  if (text == no_terminal) GTEST_SKIP() << "no pseudo terminal here";
  EXPECT_EQ(text, "\x1b[1;33mwarning:\x1b[0m a risk\r\n");
}

}  // namespace
}  // namespace l0gm
