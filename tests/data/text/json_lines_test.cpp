#include "data/text/json_lines.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

class JsonLinesFiles : public testing::Test {
 protected:
  // text and label of each line, as "text|label"
  std::vector<std::string> read(const std::string& bytes) {
    JsonLines lines(folder_.write("a.jsonl", bytes), {"text", "label"});
    std::vector<std::string> rows;
    while (lines.next()) rows.push_back(std::string(lines.text(0)) + "|" + std::string(lines.scalar(1)));
    return rows;
  }
  void expect_refusal(const std::string& bytes, const std::string& part) {
    const std::string message = message_of<UserError>([&] { read(bytes); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
    EXPECT_LT(message.size(), 1000u);
  }
  TemporaryFolder folder_;
};

TEST_F(JsonLinesFiles, MembersInAnyOrderAndOfAnyKind) {
  EXPECT_EQ(read("{\"text\":\"a b\",\"label\":\"x\"}\n"
                 "{\"label\": 3, \"more\": {\"text\": [1, {\"label\": 2}]}, \"text\": \"\"}\r\n"
                 "\n  \n"
                 "{\"text\": \"c\", \"label\": true}\n"
                 "{\"text\": \"d\", \"label\": -1.50}"),
            (std::vector<std::string>{"a b|x", "|3", "c|true", "d|-1.50"}));
  EXPECT_TRUE(read("").empty());
  EXPECT_EQ(read("\xEF\xBB\xBF{\"text\":\"a\",\"label\":\"x\"}").size(), 1u);
}

TEST_F(JsonLinesFiles, EscapesSurrogatesAndNul) {
  using namespace std::string_literals;
  EXPECT_EQ(read(R"({"text":"tab\there \u00fc \ud83d\ude00 \u0000 end\n","label":"x"})"),
            (std::vector<std::string>{"tab\there \u00fc \U0001F600 \0 end\n|x"s}));
}

TEST_F(JsonLinesFiles, BadLinesAreNamedByNumber) {
  const std::string good = "{\"text\":\"a\",\"label\":\"x\"}\n";
  expect_refusal(good + "\n{\"text\":\"a\",", "line 3:");
  expect_refusal(good + "[1]", "line 2: found an array, wanted an object");
  expect_refusal("3", "found 3, wanted an object");
  expect_refusal("\"s\"", "found a string, wanted an object");
  expect_refusal("null", "found null, wanted an object");
  expect_refusal(good + good + "{\"text\":\"a\"}", "line 3: there is no key 'label'; there are: text.");
  expect_refusal("{\"texts\":\"a\",\"label\":1}", "Did you mean 'texts'?");
  expect_refusal("{}", "there is no key 'text'");
  expect_refusal("{\"text\":\"a\",\"label\":1,\"text\":\"b\"}", "'text' is there twice");
  expect_refusal("{\"text\":3,\"label\":1}", "'text' is 3, wanted a string");
  expect_refusal("{\"text\":null,\"label\":1}", "'text' is null, wanted a string");
  expect_refusal("{\"text\":\"a\",\"label\":[1]}", "'label' is an array, wanted a string, a number or a boolean");
  expect_refusal("{\"text\":\"a\",\"label\":{}}", "'label' is an object");
  expect_refusal("{\"text\":\"a\",\"label\":1} {}", "line 1:");
  expect_refusal("{\"text\":\"\\ud83d\",\"label\":1}", "line 1:");               // half a surrogate pair
  expect_refusal("{\"text\":\"a\xFF\",\"label\":1}", "line 1:");                 // not UTF-8
  expect_refusal(std::string("{\"text\":\"a\0\",\"label\":1}", 23), "line 1:");  // a bare NUL
  expect_refusal("{\"text\":\"" + std::string(1 << 20, 'x'), "line 1:");
}

TEST_F(JsonLinesFiles, DeepNestingAndLongLinesAreNoProblem) {
  const std::string deep(2000000, '[');
  const std::string closed = "{\"more\":" + deep + std::string(deep.size(), ']') + ",\"text\":\"a\",\"label\":1}";
  EXPECT_EQ(read(closed), (std::vector<std::string>{"a|1"}));
  expect_refusal("{\"more\":" + deep, "line 1:");
  const std::string text(10 << 20, 'y');
  EXPECT_EQ(read("{\"text\":\"" + text + "\",\"label\":1}\n")[0].size(), text.size() + 2);
}

}  // namespace
}  // namespace l0gm
