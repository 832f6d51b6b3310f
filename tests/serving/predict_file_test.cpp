#include "serving/predict_file.h"

#include <gtest/gtest.h>
#ifdef L0GM_HAS_ZLIB
#include <zlib.h>
#endif

#include <atomic>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/csv.h"
#include "base/files.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Probabilities that follow from a row's cells alone. Column x "missing" when empty; colours other than red and blue are unseen.
class FakePredictor : public Predictor {
 public:
  explicit FakePredictor(bool concurrent = true) : concurrent_(concurrent) {}
  explicit FakePredictor(const std::vector<std::string>& columns) : columns_(columns), concurrent_(true) {}
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool concurrent() const override { return concurrent_; }
  static float probability(std::string_view x, std::string_view colour) {
    uint32_t hash = 1;
    for (const std::string_view cell : {x, colour}) {
      for (const char c : cell) hash = hash * 31 + static_cast<unsigned char>(c);
      hash = hash * 31 + 7;
    }
    return static_cast<float>(hash % 10007) / 10007.0F;
  }
  void predict(Cells asked, std::span<float> found, InputCounts& counts) const override {
    if (!concurrent_ && std::this_thread::get_id() != caller_) throw std::runtime_error("called from another thread");
    if (std::ssize(asked.cells) != 2 * asked.rows || std::ssize(found) != 2 * asked.rows) throw std::logic_error("sizes");
    const std::string_view* cells = asked.cells.data();
    float* probabilities = found.data();
    for (int64_t row = 0; row < asked.rows; ++row, cells += 2, probabilities += 2) {
      if (cells[0] == "boom") throw UserError("a row that nobody can predict");
      if (cells[0] == "odd") throw RowError(row, "a row that is odd");
      if (cells[0] == "crash") throw std::runtime_error("our own mistake");
      if (cells[0] == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(30));
      counts.missing[0] += cells[0].empty() ? 1 : 0;
      counts.unreadable[0] += cells[0] == "many" ? 1 : 0;
      counts.unseen[1] += cells[1] != "red" && cells[1] != "blue" ? 1 : 0;
      probabilities[1] = probability(cells[0], cells[1]);
      probabilities[0] = 1 - probabilities[1];
    }
    most_rows_ = std::max(most_rows_.load(), asked.rows);
  }
  int64_t most_rows() const { return most_rows_; }

 private:
  std::vector<std::string> columns_ = {"x", "colour"}, classes_ = {"no", "yes, sir"};
  bool concurrent_;
  std::thread::id caller_ = std::this_thread::get_id();
  mutable std::atomic<int64_t> most_rows_ = 0;
};

class PredictFile : public testing::Test {
 protected:
  nlohmann::json predict(const std::string& input, const PredictFileOptions& options = {}) {
    return predict_file(predictor_, folder_.write("in.csv", input), out(), options);
  }
  std::string refusal(const std::string& input, const PredictFileOptions& options = {}) {
    return message_of<UserError>([&] { predict(input, options); });
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> result;
    std::istringstream text(read_file(out()));
    for (std::string line; std::getline(text, line);) result.push_back(line);
    return result;
  }
  void expect_no_traces() const {
    for (const auto& entry : fs::directory_iterator(folder_.path()))
      EXPECT_FALSE(contains(entry.path().string(), ".tmp")) << entry.path();
  }
  static std::string many_rows(int count) {
    std::string text = "x,colour\n";
    for (int i = 0; i < count; ++i) {
      text += std::to_string(i * 37 % 1013) + (i % 3 ? ",red\n" : ",blue\n");
      if (i % 50 == 0) text += "\n";
      if (i % 70 == 0) text += "\"two\nlines, \"\"quoted\"\"\",green\r\n";
    }
    return text;
  }
  fs::path out() const { return folder_.path() / "out.csv"; }
  static PredictFileOptions with(int64_t threads, size_t block_bytes = 0) {
    PredictFileOptions options;
    options.threads = threads;
    options.block_bytes = block_bytes;
    return options;
  }
  TemporaryFolder folder_;
  FakePredictor predictor_;
};

