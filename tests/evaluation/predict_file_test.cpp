#include "evaluation/predict_file.h"

#include <gtest/gtest.h>

#include <sstream>

#include "data/table/csv.h"
#include "l0gm/error.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::one_thread;
using testing_tools::tiny_config;
using testing_tools::train;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class PredictFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string text = "x,colour,y\n";
    for (int i = 0; i < 300; ++i) {
      text +=
          std::to_string(i * 37 % 101) + "," + (i % 3 ? "red" : "blue") + "," + (i * 37 % 101 > 50 ? "yes, sir" : "no") + "\n";
    }
    text.replace(text.find("yes, sir"), 8, "\"yes, sir\"");
    for (size_t at = 0; (at = text.find(",yes, sir", at)) != std::string::npos;) text.replace(at, 9, ",\"yes, sir\"");
    train(tiny_config({"data.source=csv", "data.train=" + folder_.write("t.csv", text).string(), "data.label=y", "gate.k=6",
                       "train.lr=0.02", "train.epochs=12"}),
          folder_.path() / "run");
    fs::remove(folder_.path() / "t.csv");  // predict never needs the training file
  }
  nlohmann::json predict(const std::string& input, PredictFileOptions options = {}) {
    LoadedRun run = load_run(folder_.path() / "run", one_thread());
    return predict_file(run, folder_.write("in.csv", input), out(), options, one_thread());
  }
  std::string refusal(const std::string& input) {
    return message_of<UserError>([&] { predict(input); });
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    std::istringstream text(read_file(out()));
    for (std::string line; std::getline(text, line);) result.push_back(line);
    return result;
  }
  fs::path out() const { return folder_.path() / "out.csv"; }
  TemporaryFolder folder_;
};

TEST_F(PredictFile, KeepsTheOrderOfRowsAndNamesTheClasses) {
  const nlohmann::json result = predict("x,colour\n90,red\n3,red\n80,blue\n");
  EXPECT_EQ(result["rows"], 3);
  const auto text = lines();
  ASSERT_EQ(text.size(), 4u);
  EXPECT_EQ(text[0], "row,prediction,p_no,\"p_yes, sir\"");
  EXPECT_TRUE(text[1].starts_with("0,\"yes, sir\",")) << text[1];
  EXPECT_TRUE(text[2].starts_with("1,no,")) << text[2];
  EXPECT_TRUE(text[3].starts_with("2,\"yes, sir\",")) << text[3];
  CsvReader reader(out(), {});
  for (std::vector<std::string_view> cells; reader.next(cells);) {
    EXPECT_NEAR(std::stod(std::string(cells[2])) + std::stod(std::string(cells[3])), 1, 1e-12);
  }
}

TEST_F(PredictFile, OtherOrdersAndFurtherColumnsAreFine) {
  predict("x,colour\n90,red\n3,blue\n");
  const std::string plain = read_file(out());
  predict("colour,note,x\nred,\"a, b\",90\nblue,,3\n");
  EXPECT_EQ(read_file(out()), plain);
  predict("y,colour,x\nno,red,90\nnever seen,blue,3\n");  // the label is not looked at
  EXPECT_EQ(read_file(out()), plain);
}

TEST_F(PredictFile, ManyRowsInBlocksAreTheSameRows) {
  std::string text = "x,colour\n";
  for (int i = 0; i < 9000; ++i) text += std::to_string(i % 90) + ",red\n";
  EXPECT_EQ(predict(text)["rows"], 9000);
  const auto all = lines();
  ASSERT_EQ(all.size(), 9001u);
  const auto after_row = [&](size_t i) { return all[i + 1].substr(all[i + 1].find(',')); };
  EXPECT_EQ(after_row(8910), after_row(0));
  EXPECT_NE(after_row(8911), after_row(0));
  EXPECT_TRUE(all[9000].starts_with("8999,")) << all[9000];
}

TEST_F(PredictFile, WhatTrainingNeverSawIsCounted) {
  const nlohmann::json result = predict("x,colour\n5,green\n6,green\n,red\nmany,blue\n");
  EXPECT_EQ(result["unseen"], nlohmann::json({{"colour", 2}}));
  EXPECT_EQ(result["missing"], nlohmann::json({{"x", 1}}));
  EXPECT_EQ(result["unreadable"], nlohmann::json({{"x", 1}}));
  EXPECT_EQ(lines().size(), 5u);
}

TEST_F(PredictFile, AMissingColumnIsRefusedWithTheNearestName) {
  const std::string message = refusal("x,color\n1,red\n");
  EXPECT_TRUE(contains(message, "'colour'")) << message;
  EXPECT_TRUE(contains(message, "Did you mean 'color'?")) << message;
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(PredictFile, NothingIsWrittenWhenItFails) {
  folder_.write("out.csv", "what was there");
  std::string text = "x,colour\n";
  for (int i = 0; i < 9000; ++i) text += "1,red\n";
  EXPECT_TRUE(contains(refusal(text + "1,red,2\n"), "line 9002"));
  EXPECT_EQ(read_file(out()), "what was there");
  EXPECT_TRUE(contains(refusal("x,colour\n"), "no rows"));
  EXPECT_FALSE(refusal("").empty());
  EXPECT_EQ(read_file(out()), "what was there");
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(contains(entry.path().string(), ".tmp")) << entry.path();
}

TEST_F(PredictFile, CalibratedAppliesTheRunsCalibrator) {
  const std::string input = "x,colour\n90,red\n52,blue\n3,red\n";
  predict(input);
  const auto probabilities = [&] {
    std::vector<double> values;
    CsvReader reader(out(), {});
    for (std::vector<std::string_view> cells; reader.next(cells);) {
      for (size_t c : {2, 3}) values.push_back(std::stod(std::string(cells[c])));
    }
    return values;
  };
  const std::vector<double> raw = probabilities();
  PredictFileOptions options;
  options.calibrated = true;
  EXPECT_EQ(predict(input, options)["calibrated"], true);
  const std::vector<double> scaled = probabilities();
  const LoadedRun run = load_run(folder_.path() / "run", one_thread());
  ASSERT_EQ(run.calibrator.kind, CalibratorKind::temperature);
  ASSERT_GT(std::abs(run.calibrator.temperature - 1), 1e-3);
  for (size_t i = 0; i < raw.size(); i += 2) {
    std::vector<double> row(raw.begin() + static_cast<std::ptrdiff_t>(i), raw.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    run.calibrator.apply_to_row(row);
    EXPECT_NEAR(scaled[i], row[0], 1e-12);
    EXPECT_NE(scaled[i], raw[i]);
  }
}

TEST_F(PredictFile, AnotherDelimiter) {
  predict("x,colour\n90,red\n");
  const std::string plain = read_file(out());
  PredictFileOptions options;
  options.delimiter = ';';
  predict("x;colour\n90;red\n", options);
  EXPECT_EQ(read_file(out()), plain);
}

TEST_F(PredictFile, TheOutputFolderMustExist) {
  LoadedRun run = load_run(folder_.path() / "run", one_thread());
  const std::string message = message_of<UserError>([&] {
    predict_file(run, folder_.write("in.csv", "x,colour\n1,red\n"), folder_.path() / "none" / "out.csv", {}, one_thread());
  });
  EXPECT_TRUE(contains(message, "none")) << message;
}

}  // namespace
}  // namespace l0gm
