#include "serving/text_latency.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "runtime/text/onednn.h"
#include "runtime/text/sample_text.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(TextLatency, MadeTextsHaveTheTokensThatWereAskedFor) {
  const auto tokenizer = sample_text_header({}).tokenizer;
  for (const int64_t tokens : {3, 10, 64}) {
    std::vector<int32_t> ids;
    EXPECT_EQ(tokenizer->encode(made_text(*tokenizer, tokens, 1), 0, ids).tokens, tokens);
  }
  EXPECT_NE(made_text(*tokenizer, 10, 1), made_text(*tokenizer, 10, 2));
  EXPECT_THROW(made_text(*tokenizer, 1, 1), UserError);
}

TEST(TextLatency, MeasuresEveryLengthAndBatch) {
  if (!onednn::obstacle().empty()) GTEST_SKIP() << onednn::obstacle();
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  const TextHeader header = sample_text_header({});
  DrawnTensors tensors = drawn_tensors(header.net, 1);
  write_sample_text(path, header, tensors);
  LatencyOptions options;
  options.batches = {1, 3};
  options.tokens = {5, 20, 100000};  // the last is more than the model reads
  options.runs = 3;
  options.warmup = 1;
  const nlohmann::json measured = measure_latency(path, options);
  ASSERT_EQ(measured["results"].size(), 4U);
  EXPECT_EQ(measured["results"][2]["tokens"], 20);
  EXPECT_EQ(measured["results"][3]["batch"], 3);
  EXPECT_GT(measured["results"][3]["median_us"].get<double>(), 0);
  EXPECT_EQ(measured["products"], "float32");
  EXPECT_NE(describe_latency(measured).find("products in float32"), std::string::npos);
  options.tokens = {100000};
  EXPECT_NE(message_of<UserError>([&] { measure_latency(path, options); }).find("at most 150 tokens"), std::string::npos);
  options.input = folder.write("t.csv", "id;review\n1;one two\n2;three\n");
  EXPECT_EQ(measure_latency(path, options)["results"].size(), 2U);
  options.input = folder.write("t.txt", "one two\n");
  std::vector<int32_t> ids;
  EXPECT_EQ(measure_latency(path, options)["results"][1]["tokens"], header.tokenizer->encode("one two", 0, ids).tokens);
  options.input = folder.write("empty.txt", "");
  EXPECT_NE(message_of<UserError>([&] { measure_latency(path, options); }).find("no texts"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
