#include "serving/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "encode/table/row_encoder.h"
#include "l0gm/error.h"
#include "runtime/sample_model.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Latency, PercentilesAreValuesOfTheSample) {
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({4, 3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({7}, 0.99), 7);
  std::vector<double> values;
  for (int i = 200; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 0.99), 198);
  EXPECT_EQ(percentile(values, 1.0), 200);
}

TEST(Latency, ALongCallIsARunOfItsOwn) {
  int64_t calls = 0;
  double now = 1e6;
  const auto work = [&](int64_t count) {
    calls += count;
    now += static_cast<double>(count) * (calls % 10 == 0 ? 3000 : 300);
  };
  const CallTimes times = time_calls(work, 50, 5, [&] { return now; });
  EXPECT_EQ(times.calls, 1);
  EXPECT_EQ(calls, 5 + 3 + 50);
  EXPECT_EQ(times.median_us, 300);
  EXPECT_EQ(times.p99_us, 3000);  // one call in ten
}

TEST(Latency, ShortCallsAreTimedTogetherAndOneByOne) {
  int64_t calls = 0, single = 0;
  double now = 1e6;
  const auto work = [&](int64_t count) {
    calls += count;
    single += count == 1 ? 1 : 0;
    now += count == 1 ? 0.5 : 0.125 * static_cast<double>(count);
  };
  const CallTimes times = time_calls(work, 30, 7, [&] { return now; });
  EXPECT_GT(times.calls, 100);
  EXPECT_GE(calls, 30 * times.calls + 30);
  EXPECT_EQ(single, 7 + 3 + 30);
  EXPECT_EQ(times.median_us, 0.125);
  EXPECT_EQ(times.p99_us, 0.5);
}

TEST(Latency, MadeRowsFollowTheSchema) {
  const Schema schema = sample_schema(2);
  const std::vector<std::string> cells = made_cells(schema, 2000, 1);
  ASSERT_EQ(cells.size(), 2000 * schema.columns.size());
  EXPECT_EQ(cells, made_cells(schema, 2000, 1));
  EXPECT_NE(cells, made_cells(schema, 2000, 2));
  std::set<std::string> colours;
  int64_t missing = 0, several = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t column = i % schema.columns.size();
    if (cells[i].empty()) {
      ++missing;
    } else if (schema.columns[column].type == ColumnType::numeric) {
      const auto value = parse_double(cells[i]);
      ASSERT_TRUE(value) << cells[i];
      EXPECT_GE(*value, schema.columns[column].low);
      EXPECT_LE(*value, schema.columns[column].high);
    } else if (schema.columns[column].name == "colour") {
      colours.insert(cells[i]);
    } else if (schema.columns[column].name == "tags") {
      several += contains(cells[i], "|") ? 1 : 0;
    }
  }
  EXPECT_EQ(colours, (std::set<std::string>{"green", "red", "sky blue"}));
  EXPECT_GT(several, 500);
  const double share = static_cast<double>(missing) / static_cast<double>(cells.size());
  EXPECT_GT(share, 0.01);
  EXPECT_LT(share, 0.04);
  RowEncoder encoder(schema);  // nothing that training could not have seen
  RowEncoder::Counts counts = encoder.empty_counts();
  std::vector<int32_t> codes(static_cast<size_t>(schema.code_slots()));
  std::vector<float> slopes(static_cast<size_t>(schema.slope_slots()));
  const std::vector<std::string_view> views(cells.begin(), cells.end());
  for (size_t row = 0; row < 2000; ++row)
    encoder.encode(views.data() + row * schema.columns.size(), codes.data(), slopes.data(), &counts);
  for (size_t column = 0; column < schema.columns.size(); ++column) {
    EXPECT_EQ(counts.unseen[column], 0) << schema.columns[column].name;
    EXPECT_EQ(counts.unreadable[column], 0) << schema.columns[column].name;
  }
}

TEST(Latency, WholeNumbersStayWhole) {
  Schema schema = sample_schema(2);
  schema.columns[0].integral = true;
  const std::vector<std::string> cells = made_cells(schema, 200, 1);
  for (size_t i = 0; i < cells.size(); i += schema.columns.size()) EXPECT_FALSE(contains(cells[i], ".")) << cells[i];
}

