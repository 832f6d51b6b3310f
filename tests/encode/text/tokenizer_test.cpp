#include "encode/text/tokenizer.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/hash.h"
#include "encode/text/encode_texts.h"
#include "encode/text/golden_tokenizer.h"
#include "l0gm/error.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(Tokenizer, SaysWhatItIs) {
  const auto tokenizer = golden_tokenizer("wordpiece");
  EXPECT_EQ(tokenizer->special().pad, 0);
  EXPECT_EQ(tokenizer->special().unknown, 1);
  EXPECT_EQ(tokenizer->special().cls, 2);
  EXPECT_EQ(tokenizer->special().sep, 3);
  EXPECT_EQ(tokenizer->special().mask, 4);
  EXPECT_EQ(tokenizer->token(4), "[MASK]");
  EXPECT_EQ(tokenizer->sha256(), sha256(tokenizer->json()));
  EXPECT_EQ(tokenizer->json(), read_file(golden_folder() / "wordpiece.json"));
  EXPECT_EQ(tokenizer->vocabulary_size(), static_cast<int64_t>(golden_json("wordpiece")["model"]["vocab"].size()));
  EXPECT_NE(message_of<UserError>([&] { tokenizer->token(-1); }).find("token -1"), std::string::npos);
  const SpecialTokens bytes = golden_tokenizer("byte_pairs")->special();
  EXPECT_EQ(bytes.cls, 0);
  EXPECT_EQ(bytes.pad, 1);
  EXPECT_EQ(bytes.sep, 2);
  EXPECT_EQ(bytes.unknown, 3);
  EXPECT_EQ(golden_tokenizer("byte_pairs")->token(bytes.mask), "<mask>");
}

TEST(Tokenizer, IsCutOnTheRightAndKeepsTheSpecialTokens) {
  for (const char* name : {"wordpiece", "byte_pairs", "unigram"}) {
    const auto tokenizer = golden_tokenizer(name);
    const std::string text = "ban kast mel prel. ban kast!";
    const std::vector<int32_t> all = ids_of(*tokenizer, text);
    ASSERT_GT(all.size(), 6u);
    for (size_t most = 2; most <= all.size() + 1; ++most) {
      std::vector<int32_t> ids = {-7};
      const EncodedText encoded = tokenizer->encode(text, static_cast<int64_t>(most), ids);
      EXPECT_EQ(encoded.truncated, most < all.size());
      std::vector<int32_t> wanted(all.begin(), all.end() - 1);
      wanted.resize(std::min(wanted.size(), most - 1));
      wanted.push_back(all.back());
      wanted.insert(wanted.begin(), -7);
      EXPECT_EQ(ids, wanted);
      EXPECT_EQ(encoded.tokens, static_cast<int64_t>(ids.size()) - 1);
    }
    EXPECT_NE(message_of<UserError>([&] { ids_of(*tokenizer, text, 1); }).find("at most 1 tokens"), std::string::npos);
  }
}

