#include "data/text/imdb.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "data/text/source.h"
#include "data/text/tar_tools.h"
#include "l0gm/error.h"
#include "support/environment.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace tar_tools;

std::string review(const std::string& part, const std::string& label, int number, int score, const std::string& text) {
  return member("aclImdb/" + part + "/" + label + "/" + std::to_string(number) + "_" + std::to_string(score) + ".txt", text);
}

class Imdb : public testing::Test {
 protected:
  // Ten negative and ten positive reviews to train on, in a wild order; one of each to test.
  std::string archive() {
    std::string bytes = member("aclImdb/", "", '5') + member("aclImdb/README", "read me");
    for (int i = 0; i < 10; ++i) {
      bytes += review("train", "pos", (i * 7) % 10, 8, "good<br />" + std::to_string((i * 7) % 10));
      bytes += review("train", "neg", (i * 3) % 10, 2, "bad\t\n" + std::to_string((i * 3) % 10));
      bytes += review("train", "unsup", i, 0, "nothing");
    }
    return bytes + review("test", "pos", 0, 10, "fine") + review("test", "neg", 0, 1, "\xFF") + end();
  }
  ImdbFiles files() {
    ImdbFiles made;
    made.archive = folder_.write("aclImdb_v1.tar.gz", archive());
    return made;
  }
  void expect_refusal(const ImdbFiles& wanted, const std::string& part) {
    const std::string message = message_of<UserError>([&] { read_imdb(wanted); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  TemporaryFolder folder_;
};

TEST_F(Imdb, ArchiveInOrderOfClassAndNumber) {
  const TextData data = read_imdb(files());
  ASSERT_EQ(data.texts.size(), 22);
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"neg", "pos"}));
  EXPECT_EQ(data.label, "sentiment");
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(data.texts.view(i), "bad\t\n" + std::to_string(i));
    EXPECT_EQ(data.texts.view(10 + i), "good<br />" + std::to_string(i));
    EXPECT_EQ(data.labels[static_cast<size_t>(i)], 0);
    EXPECT_EQ(data.labels[static_cast<size_t>(10 + i)], 1);
  }
  EXPECT_EQ(data.texts.view(20), "\xFF");
  EXPECT_EQ(data.invalid_texts, 1);
  EXPECT_EQ(data.rows(Split::test), (std::vector<int64_t>{20, 21}));
  // Drawn: a tenth of each class.
  EXPECT_EQ(data.name, "imdb/drawn");
  ASSERT_EQ(data.rows(Split::valid).size(), 2u);
  EXPECT_LT(data.rows(Split::valid)[0], 10);
  EXPECT_GE(data.rows(Split::valid)[1], 10);
  EXPECT_EQ(data.rows(Split::train).size(), 18u);
  EXPECT_EQ(data.training_rows, read_imdb(files()).training_rows);
  ASSERT_EQ(data.files.size(), 1u);
}

TEST_F(Imdb, TsvGivesTheSameRowsAsTheArchive) {
  ImdbFiles tsv;
  std::string train;
  for (int i = 0; i < 10; ++i) train += "0\tbad" + std::to_string(i) + "\n";
  for (int i = 0; i < 10; ++i) train += "1\t\"good<br />\t" + std::to_string(i) + "\n";
  tsv.train = folder_.write("train.tsv", train);
  tsv.test = folder_.write("test.tsv", "0\t\n1\tfine");
  tsv.valid_rows = folder_.write("valid.rows", "19\n3\n");
  const TextData data = read_imdb(tsv);
  EXPECT_EQ(data.name, "imdb");
  EXPECT_EQ(data.texts.view(10), "\"good<br />\t0") << "neither quotes nor tabs mean anything";
  EXPECT_EQ(data.texts.view(20), "");
  EXPECT_EQ(data.empty_texts, 1);
  EXPECT_EQ(data.rows(Split::valid), (std::vector<int64_t>{3, 19}));
  EXPECT_EQ(data.files.size(), 3u);
  ImdbFiles both = files();
  both.valid_rows = tsv.valid_rows;
  const TextData same = read_imdb(both);
  EXPECT_EQ(same.labels, data.labels);
  EXPECT_EQ(same.split_rows, data.split_rows);
  EXPECT_EQ(same.training_rows, data.training_rows);
}

