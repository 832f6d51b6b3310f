#include "base/csv.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "l0gm/error.h"

namespace l0gm {
namespace {

using Rows = std::vector<std::vector<std::string>>;

testing::AssertionResult starts(const std::string& text, std::string_view start) {
  if (text.starts_with(start)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "found: " << text << "\nwanted: " << start;
}

class Csv : public testing::Test {
 protected:
  Csv() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = testing::TempDir() + "l0gm_csv_" + test->name() + "_" + std::to_string(::getpid()) + ".csv";
  }
  ~Csv() override { std::filesystem::remove(path_); }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  Rows rows(const std::string& bytes, const CsvOptions& options = {}) const {
    write(bytes);
    const TextTable table = read_csv(path_, options);
    Rows result;
    for (int64_t row = 0; row < table.rows(); ++row) {
      result.emplace_back();
      for (int64_t column = 0; column < table.columns(); ++column) result.back().emplace_back(table.cell(row, column));
    }
    return result;
  }
  std::string error(const std::string& bytes, const CsvOptions& options = {}) const {
    write(bytes);
    return error_of_file(options);
  }
  std::string error_of_file(const CsvOptions& options = {}) const {
    try {
      read_csv(path_, options);
    } catch (const UserError& mistake) {
      std::string text = mistake.what();
      const size_t at = text.find(path_);
      if (at == std::string::npos) return "without file name: " + text;
      return text.replace(at, path_.size(), "FILE");
    }
    return "no error";
  }
  std::string path_;
};

TEST_F(Csv, PlainRows) {
  EXPECT_EQ(rows("a,b\n1,2\n3,\n"), (Rows{{"1", "2"}, {"3", ""}}));
  EXPECT_EQ(rows("a,b\n1,2\n3,4"), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(rows("\xEF\xBB\xBF"
                 "a,b\r\n1,2\r\n\r\n,\r\n"),
            (Rows{{"1", "2"}, {"", ""}}));
  EXPECT_EQ(rows("a,b\n1,2\r"), (Rows{{"1", "2"}}));
  EXPECT_EQ(rows("a,b\n\n\n"), Rows{});
  EXPECT_EQ(rows("a,b"), Rows{});
  write(
      "\xEF\xBB\xBF"
      "na\xC3\xAFve,b\n");
  EXPECT_EQ(CsvReader(path_, {}).names(), (std::vector<std::string>{"na\xC3\xAFve", "b"}));
}

TEST_F(Csv, QuotedCells) {
  EXPECT_EQ(rows("a,b\n\"x,y\",\"say \"\"hi\"\"\"\n\"\",z\n"), (Rows{{"x,y", "say \"hi\""}, {"", "z"}}));
  EXPECT_EQ(rows("a,b\n\"line 1\nline 2\r\n\",2\n3,\"4\""), (Rows{{"line 1\nline 2\r\n", "2"}, {"3", "4"}}));
  EXPECT_EQ(rows("\"a \"\"q\"\"\",b\r\n1,\"2\"\r\n\"3\",4\r\n"), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(rows("a,b\n5\" pipe,2\n\"x\",\n"), (Rows{{"5\" pipe", "2"}, {"x", ""}}));
  EXPECT_EQ(rows("a\n\"\"\"\"\n"), (Rows{{"\""}}));
}

TEST_F(Csv, LineNumbersCountLineBreaksInsideQuotes) {
  write("a,b\n\n1,2\n\"x\ny\nz\",3\n4,5\n");
  CsvReader reader(path_, {});
  std::vector<std::string_view> cells;
  std::vector<int64_t> lines;
  while (reader.next(cells)) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<int64_t>{3, 4, 7}));
  EXPECT_FALSE(reader.next(cells));
}

TEST_F(Csv, SingleColumnKeepsEmptyLines) {
  EXPECT_EQ(rows("a\n1\n\n2\n"), (Rows{{"1"}, {""}, {"2"}}));
  CsvOptions options;
  options.header = false;
  options.names = {"only"};
  EXPECT_EQ(rows("\nx\n", options), (Rows{{""}, {"x"}}));
}

TEST_F(Csv, TrimCommentAndDelimiter) {
  CsvOptions options;
  options.trim_cells = true;
  options.comment = '|';
  options.header = false;
  options.names = {"x", "y", "z"};
  EXPECT_EQ(rows("|1x3 \"Cross\" validator\n39, State-gov, <=50K.\n  \n 1 , \" q \" ,\t2\n", options),
            (Rows{{"39", "State-gov", "<=50K."}, {"1", " q ", "2"}}));
  CsvOptions tabs;
  tabs.delimiter = '\t';
  tabs.trim_cells = true;
  EXPECT_EQ(rows("a\tb\n 1\t\n\t\"2\"\n", tabs), (Rows{{"1", ""}, {"", "2"}}));
  EXPECT_EQ(rows("a, b\n 1, 2 \n"), (Rows{{" 1", " 2 "}}));
}

TEST_F(Csv, NamesWithoutHeader) {
  CsvOptions options;
  options.header = false;
  EXPECT_EQ(rows("1,2\n3,4\n", options), (Rows{{"1", "2"}, {"3", "4"}}));
  EXPECT_EQ(CsvReader(path_, options).names(), (std::vector<std::string>{"column_1", "column_2"}));
  options.names = {"x", "y", "z"};
  EXPECT_TRUE(starts(error("1,2\n", options), "FILE: line 1: found 2 cells, the table has 3."));
}

TEST_F(Csv, RaggedRowsAreRefused) {
  EXPECT_TRUE(starts(error("a,b,c\n1,2,3\n4,5\n"), "FILE: line 3: found 2 cells, the header has 3."));
  EXPECT_TRUE(starts(error("a,b\n\"1\n\",2\n1,2,3,4\n"), "FILE: line 4: found 4 cells, the header has 2."));
  EXPECT_TRUE(starts(error("a,b\n1,2\n\"x\"\n"), "FILE: line 3: found 1 cells, the header has 2."));
}

TEST_F(Csv, BytesThatAreNotTextAreRefused) {
  EXPECT_TRUE(starts(error(std::string("a,b\n1,\0\n", 8)), "FILE: NUL byte at line 2, column 3:"));
  EXPECT_EQ(error("a,b\n1,2\nx\xC3\xA4"
                  "caf\xE9,2\n"),
            "FILE: not UTF-8 at line 3, column 6; convert with iconv -f latin1 -t utf8 (found byte 0xE9)");
  EXPECT_TRUE(starts(error("a,b\n1,caf\xE9\n"), "FILE: not UTF-8 at line 2, column 6;"));
  EXPECT_TRUE(starts(error("a,b\n1,caf\xC3"), "FILE: not UTF-8 at line 2, column 6;"));
  EXPECT_TRUE(starts(error("\xE9"), "FILE: not UTF-8 at line 1, column 1;"));
  EXPECT_TRUE(starts(error(std::string("PK\x03\x04\n\x14\0\x06", 8)), "FILE: this is a zip archive"));
  EXPECT_TRUE(starts(error(std::string("\xFF\xFE"
                                       "a\0,\0b\0\n\0",
                                       10)),
                     "FILE: this is UTF-16 (by its byte-order mark)"));
  EXPECT_TRUE(starts(error(std::string("\xFE\xFF\0a\0\n", 6)), "FILE: this is UTF-16"));
  EXPECT_TRUE(starts(error(std::string("a\0,\0b\0\n\0", 8)), "FILE: NUL byte at line 1, column 2:"));
  // The first mistake is the one that is reported.
  EXPECT_TRUE(starts(error("a,b\n1\n\xE9,2\n"), "FILE: line 2: found 1 cells"));
  EXPECT_TRUE(starts(error("a,b\n\"x\n\xE9\",2\n"), "FILE: not UTF-8 at line 3, column 1;"));
}

TEST_F(Csv, CharactersAcrossBlocksOfTheReader) {
  for (const size_t shift : {0, 1, 2, 3}) {
    const std::string cell = std::string(shift, 'x') + std::string(1000, 'a') + "\xF0\x9F\x98\x80";
    std::string text = "a,b\n";
    Rows wanted;
    for (int i = 0; i < 1500; ++i) {
      text += cell + ",\"" + cell + "\n\"\"\"\n";
      wanted.push_back({cell, cell + "\n\""});
    }
    EXPECT_EQ(rows(text), wanted) << shift;
  }
}

TEST_F(Csv, QuotingMistakesAreRefused) {
  EXPECT_TRUE(starts(error("a,b\n1,\"2\n3,4\n"), "FILE: line 2, column 3: a quote is opened here and not closed"));
  EXPECT_TRUE(starts(error("a,b\n\"x\ny\"z,2\n"), "FILE: line 3, column 3: text after a closing quote"));
  EXPECT_TRUE(starts(error("a,b\n\"x\" ,2\n"), "FILE: line 2, column 4: text after a closing quote"));
  EXPECT_TRUE(starts(error("a,b\n1,\"2\"\rx\n"), "FILE: line 2, column 6: text after a closing quote"));
  CsvOptions options;
  options.delimiter = '"';
  write("a\n");
  EXPECT_THROW(CsvReader(path_, options), UserError);
}

TEST_F(Csv, HeadersAreChecked) {
  EXPECT_TRUE(starts(error("a,b,a\n"), "FILE: line 1: two columns are named 'a'."));
  EXPECT_TRUE(starts(error("\na, ,c\n"), "FILE: line 2: column 2 has an empty name."));
  EXPECT_TRUE(starts(error("a,b\r1,2\r3,4\r"), "FILE: line 1: carriage return inside a column name"));
}

TEST_F(Csv, NoFileAndEmptyFile) {
  std::filesystem::remove(path_);
  EXPECT_NE(error_of_file().find("FILE"), std::string::npos);
  EXPECT_TRUE(starts(error(""), "FILE: the file is empty; wanted a header line"));
  EXPECT_TRUE(starts(error("\n\n"), "FILE: the file is empty;"));
  EXPECT_TRUE(starts(error("\xEF\xBB\xBF"), "FILE: the file is empty;"));
}

int64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6));
  }
  return -1;
}

