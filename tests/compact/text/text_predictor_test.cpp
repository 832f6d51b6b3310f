#include "compact/text/text_predictor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/text.h"
#include "compact/text/tiny_text.h"
#include "serving/predict_file.h"

namespace l0gm {
namespace {

using namespace testing_tools;

class TextPrediction : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    trained_ = new TrainedTinyText({"gate.target_active=0.5"});
    trained_->compact();
  }
  static void TearDownTestSuite() { delete trained_; }
  // P(yes) of the rows of a file.
  std::vector<double> predicted(const std::filesystem::path& input, const PredictFileOptions& options = {}) {
    const auto output = folder_.path() / "out.csv";
    report_ = predict_file(predictor(), input, output, options);
    const TextTable table = read_csv(output, {});
    EXPECT_EQ(table.rows(), report_["rows"].get<int64_t>());
    std::vector<double> p;
    for (int64_t row = 0; row < table.rows(); ++row) {
      EXPECT_EQ(table.cell(row, 0), std::to_string(row));
      p.push_back(parse_double(table.cell(row, 3)).value());
    }
    return p;
  }
  static const TextPredictor& predictor() {
    static const TextPredictor opened(trained_->file, {false, text_machine(), {}});
    return opened;
  }
  static TrainedTinyText* trained_;
  TemporaryFolder folder_;
  nlohmann::json report_;
};
TrainedTinyText* TextPrediction::trained_ = nullptr;

TEST_F(TextPrediction, TheOrderOfTextsAndTheirNumberChangeNothing) {
  std::vector<std::string> texts = some_texts();
  InputCounts counts;
  const std::vector<double> together = told(predictor(), texts, &counts);
  EXPECT_EQ(counts.missing, std::vector<int64_t>{2}) << "the empty text and the blanks";
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_NEAR(told(predictor(), {texts[i]})[0], together[i], 1e-5) << i;
  std::reverse(texts.begin(), texts.end());
  std::vector<double> backwards = told(predictor(), texts);
  std::reverse(backwards.begin(), backwards.end());
  EXPECT_LE(gap_of(backwards, together), 1e-5);
  EXPECT_TRUE(told(predictor(), {}).empty());
}

TEST_F(TextPrediction, CalibratedOnRequest) {
  const std::vector<double> raw = told(predictor(), some_texts());
  const std::vector<double> of_file = told(TextPredictor(trained_->file, {true, text_machine(), {}}), some_texts());
  const std::vector<double> of_run = told(TextPredictor(trained_->run, {true, text_machine(), {}}), some_texts());
  EXPECT_LE(gap_of(of_file, of_run), 1e-5);
  EXPECT_GT(gap_of(of_file, raw), 1e-6);
}

// The same texts from every kind of file.
TEST_F(TextPrediction, CsvTsvJsonLinesAndPlainLines) {
  const std::vector<std::string> texts = {"one two", "", "word3, \"word4\" word5", "word\t6", "\xE6\x97\xA5\xE6\x9C\xAC"};
  const std::vector<double> wanted = told(predictor(), texts);
  std::string csv = "id,text\n", tsv = "text\tid\n", lines, plain;
  for (size_t i = 0; i < texts.size(); ++i) {
    append_csv_cell(csv += std::to_string(i) + ",", texts[i]);
    csv += "\n";
    append_csv_cell(tsv, texts[i], '\t');
    tsv += "\t" + std::to_string(i) + "\n";
    lines += nlohmann::json{{"text", texts[i]}, {"id", i}, {"more", {{"text", "no"}}}}.dump() + "\n\n";
    plain += texts[i] + "\n";
  }
  EXPECT_LE(gap_of(predicted(folder_.write("t.csv", csv)), wanted), 1e-5);
  EXPECT_EQ(report_["missing"], (nlohmann::json{{"text", 1}}));
  EXPECT_LE(gap_of(predicted(folder_.write("t.tsv", tsv)), wanted), 1e-5);
  EXPECT_LE(gap_of(predicted(folder_.write("t.jsonl", lines)), wanted), 1e-5);
  EXPECT_EQ(report_["missing"], (nlohmann::json{{"text", 1}}));
  EXPECT_LE(gap_of(predicted(folder_.write("t.txt", plain)), wanted), 1e-5);
  EXPECT_LE(gap_of(predicted(folder_.write("t.txt", "caf\xE9 \xFF\n")), told(predictor(), {"caf\xE9 \xFF"})), 1e-5);
  EXPECT_LE(gap_of(predicted(folder_.write("t.csv", "text\ncaf\xE9 \xFF\n")), told(predictor(), {"caf\xE9 \xFF"})), 1e-5);
}

TEST_F(TextPrediction, LongLines) {
  std::string text;
  while (text.size() < (10U << 20)) text += "word1 word2 ";
  const std::vector<double> wanted = told(predictor(), {text, "word1"});
  EXPECT_LE(gap_of(predicted(folder_.write("t.txt", text + "\nword1\n")), wanted), 1e-5);
  EXPECT_LE(gap_of(predicted(folder_.write("t.csv", "text\n" + text + "\nword1\n")), wanted), 1e-5);
  EXPECT_LE(gap_of(predicted(folder_.write("t.jsonl", R"({"text":")" + text + "\"}\n{\"text\":\"word1\"}\n")), wanted), 1e-5);
}

TEST_F(TextPrediction, MistakesAreNamed) {
  const auto refusal = [&](const char* name, const std::string& bytes) {
    return message_of<UserError>([&] { predicted(folder_.write(name, bytes)); });
  };
  EXPECT_NE(refusal("t.csv", "review,id\na,1\n").find("text"), std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"text\":\"a\"}\n{\"txt\":\"a\"}\n").find("line 2"), std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "{\"text\":5}\n").find("wanted a string"), std::string::npos);
  EXPECT_NE(refusal("t.jsonl", "\n").find("no rows"), std::string::npos);
  EXPECT_NE(refusal("t.txt", "").find("no rows"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out.csv")) << "all or nothing";
}

}  // namespace
}  // namespace l0gm
