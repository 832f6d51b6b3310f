#include "data/table/source.h"

#include <gtest/gtest.h>

#include <set>

#include "base/csv.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Source : public testing::Test {
 protected:
  // `rows` rows of "x,colour,y": y is 1 in every fifth row.
  std::string table(int rows) const {
    std::string text = "x,colour,y\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string(i) + "," + (i % 2 ? "red" : "blue") + "," + (i % 5 == 0 ? "1" : "0") + "\n";
    return text;
  }
  DataOptions options(const std::string& text) {
    DataOptions made;
    made.source = "csv";
    made.train = folder_.write("train.csv", text).string();
    made.label = "y";
    return made;
  }
  std::string refusal(const DataOptions& wanted) {
    return message_of<UserError>([&] { load_table(wanted, 0); });
  }
  TemporaryFolder folder_;
};

TEST_F(Source, FractionsAreStratifiedAndFollowTheSplitSeedOnly) {
  DataOptions wanted = options(table(1000));
  const TableDataset data = load_table(wanted, 0);
  EXPECT_EQ(data.name, "train.csv");
  EXPECT_EQ(data.train.size(), 700u);
  EXPECT_EQ(data.valid.size(), 100u);
  EXPECT_EQ(data.test.size(), 200u);
  int ones = 0;
  for (const int64_t row : data.test) ones += data.table.cell(row, data.label) == "1";
  EXPECT_EQ(ones, 40);
  EXPECT_EQ(load_table(wanted, 7).test, data.test);
  wanted.split.seed = 1;
  EXPECT_NE(load_table(wanted, 0).test, data.test);
  ASSERT_EQ(data.files.size(), 1u);
  EXPECT_EQ(data.files[0].sha256, sha256(table(1000)));
}

TEST_F(Source, FilesAreAppendedAndColumnsMatchedByName) {
  DataOptions wanted = options(table(50));
  wanted.valid = folder_.write("valid.csv", "y,x,colour\n1,100,green\n").string();
  wanted.test = folder_.write("test.csv", "colour,y,x\nred,0,200\nred,1,201\n").string();
  const TableDataset data = load_table(wanted, 0);
  EXPECT_EQ(data.table.rows(), 53);
  EXPECT_EQ(data.train.size(), 50u);
  EXPECT_EQ(data.valid, (std::vector<int64_t>{50}));
  EXPECT_EQ(data.test, (std::vector<int64_t>{51, 52}));
  EXPECT_EQ(data.table.cell(50, 0), "100");
  EXPECT_EQ(data.table.cell(50, 1), "green");
  EXPECT_EQ(data.table.cell(52, 2), "1");
  EXPECT_EQ(data.files.size(), 3u);
}

TEST_F(Source, MissingPartsAreDrawnFromTheTrainingFile) {
  DataOptions wanted = options(table(100));
  wanted.test = folder_.write("test.csv", table(10)).string();
  const TableDataset with_test = load_table(wanted, 0);
  EXPECT_EQ(with_test.train.size(), 90u);
  EXPECT_EQ(with_test.valid.size(), 10u);
  EXPECT_EQ(with_test.test.front(), 100);
  wanted.valid = wanted.test;
  wanted.test.clear();
  const TableDataset with_valid = load_table(wanted, 0);
  EXPECT_EQ(with_valid.train.size(), 80u);
  EXPECT_EQ(with_valid.valid.front(), 100);
  EXPECT_EQ(with_valid.test.size(), 20u);
  EXPECT_LT(with_valid.test.back(), 100);
}

TEST_F(Source, NoTestRowsWhenTheShareIsZero) {
  DataOptions wanted = options(table(100));
  wanted.split.test = 0;
  const TableDataset data = load_table(wanted, 0);
  EXPECT_EQ(data.train.size(), 90u);
  EXPECT_TRUE(data.test.empty());
}

TEST_F(Source, ColumnsThatDifferAreNamed) {
  DataOptions wanted = options(table(20));
  wanted.test = folder_.write("test.csv", "x,color,y\n1,red,0\n").string();
  std::string message = refusal(wanted);
  EXPECT_TRUE(contains(message, "test.csv has no column 'colour'")) << message;
  EXPECT_TRUE(contains(message, "Did you mean 'color'?")) << message;
  folder_.write("test.csv", "x,colour,y,z\n1,red,0,5\n");
  message = refusal(wanted);
  EXPECT_TRUE(contains(message, "test.csv has a column 'z'")) << message;
}