TEST(Tokenizer, EmptyTextIsTheSpecialTokens) {
  EXPECT_EQ(ids_of(*golden_tokenizer("wordpiece"), ""), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(ids_of(*golden_tokenizer("byte_pairs"), ""), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(ids_of(*golden_tokenizer("unigram"), "  "), (std::vector<int32_t>{1, 2}));
}

TEST(Tokenizer, InvalidBytesAreCountedAlsoBehindTheCut) {
  const auto tokenizer = golden_tokenizer("byte_pairs");
  std::vector<int32_t> ids;
  EXPECT_EQ(tokenizer->encode("a\xFF b\xF0\x9F", 0, ids).invalid_bytes, 3);
  EXPECT_EQ(ids, ids_of(*tokenizer, "a\uFFFD b\uFFFD"));
  EXPECT_EQ(tokenizer->encode("a b c d e\xFF", 3, ids).invalid_bytes, 1);
}

// No time is asserted: work that grew with the square of the length would run into the test's own limit.
TEST(Tokenizer, LongTextsAndLongWords) {
  const size_t million = 1000000;
  std::string line;
  while (line.size() < 10 * million) line += "ban kast, mel\u00e9 prel. ";
  for (const char* name : {"wordpiece", "byte_pairs", "unigram"}) {
    const auto tokenizer = golden_tokenizer(name);
    const std::vector<int32_t> once = ids_of(*tokenizer, line.substr(0, line.find('.') + 2));
    EXPECT_GT(ids_of(*tokenizer, line).size(), 8 * million / 10) << name;
    EXPECT_EQ(ids_of(*tokenizer, line, 5), std::vector<int32_t>({once[0], once[1], once[2], once[3], once.back()}));
    for (const char* piece : {"a", "\u0301", "an", " ", "\u00e9", "[", "\u4e2d", "\u302e\u0301"}) {
      std::string word;
      while (word.size() < million) word += piece;
      EXPECT_GE(ids_of(*tokenizer, word).size(), 2u) << name << " " << piece;
    }
  }
  EXPECT_EQ(ids_of(*golden_tokenizer("wordpiece"), std::string(million, 'a')), (std::vector<int32_t>{2, 1, 3}));
}

TEST(Tokenizer, SeveralThreadsAtOnce) {
  const nlohmann::json cases = golden_json("cases");
  const auto texts = cases["texts"].get<std::vector<std::string>>();
  const auto tokenizer = golden_tokenizer("wordpiece");
  std::vector<std::vector<int32_t>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : found) {
      threads.emplace_back([&] {
        for (int round = 0; round < 5; ++round) {
          for (const std::string& text : texts) tokenizer->encode(text, 0, ids);
        }
      });
    }
  }
  for (const auto& ids : found) EXPECT_EQ(ids, found[0]);
  EXPECT_GT(found[0].size(), 10000u);
}

TEST(Tokenizer, ManyTextsAtOnce) {
  const auto tokenizer = golden_tokenizer("unigram");
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back("ban kast " + std::to_string(i) + (i % 10 == 0 ? "\xFF" : ""));
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  const EncodedTexts encoded = encode_texts(*tokenizer, views, 6);
  ASSERT_EQ(encoded.offsets.size(), texts.size() + 1);
  EXPECT_EQ(encoded.invalid_bytes, 100);
  int64_t cut = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int32_t> ids;
    cut += tokenizer->encode(texts[i], 6, ids).truncated;
    EXPECT_EQ(std::vector<int32_t>(encoded.text(i).begin(), encoded.text(i).end()), ids);
  }
  EXPECT_EQ(encoded.truncated, cut);
  EXPECT_EQ(encode_texts(*tokenizer, {}, 6).offsets, std::vector<int64_t>{0});
}

TEST(Tokenizer, RealWeights) {
  const char* variable = std::getenv("L0GM_WEIGHTS");
  const std::filesystem::path folder =
      (variable != nullptr ? std::filesystem::path(variable)
                           : std::filesystem::path(L0GM_SOURCE_DIR) / ".." / "shared" / "weights") /
      "gte-small";
  if (!std::filesystem::exists(folder / "tokenizer.json")) GTEST_SKIP() << "no real weights: set L0GM_WEIGHTS";
  const auto tokenizer = read_tokenizer(folder);
  EXPECT_EQ(tokenizer->vocabulary_size(), 30522);
  EXPECT_EQ(ids_of(*tokenizer, "That is a happy dog"), (std::vector<int32_t>{101, 2008, 2003, 1037, 3407, 3899, 102}));
  const TemporaryFolder plain;
  plain.write("vocab.txt", read_file(folder / "vocab.txt"));
  EXPECT_EQ(ids_of(*read_tokenizer(plain.path()), "Na\u00efve, unbelievably [MASK] fa\u00e7ades!"),
            ids_of(*tokenizer, "Na\u00efve, unbelievably [MASK] fa\u00e7ades!"));
}

}  // namespace
}  // namespace l0gm
