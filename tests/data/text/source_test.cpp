#include "data/text/source.h"

#include <gtest/gtest.h>
#ifdef L0GM_HAS_ZLIB
#include <zlib.h>
#endif

#include "base/hash.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

class OwnTextFiles : public testing::Test {
 protected:
  // `rows` rows of "id,body,kind": every fifth is spam.
  static std::string table(int rows) {
    std::string text = "id,body,kind\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string(i) + ",body " + std::to_string(i) + "," + (i % 5 ? "ham" : "spam") + "\n";
    return text;
  }
  DataOptions options(const std::string& text, const std::string& source = "csv") {
    DataOptions made;
    made.source = source;
    made.train = folder_.write("mails." + source, text).string();
    made.label = "kind";
    made.text = "body";
    return made;
  }
  static DataOptions with_column(DataOptions made, const std::string& column) {
    made.split.column = column;
    return made;
  }
  void expect_refusal(const DataOptions& wanted, const std::string& part) {
    const std::string message = message_of<UserError>([&] { load_texts(wanted); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  TemporaryFolder folder_;
};

TEST_F(OwnTextFiles, SharesAreStratified) {
  DataOptions wanted = options(table(1000));
  const TextData data = load_texts(wanted);
  EXPECT_EQ(data.name, "mails.csv");
  EXPECT_EQ(data.label, "kind");
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"ham", "spam"}));
  EXPECT_EQ(data.rows(Split::train).size(), 700u);
  EXPECT_EQ(data.rows(Split::valid).size(), 100u);
  EXPECT_EQ(data.rows(Split::test).size(), 200u);
  int spam = 0;
  for (const int64_t row : data.rows(Split::test)) {
    spam += data.labels[static_cast<size_t>(row)];
    EXPECT_EQ(data.labels[static_cast<size_t>(row)], row % 5 == 0 ? 1 : 0);
    EXPECT_EQ(data.texts.view(row), "body " + std::to_string(row));
  }
  EXPECT_EQ(spam, 40);
  EXPECT_EQ(data.training_rows, sha256(data.rows(Split::train)));
  ASSERT_EQ(data.files.size(), 1u);
  EXPECT_EQ(data.files[0].sha256, sha256(table(1000)));
  wanted.split.seed = 1;
  EXPECT_NE(load_texts(wanted).training_rows, data.training_rows);
}

// A table of the same rows is split alike.
TEST_F(OwnTextFiles, SplitIsThatOfATable) {
  DataOptions wanted = options(table(100));
  const TextData texts = load_texts(wanted);
  wanted.text.clear();
  const TableDataset same = load_table(wanted, 0);
  EXPECT_EQ(same.train, texts.rows(Split::train));
  EXPECT_EQ(same.test, texts.rows(Split::test));
}

TEST_F(OwnTextFiles, TextColumnDecidesWhatCsvIs) {
  DataOptions wanted = options(table(10));
  EXPECT_TRUE(names_texts(wanted));
  EXPECT_THROW(load_table(wanted, 0), UserError);
  wanted.text.clear();
  EXPECT_FALSE(names_texts(wanted));
  expect_refusal(wanted, "data.text is not set");
  wanted.source = "jsonl";
  EXPECT_TRUE(names_texts(wanted));
  for (const char* source : {"imdb", "planted-text"}) {
    wanted.source = source;
    EXPECT_TRUE(names_texts(wanted)) << source;
  }
  for (const char* source : {"adult", "ogb", "no-such"}) {
    wanted.source = source;
    wanted.text = "x";
    EXPECT_FALSE(names_texts(wanted)) << source;
  }
}

TEST_F(OwnTextFiles, PartsFromFiles) {
  DataOptions wanted = options(table(50));
  wanted.valid = folder_.write("valid.csv", "kind,body\nspam,a\nham,b\n").string();
  wanted.test = folder_.write("test.csv", "body,kind,extra\nc,ham,1\n").string();
  const TextData data = load_texts(wanted);
  EXPECT_EQ(data.rows(Split::train).size(), 50u);
  EXPECT_EQ(data.rows(Split::valid), (std::vector<int64_t>{50, 51}));
  EXPECT_EQ(data.rows(Split::test), (std::vector<int64_t>{52}));
  EXPECT_EQ(data.texts.view(50), "a");
  EXPECT_EQ(data.labels[50], 1);
  EXPECT_EQ(data.files.size(), 3u);
  wanted.test.clear();
  wanted.split.test = 0;
  EXPECT_TRUE(load_texts(wanted).rows(Split::test).empty());
}