TEST_F(Source, SplitColumnDecidesAndLeavesTheTable) {
  DataOptions wanted = options("part,x,y\ntrain,1,0\nvalid,2,1\nTEST,3,0\ntrain,4,1\n");
  wanted.split.column = "part";
  const TableDataset data = load_table(wanted, 0);
  EXPECT_EQ(data.train, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(data.valid, (std::vector<int64_t>{1}));
  EXPECT_EQ(data.test, (std::vector<int64_t>{2}));
  EXPECT_EQ(data.table.names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(data.table.names()[data.label], "y");
  EXPECT_EQ(data.table.cell(3, data.label), "1");
}

TEST_F(Source, SplitColumnMistakes) {
  DataOptions wanted = options("part,x,y\ntrain,1,0\nvalid,2,1\ntrian,3,0\n");
  wanted.split.column = "part";
  EXPECT_TRUE(contains(refusal(wanted), "trian"));
  wanted.split.column = "prat";
  EXPECT_TRUE(contains(refusal(wanted), "Did you mean 'part'? Set data.split.column"));
  wanted.split.column = "y";
  EXPECT_TRUE(contains(refusal(wanted), "both 'y'"));
  wanted = options("part,x,y\ntrain,1,0\ntrain,2,1\n");
  wanted.split.column = "part";
  EXPECT_TRUE(contains(refusal(wanted), "says 'valid' in no row"));
  wanted.test = wanted.train;
  EXPECT_TRUE(contains(refusal(wanted), "from a column or from files"));
}

TEST_F(Source, Delimiters) {
  DataOptions wanted = options("x;y\n1;0\n2;0\n3;0\n4;0\n5;0\n6;0\n7;1\n8;1\n9;1\n10;1\n");
  wanted.delimiter = ";";
  EXPECT_EQ(load_table(wanted, 0).table.columns(), 2);
  wanted.source = "tsv";
  wanted.delimiter.clear();
  wanted.train = folder_.write("t.tsv", "x\ty\n1\t0\n2\t0\n3\t0\n4\t0\n5\t0\n6\t0\n7\t1\n8\t1\n9\t1\n10\t1\n").string();
  EXPECT_EQ(load_table(wanted, 0).table.columns(), 2);
  wanted.source = "csv";
  wanted.delimiter = "\\t";
  EXPECT_EQ(load_table(wanted, 0).table.columns(), 2);
  for (const char* bad : {";;", "\"", "\n", "\xc3\xa9"}) {
    wanted.delimiter = bad;
    EXPECT_TRUE(contains(refusal(wanted), "data.delimiter")) << bad;
  }
}

TEST_F(Source, WrongDelimiterShowsInTheLabelMessage) {
  DataOptions wanted = options("x;y\n1;0\n2;1\n");
  EXPECT_TRUE(contains(refusal(wanted), "column 'y' is not in")) << refusal(wanted);
  EXPECT_TRUE(contains(refusal(wanted), "it has: x;y"));
  EXPECT_TRUE(contains(refusal(wanted), "separated by ';': set data.delimiter = \";\""));
}

TEST_F(Source, FilesWithoutAHeader) {
  std::string rows = table(1000);
  rows.erase(0, rows.find('\n') + 1);
  DataOptions wanted = options(rows);
  EXPECT_TRUE(contains(refusal(wanted), "line 1, looks like a row and not like a header: set data.header = false"))
      << refusal(wanted);
  wanted.header = false;
  wanted.label = "column_3";
  const TableDataset data = load_table(wanted, 0);
  EXPECT_EQ(data.table.rows(), 1000);
  EXPECT_EQ(data.table.names(), (std::vector<std::string>{"column_1", "column_2", "column_3"}));
  EXPECT_EQ(data.table.cell(0, 0), "0");
}

TEST_F(Source, WeightsAreTakenOutOfTheTable) {
  DataOptions wanted = options("w,x,y\n1,1,0\n0,2,1\n2.5,3,0\n1,4,1\n");
  wanted.weight = "w";
  wanted.split.valid = 0.25;
  wanted.split.test = 0;
  const TableDataset data = load_table(wanted, 0);
  EXPECT_EQ(data.weights, (std::vector<double>{1, 0, 2.5, 1}));
  EXPECT_EQ(data.table.names(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(data.label, 1);
  folder_.write("train.csv", "w,x,y\n1,1,0\n-1,2,1\n2.5,3,0\n1,4,1\n");
  EXPECT_TRUE(contains(refusal(wanted), "line 3: the weight 'w' is '-1'")) << refusal(wanted);
  wanted.weight = "y";
  EXPECT_TRUE(contains(refusal(wanted), "data.weight and data.label are both 'y'"));
}

TEST_F(Source, MessagesNameFileAndLine) {
  DataOptions wanted = options("part,x,y\ntrain,1,0\n\nvalid,2,1\nholdout,3,0\ntrain,4,1\n");
  wanted.split.column = "part";
  EXPECT_TRUE(contains(refusal(wanted), "train.csv: line 5: split column 'part' says 'holdout'")) << refusal(wanted);
}

TEST_F(Source, LabelMistakes) {
  DataOptions wanted = options("income,age\n1,2\n0,3\n");
  wanted.label = "incom";
  const std::string message = refusal(wanted);
  EXPECT_TRUE(contains(message, "column 'incom' is not in")) << message;
  EXPECT_TRUE(contains(message, "it has: income, age. Did you mean 'income'? Set data.label to one of them.")) << message;
  wanted.label.clear();
  EXPECT_TRUE(contains(refusal(wanted), "data.label is not set"));
}

TEST_F(Source, EmptyAndAbsentFiles) {
  EXPECT_TRUE(contains(refusal(options("")), "train.csv"));
  EXPECT_TRUE(contains(refusal(options("x,y\n")), "no rows"));
  DataOptions wanted = options(table(20));
  wanted.valid = (folder_.path() / "absent.csv").string();
  EXPECT_TRUE(contains(refusal(wanted), "absent.csv"));
  wanted = options(table(20));
  wanted.train.clear();
  EXPECT_TRUE(contains(refusal(wanted), "data.train is not set"));
}

TEST_F(Source, SharesThatLeaveNothingAreRefused) {
  DataOptions wanted = options(table(100));
  wanted.split.valid = 0.5;
  wanted.split.test = 0.6;
  refusal(wanted);
}

TEST_F(Source, UnknownSourcesAndProtocolsNameTheNearest) {
  DataOptions wanted;
  EXPECT_TRUE(contains(refusal(wanted), "data.source is not set"));
  wanted.source = "planted-tabel";
  EXPECT_TRUE(contains(refusal(wanted), "Did you mean 'planted-table'?"));
  wanted.source = "planted-table";
  wanted.protocol = "instanse";
  EXPECT_TRUE(contains(refusal(wanted), "Did you mean 'instance'?"));
  wanted = options(table(20));
  wanted.protocol = "uci";
  EXPECT_TRUE(contains(refusal(wanted), "Remove data.protocol"));
}

TEST_F(Source, OptionsWithoutEffectAreRefused) {
  DataOptions wanted;
  wanted.source = "planted-table";
  wanted.rows = 200;
  wanted.label = "label";
  EXPECT_NO_THROW(load_table(wanted, 0));
  wanted.label = "y";
  EXPECT_TRUE(contains(refusal(wanted), "data.label is 'y'"));
  wanted.label.clear();
  wanted.train = "x.csv";
  EXPECT_TRUE(contains(refusal(wanted), "data.train is 'x.csv'"));
}

TEST_F(Source, PlantedTableFollowsRowsVariantAndSplitSeed) {
  DataOptions wanted;
  wanted.source = "planted-table";
  wanted.rows = 500;
  const TableDataset data = load_table(wanted, 3);
  EXPECT_EQ(data.name, "planted-table/global/0");
  EXPECT_EQ(data.table.rows(), 500);
  EXPECT_EQ(load_table(wanted, 4).train, data.train);
  wanted.split.seed = 9;
  wanted.protocol = "instance";
  EXPECT_EQ(load_table(wanted, 3).name, "planted-table/instance/9");
}

TEST_F(Source, OtherMadeTablesFollowRowsAndSplitSeed) {
  const std::vector<std::pair<std::string, std::string>> labels = {{"messy-table", "label"}, {"ctr-like", "click"}};
  for (const auto& [name, label] : labels) {
    DataOptions wanted;
    wanted.source = name;
    wanted.rows = 150;
    wanted.split.seed = 2;
    wanted.label = label;
    const TableDataset data = load_table(wanted, 3);
    EXPECT_EQ(data.name, name + "/2");
    EXPECT_EQ(data.table.rows(), 150);
    EXPECT_EQ(data.table.names()[data.label], label);
    EXPECT_GT(data.bayes_auc, 0.5);
    EXPECT_GT(data.bayes_nll, 0);
    EXPECT_FALSE(data.planted.empty());
    wanted.protocol = "global";
    EXPECT_TRUE(contains(refusal(wanted), "Remove data.protocol"));
    wanted.protocol.clear();
    wanted.label = "y";
    EXPECT_TRUE(contains(refusal(wanted), "data.label is 'y'"));
  }
}

TEST_F(Source, MadeTablesRefuseSharesButNotTheDefaultsSpelledOut) {
  for (const char* name : {"planted-table", "messy-table", "ctr-like"}) {
    DataOptions wanted;
    wanted.source = name;
    wanted.rows = 100;
    wanted.split.valid = 0.1;
    wanted.split.test = 0.2;
    EXPECT_NO_THROW(load_table(wanted, 0)) << name;
    wanted.split.valid = 0.3;
    EXPECT_TRUE(contains(refusal(wanted),
                         "data.split.valid is 0.3, but data.source = \"" + std::string(name) + "\" brings its own split"))
        << refusal(wanted);
    wanted.split.valid = 0.1;
    wanted.split.test = 0;
    EXPECT_TRUE(contains(refusal(wanted), "Remove data.split.test.")) << refusal(wanted);
  }
}

TEST_F(Source, AdultRefusesRowsAndEverythingOfTheSplit) {
  DataOptions plain;
  plain.source = "adult";
  plain.dir = folder_.path().string();  // the options are read before any file is looked for
  DataOptions wanted = plain;
  wanted.rows = 5000;
  EXPECT_TRUE(contains(refusal(wanted), "data.rows is 5000, but data.source = \"adult\" brings its own rows")) << refusal(wanted);
  wanted = plain;
  wanted.split.valid = 0.2;
  EXPECT_TRUE(contains(refusal(wanted), "data.split.valid is 0.2"));
  wanted = plain;
  wanted.split.test = 0.3;
  EXPECT_TRUE(contains(refusal(wanted), "data.split.test is 0.3"));
  wanted = plain;
  wanted.split.seed = 1;
  EXPECT_TRUE(contains(refusal(wanted), "data.split.seed is 1, but")) << refusal(wanted);
  EXPECT_TRUE(contains(refusal(wanted), "train.seed picks one")) << refusal(wanted);
}

TEST_F(Source, OwnTablesRefuseWhatTheyDoNotDraw) {
  DataOptions wanted = options(table(100));
  wanted.rows = 50;
  EXPECT_TRUE(contains(refusal(wanted), "data.rows is 50, but all rows of your files are read")) << refusal(wanted);
  wanted.rows = DataOptions().rows;
  wanted.valid = folder_.write("valid.csv", table(10)).string();
  wanted.split.valid = 0.3;
  EXPECT_TRUE(contains(refusal(wanted), "data.split.valid is 0.3, but data.valid names a file")) << refusal(wanted);
  wanted.split.valid = 0.1;
  wanted.split.seed = 4;  // the test rows are still drawn
  EXPECT_NO_THROW(load_table(wanted, 0));
  wanted.test = wanted.valid;
  EXPECT_TRUE(contains(refusal(wanted), "nothing is drawn")) << refusal(wanted);
  wanted.split.seed = 0;
  EXPECT_NO_THROW(load_table(wanted, 0));
  wanted.split.test = 0;
  EXPECT_TRUE(contains(refusal(wanted), "data.test names a file")) << refusal(wanted);

  wanted = options("part,x,y\ntrain,1,0\nvalid,2,1\ntest,3,0\ntrain,4,1\n");
  wanted.split.column = "part";
  EXPECT_NO_THROW(load_table(wanted, 0));
  wanted.split.test = 0.5;
  EXPECT_TRUE(contains(refusal(wanted), "data.split.column = \"part\" says which rows are held out")) << refusal(wanted);
  wanted.split.test = 0.2;
  wanted.split.seed = 7;
  EXPECT_TRUE(contains(refusal(wanted), "data.split.seed is 7")) << refusal(wanted);
}

TEST_F(Source, ExportWritesRowNumbersAndQuotesCells) {
  DataOptions wanted = options("x,\"a,b\",y\n1,\"say \"\"hi\"\"\",0\n2,\"two\nlines\",1\n3,,0\n");
  wanted.valid = folder_.write("valid.csv", "y,x,\"a,b\"\n1,4,plain\n").string();
  wanted.split.test = 0;
  const TableDataset data = load_table(wanted, 0);
  export_split(data, folder_.path() / "out/deep");
  EXPECT_EQ(read_file(folder_.path() / "out/deep/train.csv"),
            "row,x,\"a,b\",y\n0,1,\"say \"\"hi\"\"\",0\n1,2,\"two\nlines\",1\n2,3,,0\n");
  EXPECT_EQ(read_file(folder_.path() / "out/deep/valid.csv"), "row,x,\"a,b\",y\n3,4,plain,1\n");
  EXPECT_EQ(read_file(folder_.path() / "out/deep/test.csv"), "row,x,\"a,b\",y\n");
  const TextTable again = read_csv(folder_.path() / "out/deep/train.csv", {});
  EXPECT_EQ(again.cell(1, 2), "two\nlines");
}

TEST_F(Source, ExportRefusesASecondRowColumn) {
  DataOptions wanted = options("row,y\n1,0\n2,1\n3,0\n4,1\n5,0\n6,1\n7,0\n8,1\n9,0\n10,1\n");
  const TableDataset data = load_table(wanted, 0);
  EXPECT_TRUE(contains(message_of<UserError>([&] { export_split(data, folder_.path() / "out"); }), "called 'row'"));
}

}  // namespace
}  // namespace l0gm