TEST_F(PredictFile, WritesEveryRowInOrderWithTheShortestDigits) {
  const nlohmann::json result = predict("x,colour\n90,red\n3,blue\n80,\n");
  EXPECT_EQ(result["rows"], 3);
  EXPECT_EQ(result["output"], out().string());
  EXPECT_GT(result["seconds"].get<double>(), 0);
  EXPECT_NEAR(result["rows_per_second"].get<double>() * result["seconds"].get<double>(), 3, 1e-6);
  const auto text = lines();
  ASSERT_EQ(text.size(), 4u);
  EXPECT_EQ(text[0], "row,prediction,p_no,\"p_yes, sir\"");
  const std::vector<std::pair<std::string, std::string>> rows = {{"90", "red"}, {"3", "blue"}, {"80", ""}};
  CsvReader reader(out(), {});
  std::vector<std::string_view> cells;
  for (size_t i = 0; reader.next(cells); ++i) {
    EXPECT_EQ(cells[0], std::to_string(i));
    const float wanted = FakePredictor::probability(rows[i].first, rows[i].second);
    EXPECT_EQ(cells[1], wanted > 1 - wanted ? "yes, sir" : "no");
    float found = -1;
    std::from_chars(cells[3].data(), cells[3].data() + cells[3].size(), found);
    EXPECT_EQ(found, wanted);  // to the last bit
    EXPECT_LE(cells[3].size(), 12u) << cells[3];
  }
}

TEST_F(PredictFile, TheFirstOddCellOfAColumnIsTold) {
  EXPECT_EQ(predict("x,colour\n1,red\n2,blue\n")["first"],
            nlohmann::json({{"unseen", nlohmann::json::object()}, {"unreadable", nlohmann::json::object()}}));
  std::string input = "x,colour\n";
  for (int i = 0; i < 3000; ++i) {
    input += i == 1777 || i == 2500 ? "many" : std::to_string(i);
    input += i >= 1234 && i % 2 == 0 ? ", green" + std::to_string(i) + "\n" : ",red\n";
  }
  for (const int64_t threads : {1, 3}) {
    for (const size_t block_bytes : {0, 100}) {
      const nlohmann::json first = predict(input, with(threads, block_bytes))["first"];
      EXPECT_EQ(first["unreadable"], nlohmann::json({{"x", {{"cell", "many"}, {"row", 1777}}}})) << first;
      EXPECT_EQ(first["unseen"], nlohmann::json({{"colour", {{"cell", "green1234"}, {"row", 1234}}}})) << first;
    }
  }
  const nlohmann::json long_cell = predict("x,colour\n1,red\n1," + std::string(79, 'a') + "é and more\n")["first"];
  EXPECT_EQ(long_cell["unseen"]["colour"]["cell"], std::string(79, 'a') + "…");
}