TEST_F(OwnTextFiles, PartsFromAColumn) {
  const std::string text = "body,kind,part\na,x,train\nb,y,Training\nc,x,dev\nd,y, test \ne,x,train\n";
  const TextData data = load_texts(with_column(options(text), "part"));
  EXPECT_EQ(data.rows(Split::train), (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(data.rows(Split::valid), (std::vector<int64_t>{2}));
  EXPECT_EQ(data.rows(Split::test), (std::vector<int64_t>{3}));
  const std::string jsonl =
      "{\"body\":\"a\",\"kind\":1,\"part\":\"train\"}\n{\"body\":\"b\",\"kind\":0,\"part\":\"train\"}\n"
      "{\"body\":\"c\",\"kind\":1,\"part\":\"valid\"}\n";
  EXPECT_EQ(load_texts(with_column(options(jsonl, "jsonl"), "part")).rows(Split::valid), (std::vector<int64_t>{2}));
  expect_refusal(with_column(options("body,kind,part\na,x,train\nb,y,trian\n"), "part"),
                 "line 3: split column 'part' says 'trian'");
  expect_refusal(with_column(options("body,kind,part\na,x,train\nb,y,train\n"), "part"), "says 'valid' in no row");
  expect_refusal(with_column(options("body,kind,part\na,x,valid\nb,y,valid\n"), "part"), "says 'train' in no row");
  expect_refusal(with_column(options(text), "prat"), "Did you mean 'part'?");
}

TEST_F(OwnTextFiles, ManyClassesInOrder) {
  std::string text = "body\tkind\n";
  for (int i = 0; i < 200; ++i) text += "t" + std::to_string(i) + "\t " + std::to_string(11 - i % 12) + " \n";
  DataOptions wanted = options(text, "tsv");
  const TextData data = load_texts(wanted);
  ASSERT_EQ(data.class_names.size(), 12u);
  EXPECT_EQ(data.class_names[2], "2") << "in numeric order";
  EXPECT_EQ(data.class_names[11], "11");
  for (int64_t row = 0; row < data.texts.size(); ++row) EXPECT_EQ(data.labels[static_cast<size_t>(row)], 11 - row % 12);
}

TEST_F(OwnTextFiles, LabelsThatTrainingLacksAreRefusedByName) {
  DataOptions wanted = options(table(50));
  wanted.valid = folder_.write("valid.csv", "body,kind\na,spam\nb,spma\n").string();
  expect_refusal(wanted,
                 "data row 52 (validation): the label 'kind' is 'spma', a class that the training rows do not have; they have: "
                 "ham, spam. Did you mean 'spam'?");
  expect_refusal(options("body,kind\na,x\nb, \n"), "line 3: the label 'kind' is missing");
  expect_refusal(options("{\"body\":\"a\",\"kind\":\"\"}", "jsonl"), "line 1: the label 'kind' is missing");
  std::string one = "body,kind\n";
  for (int i = 0; i < 20; ++i) one += "a,x\n";
  expect_refusal(options(one), "has the label 'x'");
}

TEST_F(OwnTextFiles, AnyBytesEmptyTextsAndLongLines) {
  using namespace std::string_literals;
  const std::string long_text(10 << 20, 'z');
  std::string text = "body,kind\n,x\n\"\",y\na\xFF\xFE,x\n\"nul\0 \n\"\"line\"\",\",y\n"s + long_text + ",x\n";
  for (int i = 0; i < 20; ++i) text += "fill,"s + (i % 2 ? "x" : "y") + "\n";
  const TextData data = load_texts(options(text));
  EXPECT_EQ(data.texts.view(0), "");
  EXPECT_EQ(data.texts.view(2), "a\xFF\xFE");
  EXPECT_EQ(data.texts.view(3), "nul\0 \n\"line\","s);
  EXPECT_EQ(data.texts.view(4), long_text);
  EXPECT_EQ(data.empty_texts, 2);
  EXPECT_EQ(data.invalid_texts, 1);
}

#ifdef L0GM_HAS_ZLIB
TEST_F(OwnTextFiles, CompressedFiles) {
  const std::string path = (folder_.path() / "mails.csv.gz").string(), text = table(100);
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  gzclose(file);
  DataOptions wanted = options(text);
  const TextData plain = load_texts(wanted);
  wanted.train = path;
  const TextData compressed = load_texts(wanted);
  EXPECT_EQ(compressed.texts.sha256(), plain.texts.sha256());
  EXPECT_EQ(compressed.training_rows, plain.training_rows);
}
#endif

TEST_F(OwnTextFiles, OptionsThatContradictOrHaveNoEffectAreRefused) {
  const DataOptions good = options(table(50));
  const auto refuse = [&](auto change, const std::string& part) {
    DataOptions wanted = good;
    change(wanted);
    expect_refusal(wanted, part);
  };
  refuse([](DataOptions& o) { o.train.clear(); }, "data.train is not set");
  refuse([](DataOptions& o) { o.label.clear(); }, "data.label is not set");
  refuse([](DataOptions& o) { o.label = "body"; }, "data.text and data.label are both 'body'");
  refuse([](DataOptions& o) { o.split.column = "kind"; }, "data.split.column and data.label are both 'kind'");
  refuse([](DataOptions& o) { o.text = "bdoy"; }, "Did you mean 'body'?");
  refuse([](DataOptions& o) { o.types["body"] = "numeric"; }, "Remove data.types");
  refuse([](DataOptions& o) { o.rows = 500; }, "data.rows is 500");
  refuse([](DataOptions& o) { o.protocol = "uci"; }, "Remove data.protocol");
  refuse([](DataOptions& o) { o.split.column = "id", o.valid = o.train; }, "Remove one");
  refuse([](DataOptions& o) { o.source = "jsonl", o.delimiter = ";"; }, "Remove data.delimiter");
  refuse([](DataOptions& o) { o.source = "adult"; }, "is a table, wanted texts");
  refuse([](DataOptions& o) { o.source = ""; }, "data.source is not set");
  refuse([](DataOptions& o) { o.train += ".none"; }, "cannot read");
  refuse([](DataOptions& o) { o.source = "planted-text"; }, "csv, tsv or jsonl for your own texts");
  refuse([](DataOptions& o) { o.source = "planted-text", o.train = o.label = ""; }, "data.text is 'body'");
  expect_refusal(options("body,kind\n"), "has no rows");
  expect_refusal(options("", "jsonl"), "has no rows");
}

TEST_F(OwnTextFiles, MadeTextsFollowTheSplitSeed) {
  DataOptions wanted;
  wanted.source = "planted-text";
  wanted.rows = 100;
  const TextData data = load_texts(wanted);
  EXPECT_EQ(data.name, "planted-text/0");
  EXPECT_EQ(data.texts.size(), 100);
  wanted.split.seed = 4;
  EXPECT_NE(load_texts(wanted).texts.sha256(), data.texts.sha256());
}

}  // namespace
}  // namespace l0gm
