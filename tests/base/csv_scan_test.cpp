#include "base/csv_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"

namespace l0gm {
namespace {

std::vector<size_t> found(std::string_view text, char first, char second) {
  std::vector<size_t> result;
  csv_scan::each_of(text, first, second, [&](size_t at) { result.push_back(at); });
  return result;
}

TEST(CsvScan, FindsEveryByteInOrder) {
  EXPECT_EQ(found("a,b\nc,,", ',', '\n'), (std::vector<size_t>{1, 3, 5, 6}));
  EXPECT_EQ(found("0123456,,8\n", ',', '\n'), (std::vector<size_t>{7, 8, 10}));
  EXPECT_TRUE(found("", ',', '\n').empty());
  EXPECT_TRUE(found("nothing in here", ',', '\n').empty());
}

// Neighbours in value (and with the top bit set) are what a scan by words takes for the wanted byte when it is not exact.
TEST(CsvScan, NeighbouringBytesAreNotMistaken) {
  RandomStream random(7);
  const std::string alphabet = ",-+\n\x0B\x09\xAC\x8A\xFF\x01";
  for (int trial = 0; trial < 2000; ++trial) {
    std::string text(random.below(40), ' ');
    for (char& c : text) c = alphabet[random.below(alphabet.size())];
    std::vector<size_t> wanted;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ',' || text[i] == '\n') wanted.push_back(i);
    }
    ASSERT_EQ(found(text, ',', '\n'), wanted) << testing::PrintToString(text);
  }
}

TEST(CsvScan, CountsBeyondWhatAByteHolds) {
  for (const size_t size : {0, 1, 63, 64, 65, 64 * 255, 64 * 256 + 1, 100'000}) {
    std::string text(size, '\n');
    EXPECT_EQ(csv_scan::count_byte(text, '\n'), static_cast<int64_t>(size));
    for (size_t i = 0; i < size; i += 3) text[i] = 'x';
    EXPECT_EQ(csv_scan::count_byte(text, '\n'), std::count(text.begin(), text.end(), '\n'));
  }
}

}  // namespace
}  // namespace l0gm