TEST(Latency, RowsOfAFileAreTakenByName) {
  const TemporaryFolder folder;
  Schema schema = sample_schema(2);
  schema.columns.resize(2);
  const auto path = folder.write("t.csv", "angle;note;age\n1;x;30\n2;y;40\n3;z;50\n");
  EXPECT_EQ(cells_of_file(path, ';', schema, 2), (std::vector<std::string>{"30", "1", "40", "2"}));
  EXPECT_EQ(cells_of_file(path, ';', schema, 9).size(), 6u);
  const auto empty = folder.write("e.csv", "angle,age\n");
  EXPECT_TRUE(contains(message_of<UserError>([&] { cells_of_file(empty, ',', schema, 2); }), "no rows"));
  const auto other = folder.write("o.csv", "angel,age\n1,2\n");
  EXPECT_TRUE(contains(message_of<UserError>([&] { cells_of_file(other, ',', schema, 2); }), "Did you mean 'angel'?"));
}

class LatencyOfAModel : public testing::Test {
 protected:
  LatencyOfAModel() {
    const CompactHeader header = sample_header({});
    write_compact(path_, header, sample_net(header.schema, {}));
    options_.runs = 5;
    options_.warmup = 1;
  }
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "m.l0gm";
  LatencyOptions options_;
};

TEST_F(LatencyOfAModel, EveryBatchAndBothKindsOfRows) {
  options_.batches = {1, 7, 3000};
  const json measured = measure_latency(path_, options_);
  EXPECT_EQ(measured["threads"], 1);
  EXPECT_EQ(measured["columns"], 6);
  EXPECT_EQ(measured["rows_from"], "schema");
  EXPECT_GT(measured["memory_bytes"].get<int64_t>(), 0);
  ASSERT_EQ(measured["results"].size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const json& result = measured["results"][i];
    EXPECT_EQ(result["input"], i % 2 == 0 ? "numbers" : "text");
    EXPECT_EQ(result["batch"], options_.batches[i / 2]);
    EXPECT_GT(result["median_us"].get<double>(), 0);
    EXPECT_GT(result["p99_us"].get<double>(), 0);
    EXPECT_GE(result["calls_per_run"].get<int64_t>(), 1);
  }
  const std::string text = describe_latency(measured);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
  EXPECT_TRUE(contains(text, "3000")) << text;
}

TEST_F(LatencyOfAModel, RowsFromAFileHoweverShort) {
  options_.batches = {64};
  options_.delimiter = ',';
  options_.input =
      folder_.write("t.csv", "age,angle,colour,city,tags,weight,more\n30,1,red,Rome,a|b,70,x\n,?,blue,Oslo,,many,x\n");
  const json measured = measure_latency(path_, options_);
  EXPECT_EQ(measured["rows_from"], options_.input.string());
  EXPECT_EQ(measured["results"].size(), 2u);
}

TEST_F(LatencyOfAModel, OptionsThatCannotBeAreRefused) {
  const auto refusal = [&](auto change) {
    LatencyOptions options = options_;
    change(options);
    return message_of<UserError>([&] { measure_latency(path_, options); });
  };
  EXPECT_TRUE(contains(refusal([](LatencyOptions& o) { o.batches = {}; }), "batch"));
  EXPECT_TRUE(contains(refusal([](LatencyOptions& o) { o.batches = {1, 0}; }), "a batch of 0 rows"));
  EXPECT_TRUE(contains(refusal([](LatencyOptions& o) { o.runs = 0; }), "0 runs"));
  EXPECT_TRUE(contains(refusal([](LatencyOptions& o) { o.threads = 0; }), "0 threads"));
  EXPECT_TRUE(contains(refusal([](LatencyOptions& o) { o.input = "none.csv"; }), "none.csv"));
  path_ = folder_.path() / "none.l0gm";
  EXPECT_TRUE(contains(refusal([](LatencyOptions&) {}), "none.l0gm"));
}

}  // namespace
}  // namespace l0gm