TEST_F(Imdb, ListedRowsFollowTheIds) {
  ImdbFiles wanted = files();
  std::string ids;
  for (int i = 9; i >= 0; --i) ids += "1\t" + std::to_string(i) + "\t8\n";
  for (int i = 0; i < 10; ++i) ids += "0\t" + std::to_string(i) + "\t2\n";
  wanted.train_ids = folder_.write("ids", ids);
  wanted.valid_rows = folder_.write("rows", "0\n12\n");  // pos 9 and neg 2
  EXPECT_EQ(read_imdb(wanted).rows(Split::valid), (std::vector<int64_t>{2, 19}));
  wanted.train_ids = folder_.write("ids", "1\t9\t8\n");
  expect_refusal(wanted, "has 1 lines, and validation row 12 is wanted");
  for (const char* line : {"2\t1\t3", "1\t77\t3", "1", "", "x\ty\tz", "1\t-1\t3"}) {
    wanted.train_ids = folder_.write("ids", std::string(line) + "\n");
    expect_refusal(wanted, "line 1: found");
  }
  wanted.train_ids = folder_.write("ids", "1\t9\t8\n1\t9\t8\n");
  wanted.valid_rows = folder_.write("rows", "0\n1\n");
  expect_refusal(wanted, "names a review twice");
}

TEST_F(Imdb, WrongFilesAreRefused) {
  ImdbFiles wanted = files();
  for (const char* line : {"20", "-1", "x", "3\n3", "1.5", ""}) {
    wanted.valid_rows = folder_.write("rows", std::string(line) + "\n");
    expect_refusal(wanted, "wanted the number of a training review, 0 to 19");
  }
  const auto refuse_archive = [&](const std::string& bytes, const std::string& part) {
    ImdbFiles damaged;
    damaged.archive = folder_.write("b.tar", bytes);
    expect_refusal(damaged, part);
  };
  refuse_archive(end(), "has no review aclImdb/train/neg/");
  refuse_archive(review("train", "neg", 1, 1, "a") + review("train", "pos", 1, 1, "a") + review("test", "neg", 1, 1, "a"),
                 "aclImdb/test/pos/");
  refuse_archive(review("test", "neg", 0, 3, "again") + archive(), "review 0 of test/neg is there twice");
  refuse_archive(member("../aclImdb/train/neg/1_1.txt", "a") + member("aclImdb/train/neg/a_1.txt", "a") +
                     member("aclImdb/train/neg/1.txt", "a") + member("aclImdb/train/neg/99999999999999999999_1.txt", "a") +
                     member("aclImdb/train/neg/x/1_1.txt", "a"),
                 "has no review aclImdb/train/neg/");
  refuse_archive(archive().substr(0, 9000), "cut off");
  ImdbFiles tsv;
  tsv.test = folder_.write("test.tsv", "0\ta\n1\tb\n");
  for (const char* text : {"2\ta\n", "label\ttext\n", "0 a\n", "0", "\n"}) {
    tsv.train = folder_.write("train.tsv", text);
    expect_refusal(tsv, "line 1: found");
  }
}

TEST_F(Imdb, AnArchiveOfAnotherSizeIsNotTheDataset) {
  const ScopedVariable no_data("L0GM_DATA", nullptr), no_cache("XDG_CACHE_HOME", (folder_.path() / "none").c_str());
  folder_.write("imdb/aclImdb_v1.tar.gz", archive());
  const std::string message = message_of<UserError>([&] { load_imdb(folder_.path().string()); });
  EXPECT_NE(message.find("found 20 reviews to train on and 2 to test, wanted 25000"), std::string::npos) << message;
}

TEST(ImdbReal, OfficialPartsAndTheListedValidationRows) {
  const std::filesystem::path folder = real_data_folder();
  if (!std::filesystem::exists(folder / "imdb/train.tsv.xz")) GTEST_SKIP() << "no real data: set L0GM_DATA";
  DataOptions options;
  options.source = "imdb";
  options.dir = folder.string();
  const TextData data = load_texts(options);
  EXPECT_EQ(data.name, "imdb");
  EXPECT_EQ(data.texts.size(), 50000);
  EXPECT_EQ(data.rows(Split::train).size(), 22500u);
  EXPECT_EQ(data.rows(Split::valid).size(), 2500u);
  EXPECT_EQ(data.rows(Split::test).size(), 25000u);
  EXPECT_EQ(data.rows(Split::valid)[1], 21);
  EXPECT_TRUE(data.texts.view(0).starts_with("Story of a man who has unnatural feelings"));
  int64_t positive = 0;
  for (const int64_t row : data.rows(Split::valid)) positive += data.labels[static_cast<size_t>(row)];
  EXPECT_EQ(positive, 1250);
  EXPECT_EQ(data.empty_texts + data.invalid_texts, 0);
}

}  // namespace
}  // namespace l0gm
