#include "data/table/adult.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "support/environment.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

int64_t positives(const TableDataset& data, const std::vector<int64_t>& rows) {
  int64_t count = 0;
  for (const int64_t row : rows) count += data.table.cell(row, data.label) == ">50K";
  return count;
}

void expect_partition(const TableDataset& data) {
  std::set<int64_t> rows;
  for (const auto* part : {&data.train, &data.valid, &data.test}) rows.insert(part->begin(), part->end());
  EXPECT_EQ(rows.size(), data.train.size() + data.valid.size() + data.test.size());
  EXPECT_EQ(rows.size(), 48842u);
  EXPECT_EQ(*rows.begin(), 0);
  EXPECT_EQ(*rows.rbegin(), 48841);
}

TEST(AdultFile, BlanksCommentAndDotAreTakenAway) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("adult.test",
                   "|1x3 Cross validator\n"
                   "25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, ?, <=50K.\n"
                   "38, Private, 89814, HS-grad, 9, Married, Farming-fishing, Husband, White, Male, 0, 0, 50, Peru, >50K\n\n");
  TextTable table(adult_columns());
  append_adult_rows(path, table);
  ASSERT_EQ(table.rows(), 2);
  EXPECT_EQ(table.cell(0, 0), "25");
  EXPECT_EQ(table.cell(0, 1), "Private");
  EXPECT_EQ(table.cell(0, 13), "?");
  EXPECT_EQ(table.cell(0, 14), "<=50K");
  EXPECT_EQ(table.cell(1, 14), ">50K");
}

TEST(AdultFile, AnotherLabelIsRefusedWithItsLine) {
  const TemporaryFolder folder;
  const auto path =
      folder.write("adult.data",
                   "1, a, 2, b, 3, c, d, e, f, g, 0, 0, 40, h, <=50K\n1, a, 2, b, 3, c, d, e, f, g, 0, 0, 40, h, 50K\n");
  TextTable table(adult_columns());
  const std::string message = message_of<UserError>([&] { append_adult_rows(path, table); });
  EXPECT_NE(message.find("line 2: the label is '50K'"), std::string::npos) << message;
}

class Adult : public testing::Test {
 protected:
  void SetUp() override {
    data_ = real_data_folder();
    if (!fs::exists(data_ / "adult/adult.data.xz") && !fs::exists(data_ / "adult/adult.data"))
      GTEST_SKIP() << "no real data: set L0GM_DATA";
  }
  void need_splits() const {
    if (!fs::exists(data_ / "adult/split")) GTEST_SKIP() << "no fixed splits in " << data_;
  }
  // The data without its splits, as `data get` fetches it.
  void link_data(const TemporaryFolder& folder) const {
    fs::create_directories(folder.path() / "adult");
    for (const char* name : {"adult.data", "adult.test", "adult.data.xz", "adult.test.xz"}) {
      if (fs::exists(data_ / "adult" / name)) fs::create_symlink(data_ / "adult" / name, folder.path() / "adult" / name);
    }
  }
  fs::path data_;
};

TEST_F(Adult, OpenmlHasAllRowsInTheFixedSplit) {
  need_splits();
  std::set<std::vector<int64_t>> tests;
  for (int64_t seed = 0; seed < 3; ++seed) {
    const TableDataset data = load_adult(data_.string(), "openml", seed);
    EXPECT_EQ(data.name, "adult/openml/" + std::to_string(seed));
    EXPECT_EQ(data.table.rows(), 48842);
    EXPECT_EQ(data.train.size(), 35165u);
    EXPECT_EQ(data.valid.size(), 3908u);
    EXPECT_EQ(data.test.size(), 9769u);
    expect_partition(data);
    tests.insert(data.test);
  }
  EXPECT_EQ(tests.size(), 3u);
}

TEST_F(Adult, UciTestsOnTheTestFile) {
  need_splits();
  const TableDataset data = load_adult(data_.string(), "uci", 4);
  EXPECT_EQ(data.name, "adult/uci/1");
  EXPECT_EQ(data.train.size(), 26048u);
  EXPECT_EQ(data.valid.size(), 6513u);
  EXPECT_EQ(data.test.size(), 16281u);
  EXPECT_EQ(data.test.front(), 32561);
  EXPECT_EQ(data.test.back(), 48841);
  expect_partition(data);
  EXPECT_EQ(positives(data, data.test), 3846);
  EXPECT_EQ(positives(data, data.train) + positives(data, data.valid), 7841);
  EXPECT_EQ(data.table.cell(32561, 0), "25");
  EXPECT_EQ(data.table.cell(0, 13), "United-States");
  EXPECT_EQ(data.table.names()[data.label], "income");
  ASSERT_EQ(data.files.size(), 5u);
  for (const FileStamp& file : data.files) EXPECT_EQ(file.sha256, sha256_file(file.path));
}

TEST_F(Adult, WithoutSplitFilesTheSameNumbersAreDrawnStratified) {
  const TemporaryFolder folder;
  link_data(folder);
  const ScopedVariable variable("L0GM_DATA", nullptr), cache("XDG_CACHE_HOME", "/nonexistent");
  const TableDataset openml = load_adult(folder.path().string(), "openml", 1),
                     again = load_adult(folder.path().string(), "openml", 4);
  EXPECT_EQ(openml.name, "adult/openml/drawn-1");
  EXPECT_EQ(openml.train.size(), 35165u);
  EXPECT_EQ(openml.valid.size(), 3908u);
  EXPECT_EQ(openml.test.size(), 9769u);
  expect_partition(openml);
  EXPECT_EQ(openml.test, again.test);
  EXPECT_NEAR(static_cast<double>(positives(openml, openml.test)), 9769.0 * 11687 / 48842, 1);
  const TableDataset uci = load_adult(folder.path().string(), "uci", 1);
  EXPECT_EQ(uci.train.size(), 26048u);
  EXPECT_EQ(uci.valid.size(), 6513u);
  EXPECT_EQ(uci.test.front(), 32561);
  expect_partition(uci);
}

TEST_F(Adult, AnIncompleteOrChangedSplitIsRefused) {
  need_splits();
  const TemporaryFolder folder;
  link_data(folder);
  const ScopedVariable variable("L0GM_DATA", nullptr), cache("XDG_CACHE_HOME", "/nonexistent");
  fs::create_directories(folder.path() / "adult/split/uci/0");
  fs::copy_file(data_ / "adult/split/uci/0/train.csv.gz", folder.path() / "adult/split/uci/0/train.csv.gz");
  std::string message = message_of<UserError>([&] { load_adult(folder.path().string(), "uci", 0); });
  EXPECT_NE(message.find("holds 1 of the files"), std::string::npos) << message;
  fs::copy_file(data_ / "adult/split/uci/0/test.csv.gz", folder.path() / "adult/split/uci/0/valid.csv.gz");
  message = message_of<UserError>([&] { load_adult(folder.path().string(), "uci", 0); });
  EXPECT_NE(message.find("valid.csv.gz is not the file the catalogue knows"), std::string::npos) << message;
}

TEST_F(Adult, AChangedFileIsRefused) {
  const TemporaryFolder folder;
  folder.write("adult/adult.data", "39, State-gov\n");
  const std::string message = message_of<UserError>([&] { load_adult(folder.path().string(), "uci", 0); });
  EXPECT_NE(message.find("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"), std::string::npos) << message;
}

TEST_F(Adult, UnknownProtocolNamesTheNearest) {
  EXPECT_NE(message_of<UserError>([&] { load_adult(data_.string(), "ucl", 0); }).find("Did you mean 'uci'?"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