TEST_F(Csv, LineOfAHundredMegabytesIsRefusedInBoundedMemory) {
  {
    std::ofstream file(path_, std::ios::binary);
    file << "a,b\n1,2\n1,";
    const std::string block(1'000'000, 'x');
    for (int i = 0; i < 100; ++i) file << block;
    file << "\n";
  }
  const int64_t before = peak_memory_kib();
  EXPECT_TRUE(starts(error_of_file(), "FILE: line 3 is longer than 67,108,864 bytes."));
#ifndef __SANITIZE_ADDRESS__  // which copies on realloc and keeps freed memory back
  EXPECT_LT(peak_memory_kib() - before, 2 * 65536);
#else
  static_cast<void>(before);
#endif
}

TEST_F(Csv, LongestLineIsExact) {
  CsvOptions options;
  options.longest_line = 600'000;  // beyond one block
  const std::string fits(600'000 - 2, 'x');
  EXPECT_EQ(rows("a,b\n1," + fits + "\n1,2\n", options), (Rows{{"1", fits}, {"1", "2"}}));
  EXPECT_EQ(rows("a,b\n1," + fits, options), (Rows{{"1", fits}}));
  EXPECT_TRUE(starts(error("a,b\n1," + fits + "x\n1,2\n", options), "FILE: line 2 is longer than 600,000 bytes."));
  EXPECT_TRUE(starts(error("a,b\n1,\"" + fits + "\n", options), "FILE: line 2 is longer than 600,000 bytes."));
  options.longest_line = 3;
  EXPECT_TRUE(starts(error("a,b\n1,2\n1,23\n", options), "FILE: line 3 is longer than 3 bytes."));
}

TEST_F(Csv, CompressedFilesAndCutOffOnes) {
  std::string text = "a,b\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i * 7919) + "," + std::to_string(i) + "\n";
  gzFile file = gzopen(path_.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(file);
  const TextTable table = read_csv(path_, {});
  EXPECT_EQ(table.rows(), 20000);
  EXPECT_EQ(table.cell(19999, 1), "19999");
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  EXPECT_NE(error_of_file(), "no error");
  EXPECT_NE(error_of_file().find("FILE"), std::string::npos);
}

TEST_F(Csv, WrittenTablesReadBack) {
  const Rows wanted = {{"plain", ""}, {"a,b", "say \"hi\""}, {"two\nlines", "cr\r"}, {" blank ", "\"\""}, {"", ""}};
  TextTable table({"x, y", "\"q\""});
  for (const auto& row : wanted) table.add_row({row.begin(), row.end()});
  write_csv(path_, table);
  const TextTable back = read_csv(path_, {});
  EXPECT_EQ(back.names(), table.names());
  ASSERT_EQ(back.rows(), 5);
  for (int64_t row = 0; row < 5; ++row) {
    for (int64_t column = 0; column < 2; ++column) EXPECT_EQ(back.cell(row, column), table.cell(row, column));
  }
  const std::vector<int64_t> some = {4, 0};
  write_csv(path_, table, &some, ';');
  std::ifstream file(path_, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "x, y;\"\"\"q\"\"\"\n;\nplain;\n");
}

TEST_F(Csv, CellsAreQuotedOnlyWhenTheyMust) {
  const auto cell = [](std::string_view text, char delimiter) {
    std::string out;
    append_csv_cell(out, text, delimiter);
    return out;
  };
  EXPECT_EQ(cell("a;b", ','), "a;b");
  EXPECT_EQ(cell("a;b", ';'), "\"a;b\"");
  EXPECT_EQ(cell("a\"b", ','), "\"a\"\"b\"");
  EXPECT_EQ(cell("", ','), "");
}

TEST_F(Csv, AnyBytesOnRequest) {
  using namespace std::string_literals;
  write("a,b\n1\xFF,\"x\0y\"\n"s);
  EXPECT_THROW(read_csv(path_, {}), UserError);
  CsvOptions options;
  options.any_bytes = true;
  const TextTable table = read_csv(path_, options);
  EXPECT_EQ(table.cell(0, 0), "1\xFF");
  EXPECT_EQ(table.cell(0, 1), "x\0y"s);
  write(
      "\xFF\xFE"
      "a\0"s);
  EXPECT_THROW(read_csv(path_, options), UserError);
}

TEST_F(Csv, MovedReaderKeepsReading) {
  CsvOptions options;
  options.header = false;
  write("1,2\n3,4\n");
  CsvReader first(path_, options);
  CsvReader second(std::move(first));
  std::vector<std::string_view> cells;
  ASSERT_TRUE(second.next(cells));
  EXPECT_EQ(cells[1], "2");
  ASSERT_TRUE(second.next(cells));
  EXPECT_EQ(cells[0], "3");
  EXPECT_FALSE(second.next(cells));
}

}  // namespace
}  // namespace l0gm
