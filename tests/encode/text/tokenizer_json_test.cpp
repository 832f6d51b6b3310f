// What is wrong in a tokenizer.json is refused with its place; unknown kinds with their name.
#include <gtest/gtest.h>

#include "encode/text/golden_tokenizer.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

void expect_refused(const std::string& text, const std::string& wanted) {
  const std::string message = message_of<UserError>([&] { tokenizer_from_json(text, "here/tokenizer.json"); });
  EXPECT_NE(message.find("here/tokenizer.json"), std::string::npos) << message;
  EXPECT_NE(message.find(wanted), std::string::npos) << message << "\nwanted: " << wanted;
}

void expect_refused(const char* name, const json::json_pointer& where, const json& value, const std::string& wanted) {
  json file = golden_json(name);
  file[where] = value;
  expect_refused(file.dump(), wanted);
}

using Pointer = json::json_pointer;

TEST(TokenizerJson, NoJson) {
  expect_refused("", "no JSON");
  expect_refused("{\"model\": ", "no JSON");
  expect_refused("[1, 2]", "wanted an object");
  expect_refused("{}", "'model' is absent");
  expect_refused("{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"\\ud800\": 1}}}", "no JSON");
  expect_refused("{\"a\": " + std::string(100000, '[') + std::string(100000, ']') + "}", "nested more than");
  expect_refused("{\"a\": 1, \"a\": 2}", "'a' twice");
}

TEST(TokenizerJson, UnknownKindsByName) {
  expect_refused("wordpiece", Pointer("/model/type"), "WordLevel", "WordLevel");
  expect_refused("wordpiece", Pointer("/normalizer/type"), "Nmt", "Nmt");
  expect_refused("wordpiece", Pointer("/pre_tokenizer/type"), "Split", "Split");
  expect_refused("wordpiece", Pointer("/post_processor/type"), "Fancy", "Fancy");
  expect_refused("wordpiece", Pointer("/normalizer"), {{"type", "Replace"}, {"pattern", {{"Regex", "(a+)+$"}}}, {"content", ""}},
                 "(a+)+$");
  expect_refused("wordpiece", Pointer("/pre_tokenizer"), {{"type", "ByteLevel"}, {"add_prefix_space", true}},
                 "the model behind ByteLevel");
  expect_refused("unigram", Pointer("/pre_tokenizer/pretokenizers/0/prepend_scheme"), "last", "last");
}

TEST(TokenizerJson, Vocabulary) {
  expect_refused("wordpiece", Pointer("/model/vocab/zzz"), 2000000000, "2000000000");
  expect_refused("wordpiece", Pointer("/model/vocab/zzz"), -1, "-1");
  expect_refused("wordpiece", Pointer("/model/vocab/zzz"), 7, "the id 7 is given to two tokens");
  expect_refused("wordpiece", Pointer("/model/vocab/zzz"), "7", "wanted 0 to");
  expect_refused("wordpiece", Pointer("/model/vocab"), json::object(), "0 tokens");
  expect_refused("wordpiece", Pointer("/model/vocab"), 3, "wanted an object");
  json file = golden_json("wordpiece");
  file["model"]["vocab"][std::string(5000, 'x')] = file["model"]["vocab"].size();
  expect_refused(file.dump(), "5000 bytes");
  std::string text = golden_json("wordpiece").dump();
  text.insert(text.find("\"[PAD]\":0"), "\"[PAD]\":1,");
  expect_refused(text, "'[PAD]' twice");
}

TEST(TokenizerJson, Models) {
  expect_refused("wordpiece", Pointer("/model/unk_token"), "[NONE]", "[NONE]");
  expect_refused("wordpiece", Pointer("/model/max_input_chars_per_word"), 1000000000, "max_input_chars_per_word");
  expect_refused("byte_pairs", Pointer("/model/merges/0"), "no-such token", "no-such");
  expect_refused("byte_pairs", Pointer("/model/merges/0"), "one two three", "wanted two tokens");
  expect_refused("byte_pairs", Pointer("/model/dropout"), 0.5, "dropout");
  expect_refused("unigram", Pointer("/model/unk_id"), 100000, "unk_id");
  expect_refused("unigram", Pointer("/model/unk_id"), nullptr, "unk_id");
  expect_refused("unigram", Pointer("/model/vocab/5"), json::array({"[PAD]", -1.0}), "twice");
  expect_refused("unigram", Pointer("/model/vocab/5"), json::array({"[PAD]"}), "pairs of a text and a score");
}

TEST(TokenizerJson, AddedTokensAndPostProcessors) {
  expect_refused("wordpiece", Pointer("/added_tokens/0/id"), 17, "has the id 17, by its place it is 0");
  expect_refused("byte_pairs", Pointer("/added_tokens/4/id"), 1000000, "by its place");
  json file = golden_json("wordpiece");
  file["added_tokens"].push_back(file["added_tokens"][0]);
  expect_refused(file.dump(), "there twice");
  expect_refused("wordpiece", Pointer("/post_processor/special_tokens/[CLS]/ids/0"), 5000000, "the vocabulary does not have");
  expect_refused("wordpiece", Pointer("/post_processor/special_tokens/[CLS]/ids/0"), -1, "out of range");
  expect_refused("wordpiece", Pointer("/post_processor/single"), json::array(), "0 times");
}

// Two tokens that are the same once they are normalised: the first counts, as in the reference.
TEST(TokenizerJson, AddedTokensThatLookAlike) {
  json file = golden_json("wordpiece");
  const auto count = static_cast<int32_t>(file["model"]["vocab"].size());
  for (int i = 0; i < 2; ++i) {
    file["added_tokens"].push_back({{"id", count + i},
                                    {"content", i == 0 ? "QqQ" : "qqq"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", true},
                                    {"special", false}});
  }
  EXPECT_EQ(ids_of(*tokenizer_from_json(file.dump(), "here"), "qqq QQQ"), (std::vector<int32_t>{2, count, count, 3}));
  file["added_tokens"].back()["special"] = true;
  EXPECT_EQ(ids_of(*tokenizer_from_json(file.dump(), "here"), "qqq"), (std::vector<int32_t>{2, count + 1, 3}));
}

TEST(TokenizerJson, PrecompiledMaps) {
  const Pointer map("/normalizer/normalizers/1/precompiled_charsmap");
  expect_refused("unigram", map, "!!", "no base64");
  expect_refused("unigram", map, "AAAA", "its trie has");
  expect_refused("unigram", map, "/////wAAAAAAAAAA", "its trie has");
}

// Replacements of replacements must not fill the memory.
TEST(TokenizerJson, NormalizersThatGrow) {
  json file = golden_json("wordpiece"), steps = json::array();
  for (int i = 0; i < 30; ++i) steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaaaaaa"}});
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  const auto tokenizer = tokenizer_from_json(file.dump(), "here");
  EXPECT_NO_THROW(ids_of(*tokenizer, "b"));
  std::vector<int32_t> ids = {7};
  EXPECT_NE(message_of<UserError>([&] { tokenizer->encode("b [MASK] aaaa", 0, ids); }).find("64 times"), std::string::npos);
  EXPECT_EQ(ids, std::vector<int32_t>{7});
  for (int i = 0; i < 30; ++i) steps.push_back(steps[0]);
  file["normalizer"]["normalizers"] = steps;
  expect_refused(file.dump(), "more than 32 normalizers");
}

}  // namespace
}  // namespace l0gm
