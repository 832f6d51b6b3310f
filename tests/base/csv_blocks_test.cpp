#include "base/csv_blocks.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

// The result of reading a file: its rows, or the error message.
struct Reading {
  std::vector<std::vector<std::string>> rows;
  std::string refusal;
  bool operator==(const Reading&) const = default;
};

Reading by_reader(const std::filesystem::path& path, const CsvOptions& options) {
  Reading result;
  try {
    CsvReader reader(path, options);
    for (std::vector<std::string_view> cells; reader.next(cells);) result.rows.emplace_back(cells.begin(), cells.end());
  } catch (const UserError& error) {
    return {{}, error.what()};
  }
  return result;
}

Reading by_blocks(const std::filesystem::path& path, const CsvOptions& options, size_t block_bytes,
                  int64_t* blocks_seen = nullptr) {
  Reading result;
  try {
    CsvBlocks blocks(path, options.delimiter, block_bytes, options.longest_line);
    std::vector<int64_t> columns;
    for (size_t i = 0; i < blocks.names().size(); ++i) columns.push_back(static_cast<int64_t>(i));
    CsvBlock block(blocks);
    CsvSplitter splitter(blocks, columns);
    while (blocks.next(block)) {
      if (blocks_seen != nullptr) ++*blocks_seen;
      splitter.split(block);
      for (int64_t row = 0; row < splitter.rows(); ++row) {
        const std::string_view* cells = splitter.cells() + static_cast<size_t>(row) * columns.size();
        result.rows.emplace_back(cells, cells + columns.size());
      }
    }
  } catch (const UserError& error) {
    return {{}, error.what()};
  }
  return result;
}

class CsvBlocksTest : public testing::Test {
 protected:
  // Expects the same result as the reader's for blocks of all sizes.
  void same(const std::string& bytes, const CsvOptions& options = {}) {
    const auto path = folder_.write("t.csv", bytes);
    const Reading wanted = by_reader(path, options);
    for (const size_t block_bytes : {1, 2, 3, 5, 8, 13, 64, 1000}) {
      const Reading found = by_blocks(path, options, block_bytes);
      // A row with a second mistake beyond the longest length: the reader may have read on and reported that one.
      if (!wanted.refusal.empty() && found.refusal.find("is longer than") != std::string::npos) continue;
      ASSERT_EQ(found.refusal, wanted.refusal) << testing::PrintToString(bytes) << " in blocks of " << block_bytes;
      ASSERT_EQ(found.rows, wanted.rows) << testing::PrintToString(bytes) << " in blocks of " << block_bytes;
    }
  }
  TemporaryFolder folder_;
};

TEST_F(CsvBlocksTest, RowsAreThoseOfTheReader) {
  same("a,b\n1,2\n3,\n");
  same("a,b\n1,2\n3,4");
  same(
      "\xEF\xBB\xBF"
      "a,b\r\n1,2\r\n\r\n,\r\n\n7,8\r");
  same("a,b\n\n\n");
  same("a,b");
  same("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"\",z\n");
  same("a,b\n\"line 1\nline 2\r\n\",2\n3,\"4\"");
  same("a,b\n5\" pipe,2\n\"x\",\n6\",\"\n\"\n");
  same("a\n1\n\n2\n");
  CsvOptions options;
  options.delimiter = ';';
  same("a;b\n\"x;y\";,\n\"\n\";\",\"\n", options);
}

TEST_F(CsvBlocksTest, RefusalsAreThoseOfTheReader) {
  same("");
  same("a,b,c\n1,2,3\n4,5\n7,8,9\n");
  same("a,b\n\"1\n\",2\n1,2,3,4\n");
  same(std::string("a,b\n1,2\n3,\0\n", 12));
  same(
      "a,b\n1,2\nx\xC3\xA4"
      "caf\xE9,2\n");
  same("a,b\n1,caf\xC3");
  same("a,b\n1\n\xE9,2\n");
  same("a,b\n\"x\n\xE9\",2\n");
  same("a,b\n1,\"2\n3,4\n");
  same("a,b\n\"x\ny\"z,2\n3,4\n");
  same("a,b\n1,\"2\"\rx\n");
  same("a,b,a\n1,2,3\n");
}

