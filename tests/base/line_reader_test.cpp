#include "base/line_reader.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

TEST(LineReader, LinesOfAllEndings) {
  const TemporaryFolder folder;
  LineReader reader(folder.write("a", "one\r\n\ntwo\nlast"));
  std::string_view line;
  std::vector<std::string> lines;
  while (reader.next(line)) {
    lines.emplace_back(line);
    EXPECT_EQ(reader.line(), static_cast<int64_t>(lines.size()));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two", "last"}));
  EXPECT_FALSE(reader.next(line));
  LineReader empty(folder.write("b", ""));
  EXPECT_FALSE(empty.next(line));
}

// Lines that lie across the blocks in which the file is read, and one that is longer than a block.
TEST(LineReader, BlocksDoNotShow) {
  const TemporaryFolder folder;
  std::string text;
  std::vector<std::string> wanted;
  for (int64_t i = 0; i < 300000; ++i) wanted.push_back(std::to_string(i * 7919));
  wanted[150000] = std::string(3000000, 'x');
  for (const std::string& line : wanted) text += line + "\n";
  LineReader reader(folder.write("a", text));
  std::string_view line;
  size_t count = 0;
  while (reader.next(line)) ASSERT_EQ(line, wanted[count++]);
  EXPECT_EQ(count, wanted.size());
}

TEST(LineReader, EndlessLineIsRefused) {
  const TemporaryFolder folder;
  LineReader reader(folder.write("a", std::string(70 << 20, 'x')));
  std::string_view line;
  const std::string message = message_of<UserError>([&] { reader.next(line); });
  EXPECT_NE(message.find("line 1 has more than 64 MiB"), std::string::npos) << message;
}

}  // namespace
}  // namespace l0gm