TEST_F(PredictFile, AnyNumberOfThreadsWritesTheSameBytes) {
  const std::string input = many_rows(40'000);
  const nlohmann::json one = predict(input);
  const std::string wanted = read_file(out());
  EXPECT_EQ(one["rows"], 40'000 + 572);
  EXPECT_EQ(one["unseen"], nlohmann::json({{"colour", 572}}));
  for (const int64_t threads : {2, 5}) {
    for (const size_t block_bytes : {0, 100, 5000}) {
      nlohmann::json result = predict(input, with(threads, block_bytes));
      EXPECT_EQ(result["threads"], threads);
      EXPECT_EQ(result["rows"], one["rows"]);
      EXPECT_EQ(result["unseen"], one["unseen"]);
      ASSERT_EQ(read_file(out()), wanted) << threads << " threads, blocks of " << block_bytes;
    }
  }
  std::istringstream text(wanted);
  std::string line;
  std::getline(text, line);
  for (int64_t row = 0; std::getline(text, line); ++row) ASSERT_TRUE(line.starts_with(std::to_string(row) + ",")) << line;
}

TEST_F(PredictFile, ASlowBlockIsWaitedFor) {
  std::string input = "x,colour\nslow,red\n";
  for (int i = 0; i < 300; ++i) input += std::to_string(i) + ",blue\n";
  predict(input);
  const std::string wanted = read_file(out());
  predict(input, with(3, 20));
  EXPECT_EQ(read_file(out()), wanted);
  EXPECT_EQ(lines().size(), 302u);
}

TEST_F(PredictFile, APredictorForOneThreadIsCalledFromOne) {
  FakePredictor alone(false);
  const auto input = folder_.write("in.csv", many_rows(20'000));
  EXPECT_EQ(predict_file(alone, input, out(), with(4))["threads"], 1);
  const std::string found = read_file(out());
  EXPECT_GT(alone.most_rows(), 8000);  // in long batches
  predict_file(predictor_, input, out(), {});
  EXPECT_EQ(read_file(out()), found);
}

TEST_F(PredictFile, OtherOrdersFurtherColumnsAndSpellingsAreFine) {
  predict("x,colour\n90,red\n3,blue\n");
  const std::string plain = read_file(out());
  for (const std::string input :
       {"colour,note,x\nred,\"a, b\",90\nblue,,3\n", "y,colour,x\nno,red,90\nnever seen,blue,3",
        "\xEF\xBB\xBFx,colour\r\n90,red\r\n\r\n3,blue\r\n", "\"x\",\"colour\"\n\"90\",\"red\"\n\"3\",blue\n"}) {
    predict(input);
    EXPECT_EQ(read_file(out()), plain) << input;
  }
  PredictFileOptions options;
  options.delimiter = ';';
  predict("x;colour\n90;red\n3;blue\n", options);
  EXPECT_EQ(read_file(out()), plain);
}

#ifdef L0GM_HAS_ZLIB
TEST_F(PredictFile, CompressedInputIsTheSame) {
  const std::string input = many_rows(30'000);
  predict(input);
  const std::string wanted = read_file(out());
  const fs::path path = folder_.path() / "in.csv.gz";
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, input.data(), static_cast<unsigned>(input.size())), static_cast<int>(input.size()));
  gzclose(file);
  predict_file(predictor_, path, out(), with(2));
  EXPECT_EQ(read_file(out()), wanted);
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_TRUE(contains(message_of<UserError>([&] { predict_file(predictor_, path, out(), with(2)); }), "in.csv.gz"));
  EXPECT_EQ(read_file(out()), wanted);
  expect_no_traces();
}
#endif

TEST_F(PredictFile, WhatTrainingNeverSawIsCounted) {
  for (const int64_t threads : {1, 3}) {
    const nlohmann::json result = predict("x,colour\n5,green\n6,green\n,red\nmany,blue\n", with(threads, 8));
    EXPECT_EQ(result["unseen"], nlohmann::json({{"colour", 2}}));
    EXPECT_EQ(result["missing"], nlohmann::json({{"x", 1}}));
    EXPECT_EQ(result["unreadable"], nlohmann::json({{"x", 1}}));
  }
}

TEST_F(PredictFile, ColumnsCanBeKept) {
  PredictFileOptions options = with(2);
  options.keep = {"id", "x"};
  predict("x,id,colour\n90,\"a,1\",red\n3,b,blue\n", options);
  const auto text = lines();
  ASSERT_EQ(text.size(), 3u);
  EXPECT_EQ(text[0], "row,id,x,prediction,p_no,\"p_yes, sir\"");
  EXPECT_TRUE(text[1].starts_with("0,\"a,1\",90,")) << text[1];
  EXPECT_TRUE(text[2].starts_with("1,b,3,")) << text[2];
  const std::vector<std::string> kept = text;
  predict("x,colour\n90,red\n3,blue\n");
  EXPECT_EQ(lines()[1].substr(2), kept[1].substr(kept[1].find("90,") + 3)) << "the same probabilities";
  options.keep = {"ix"};
  EXPECT_TRUE(contains(refusal("x,id,colour\n90,a,red\n", options), "column 'ix', which is to be kept, is not in it"));
}

TEST_F(PredictFile, AFileWithoutAHeader) {
  const std::vector<std::string> names = {"column_2", "column_1"};
  const FakePredictor named(names);
  PredictFileOptions options = with(2, 16);
  options.header = false;
  predict_file(named, folder_.write("in.csv", "red,90\nblue,3\n"), out(), options);
  const auto headless = lines();
  predict("x,colour\n90,red\n3,blue\n");
  EXPECT_EQ(headless, lines());
  EXPECT_TRUE(contains(refusal("90,red\n3,blue\n"), "column 'x'")) << refusal("90,red\n3,blue\n");
  EXPECT_TRUE(contains(refusal("90,80\n3,2\n"), "names of its columns above it"));
  EXPECT_TRUE(contains(refusal("x;colour\n3;2\n"), "--delimiter ';'"));
}

TEST_F(PredictFile, TheInputIsNotWrittenOver) {
  const fs::path input = folder_.write("in.csv", "x,colour\n90,red\n");
  const std::string message =
      message_of<UserError>([&] { predict_file(predictor_, input, folder_.path() / "." / "in.csv", {}); });
  EXPECT_TRUE(contains(message, "read and written over")) << message;
  EXPECT_EQ(read_file(input), "x,colour\n90,red\n");
}

TEST_F(PredictFile, AMissingColumnIsRefusedWithTheNearestName) {
  const std::string message = refusal("x,color\n1,red\n");
  EXPECT_TRUE(contains(message, "'colour'")) << message;
  EXPECT_TRUE(contains(message, "Did you mean 'color'?")) << message;
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(PredictFile, TheFirstMistakeIsReportedAndNothingIsWritten) {
  folder_.write("out.csv", "what was there");
  const std::string rows = many_rows(9000);
  const auto line = std::to_string(1 + std::count(rows.begin(), rows.end(), '\n'));
  for (const int64_t threads : {1, 2, 5}) {
    const std::string ragged = refusal(rows + "1,red,2\n" + rows.substr(9) + "3\n\xE9\n", with(threads, 3000));
    EXPECT_TRUE(contains(ragged, "line " + line + ": found 3 cells")) << ragged;
    const std::string bytes = refusal(rows + "1,caf\xE9\n" + rows.substr(9) + "1\n", with(threads, 3000));
    EXPECT_TRUE(contains(bytes, "not UTF-8 at line " + line + ", column 6")) << bytes;
    const std::string quote = refusal(rows + "1,\"red\n" + std::string(50'000, '\n'), with(threads, 3000));
    EXPECT_TRUE(contains(quote, "line " + line + ", column 3: a quote is opened here")) << quote;
    const std::string predicted = refusal("x,colour\n1,red\nboom,red\n" + rows.substr(9) + "1\n", with(threads, 16));
    EXPECT_TRUE(contains(predicted, "a row that nobody can predict")) << predicted;
    EXPECT_TRUE(contains(predicted, "from line 2 on") || contains(predicted, "from line 3 on")) << predicted;
    const std::string named = refusal("x,colour\n1,red\n\n2,red\nodd,red\n" + rows.substr(9) + "1\n", with(threads, 16));
    EXPECT_TRUE(contains(named, "in.csv: row 2, counted from 0: a row that is odd")) << named;
    const std::string ours =
        message_of<std::runtime_error>([&] { predict(rows + "crash,red\n" + rows.substr(9), with(threads, 500)); });
    EXPECT_EQ(ours, "our own mistake");
    EXPECT_EQ(read_file(out()), "what was there");
  }
  EXPECT_TRUE(contains(refusal("x,colour\n"), "no rows"));
  EXPECT_TRUE(contains(refusal("x,colour\n\n\n", with(2, 1)), "no rows"));
  EXPECT_TRUE(contains(refusal(""), "the file is empty"));
  EXPECT_EQ(read_file(out()), "what was there");
  expect_no_traces();
}

TEST_F(PredictFile, TheOutputFolderMustExist) {
  const std::string message = message_of<UserError>(
      [&] { predict_file(predictor_, folder_.write("in.csv", "x,colour\n1,red\n"), folder_.path() / "none" / "out.csv", {}); });
  EXPECT_TRUE(contains(message, "none")) << message;
}

// Rows that go by name, of which the predictor knows all.
class NamedPredictor : public Predictor {
 public:
  const std::vector<std::string>& columns() const override { return columns_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  bool concurrent() const override { return false; }
  bool columns_name_rows() const override { return true; }
  std::vector<std::string> known_rows() const override { return known; }
  void predict(Cells asked, std::span<float> found, InputCounts&) const override {
    for (size_t row = 0; row < asked.cells.size(); ++row) {
      found[2 * row + 1] = static_cast<float>(asked.cells[row].size()) / 8;
      found[2 * row] = 1 - found[2 * row + 1];
    }
  }
  std::vector<std::string> known = {"ab", "a,bcde", ""};

 private:
  std::vector<std::string> columns_ = {"node"}, classes_ = {"no", "yes"};
};

TEST_F(PredictFile, ColumnsThatNameRowsAreWrittenOutAgain) {
  const std::string wanted = "node,prediction,p_no,p_yes\nab,no,0.75,0.25\n\"a,bcde\",yes,0.25,0.75\n";
  NamedPredictor predictor;
  const auto input = folder_.write("in.csv", "other,node\n1,ab\n2,\"a,bcde\"\n");
  EXPECT_EQ(predict_file(predictor, input, out(), with(3))["rows"], 2);
  EXPECT_EQ(read_file(out()), wanted);
  const nlohmann::json result = predict_known(predictor, out());
  EXPECT_EQ(result["rows"], 3);
  EXPECT_EQ(result["output"], out().string());
  EXPECT_EQ(read_file(out()), wanted + ",no,1,0\n");
  predictor.known.clear();
  EXPECT_TRUE(contains(message_of<UserError>([&] { predict_known(predictor, out()); }), "knows no rows by itself"));
  EXPECT_EQ(read_file(out()), wanted + ",no,1,0\n");
  expect_no_traces();
}

TEST_F(PredictFile, AnObjectPerLineIsARow) {
  predict("x,colour\n90,red\nmany,blue\n,green\n");
  const std::string wanted = read_file(out());
  const std::string objects =
      "{\"colour\":\"red\",\"x\":90,\"more\":[1]}\n\n{\"x\":\"many\",\"colour\":\"blue\"}\n{\"x\":\"\",\"colour\":\"green\"}";
  const nlohmann::json result = predict_file(predictor_, folder_.write("in.jsonl", objects), out(), {});
  EXPECT_EQ(read_file(out()), wanted);
  EXPECT_EQ(result["rows"], 3);
  EXPECT_EQ(result["missing"], (nlohmann::json{{"x", 1}}));
  EXPECT_EQ(result["unreadable"], (nlohmann::json{{"x", 1}}));
  EXPECT_EQ(result["unseen"], (nlohmann::json{{"colour", 1}}));
  const auto refusal_of = [&](const std::string& lines) {
    return message_of<UserError>([&] { predict_file(predictor_, folder_.write("in.jsonl", lines), out(), {}); });
  };
  EXPECT_TRUE(contains(refusal_of("{\"x\":1}\n"), "no key 'colour'"));
  EXPECT_TRUE(contains(refusal_of("{\"x\":1,\"colour\":\"a\"}\n{\"x\":\"odd\",\"colour\":\"a\"}\n"), "row 1, counted from 0"));
  EXPECT_TRUE(contains(refusal_of("{\"x\":\"boom\",\"colour\":\"a\"}\n"), "1 rows from row 0 on"));
  EXPECT_TRUE(contains(refusal_of("\n"), "no rows"));
  EXPECT_EQ(read_file(out()), wanted) << "all or nothing";
  expect_no_traces();
}

}  // namespace
}  // namespace l0gm