TEST_F(CsvBlocksTest, LinesThatAreTooLongAreRefusedWhereTheReaderRefusesThem) {
  CsvOptions options;
  options.longest_line = 12;
  same("a,b\n1,2\n1,234567890\n3,4\n", options);
  same("a,b\n1,2\n1,2345678901\n3,4\n", options);
  same("a,b\n1,2\n1,2345678901", options);
  const auto path = folder_.write("t.csv", "a,b\n1,2\n1,2345678901" + std::string(99, '5') + "\n3,4\n");
  EXPECT_EQ(by_blocks(path, options, 3), by_reader(path, options));
  EXPECT_NE(by_blocks(path, options, 3).refusal.find("line 3 is longer than 12 bytes"), std::string::npos);
  same("a,b\n1,2\n1,\"23\n45\n67\n89\n01\n", options);
  same("a,b\n1,2\n1,2345678901" + std::string(40, '5') + "\n3,4\n", options);
  same("a,b\n1,2\n1,23456\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\n", options);
}

TEST_F(CsvBlocksTest, AnyTextAtAllIsReadAlike) {
  RandomStream random(11);
  const std::vector<std::string> pieces = {"a",  "1",    ",",     ",",     ",",  "\n", "\n",       "\r\n",
                                           "\"", "\"\"", "\"x\"", "\",\"", "\r", " ",  "\xC3\xA4", "long cell"};
  for (int trial = 0; trial < 1500; ++trial) {
    std::string text = trial % 7 == 0 ? "a\n" : "a,b\n";
    const uint64_t size = random.below(40);
    for (uint64_t i = 0; i < size; ++i) {
      text += pieces[random.below(pieces.size())];
      if (random.below(3) == 0) text += trial % 2 == 0 ? ",\"q\n\"\n" : ",2\n";
      if (random.below(300) == 0) text += "\xE9";
    }
    CsvOptions options;
    if (trial % 5 == 0) options.longest_line = 9;
    same(text, options);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CsvBlocksTest, WellFormedTextIsReadAlike) {
  RandomStream random(12);
  const std::vector<std::string> cells = {
      "", "1", "23", "\"q\"", "\"a,b\"", "\"two\nlines\"", "\"say \"\"hi\"\"\"", "5\"", "\xF0\x9F\x98\x80"};
  for (int trial = 0; trial < 300; ++trial) {
    std::string text = "x,y,z\n";
    for (uint64_t row = random.below(12); row > 0; --row) {
      for (int column = 0; column < 3; ++column) text += (column > 0 ? "," : "") + cells[random.below(cells.size())];
      text += random.below(4) == 0 ? "\r\n" : "\n";
    }
    same(text);
    ASSERT_TRUE(by_blocks(folder_.path() / "t.csv", {}, 16).refusal.empty()) << text;
    if (HasFatalFailure()) return;
  }
}

TEST_F(CsvBlocksTest, BlocksHaveAboutTheSizeAskedFor) {
  std::string text = "a,b\n";
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i) + ",x\n";
  int64_t blocks = 0;
  const Reading all = by_blocks(folder_.write("t.csv", text), {}, 1000, &blocks);
  EXPECT_EQ(all.rows.size(), 50'000u);
  EXPECT_EQ(all.rows.back().front(), "49999");
  EXPECT_GT(blocks, static_cast<int64_t>(text.size()) / 1000 - 1);
  EXPECT_LT(blocks, static_cast<int64_t>(text.size()) / 900);
}

TEST_F(CsvBlocksTest, OnlyWantedColumnsInTheOrderAskedFor) {
  const auto path = folder_.write("t.csv", "a,b,c,d\n1,2,3,4\n\n5,6,7,8\n\"9\",10,11,12\n");
  CsvBlocks blocks(path, ',', 20);
  CsvBlock block(blocks);
  CsvSplitter splitter(blocks, {3, 0});
  std::vector<std::string> found;
  while (blocks.next(block)) {
    splitter.split(block);
    for (int64_t i = 0; i < 2 * splitter.rows(); ++i) found.emplace_back(splitter.cells()[i]);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"4", "1", "8", "5", "12", "9"}));
}

}  // namespace
}  // namespace l0gm
