#include "data/text/token_cache.h"

#include <gtest/gtest.h>

#include "base/array_file.h"
#include "base/files.h"
#include "base/threads.h"
#include "data/text/small_tokenizer.h"
#include "l0gm/error.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

std::vector<int32_t> ids_of(const Tokens& tokens, int64_t text) {
  const auto ids = tokens.ids(text);
  return {ids.begin(), ids.end()};
}

TextPool some_texts(int count) {
  TextPool texts;
  for (int i = 0; i < count; ++i) texts.add(std::string(static_cast<size_t>(i % 11), static_cast<char>('a' + i % 26)));
  return texts;
}

void expect_same_tokens(const Tokens& a, const Tokens& b) {
  ASSERT_EQ(a.texts(), b.texts());
  for (int64_t i = 0; i < a.texts(); ++i) {
    EXPECT_EQ(ids_of(a, i), ids_of(b, i)) << i;
    EXPECT_EQ(a.truncated(i), b.truncated(i)) << i;
  }
  EXPECT_EQ(a.invalid_bytes(), b.invalid_bytes());
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(Tokenize, IdsOffsetsAndCounts) {
  TextPool texts;
  for (const char* text : {"ab", "", "abcdef", "\xFFz"}) texts.add(text);
  const Tokens tokens = tokenize(texts, SmallTokenizer(), 6);
  EXPECT_EQ(tokens.texts(), 4);
  EXPECT_EQ(ids_of(tokens, 0), (std::vector<int32_t>{2, 5 + 'a', 5 + 'b', 3}));
  EXPECT_EQ(ids_of(tokens, 1), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(ids_of(tokens, 2), (std::vector<int32_t>{2, 5 + 'a', 5 + 'b', 5 + 'c', 5 + 'd', 3}));
  EXPECT_EQ(tokens.count(), 4 + 2 + 6 + 4);
  EXPECT_EQ(tokens.length(2), 6);
  EXPECT_TRUE(tokens.truncated(2) && !tokens.truncated(0));
  EXPECT_EQ(tokens.invalid_bytes(), 1);
  const std::vector<int64_t> all = {0, 1, 2, 3}, one = {2};
  EXPECT_DOUBLE_EQ(tokens.truncated_share(all), 0.25);
  EXPECT_DOUBLE_EQ(tokens.truncated_share(one), 1);
  EXPECT_DOUBLE_EQ(tokens.truncated_share({}), 0);
  EXPECT_EQ(tokenize(texts, SmallTokenizer(), 0).length(2), 8) << "no limit";
  EXPECT_EQ(tokenize(TextPool(), SmallTokenizer(), 6).texts(), 0);
}

TEST(Tokenize, ThreadsDoNotShow) {
  const TextPool texts = some_texts(1000);
  set_thread_limit(1);
  const Tokens one = tokenize(texts, SmallTokenizer(), 8);
  set_thread_limit(7);
  const Tokens many = tokenize(texts, SmallTokenizer(), 8);
  set_thread_limit(0);
  expect_same_tokens(one, many);
}

TEST(TokenCache, ReadAgainWithoutTokenising) {
  struct Counting : SmallTokenizer {
    EncodedText encode(std::string_view text, int64_t max_tokens, std::vector<int32_t>& ids) const override {
      ++calls;
      return SmallTokenizer::encode(text, max_tokens, ids);
    }
    mutable std::atomic<int> calls = 0;
  };
  const TemporaryFolder folder;
  const Counting tokenizer;
  const TextPool texts = some_texts(200);
  const Tokens made = cached_tokens(folder.path() / "deep/cache", texts, tokenizer, 8);
  EXPECT_EQ(tokenizer.calls, 200);
  const Tokens read = cached_tokens(folder.path() / "deep/cache", texts, tokenizer, 8);
  EXPECT_EQ(tokenizer.calls, 200);
  expect_same_tokens(made, read);
  fs::remove_all(folder.path() / "deep");
  expect_same_tokens(made, read);  // the mapping outlives the file
}

TEST(TokenCache, AnotherTextTokenizerOrLimitIsAnotherFile) {
  const TemporaryFolder folder;
  const TextPool texts = some_texts(20);
  cached_tokens(folder.path(), texts, SmallTokenizer(), 8);
  cached_tokens(folder.path(), texts, SmallTokenizer(), 9);
  cached_tokens(folder.path(), texts, SmallTokenizer("another"), 8);
  cached_tokens(folder.path(), some_texts(21), SmallTokenizer(), 8);
  TextPool joined, split;  // the same bytes, cut in other places
  joined.add("ab");
  joined.add("c");
  split.add("a");
  split.add("bc");
  cached_tokens(folder.path(), joined, SmallTokenizer(), 8);
  cached_tokens(folder.path(), split, SmallTokenizer(), 8);
  EXPECT_EQ(files_in(folder.path()).size(), 6u);
}

TEST(TokenCache, DamageIsSetAsideAndMadeAgain) {
  const TemporaryFolder folder;
  const TextPool texts = some_texts(50);
  const Tokens made = cached_tokens(folder.path(), texts, SmallTokenizer(), 8);
  const fs::path file = files_in(folder.path()).at(0);
  const std::string bytes = read_file(file);
  std::string flipped = bytes;
  flipped[bytes.size() - 40] ^= 1;
  for (const std::string& damaged : {bytes.substr(0, bytes.size() / 2), flipped, std::string(), std::string("junk")}) {
    write_file_atomically(file, damaged);
    testing::internal::CaptureStderr();
    expect_same_tokens(cached_tokens(folder.path(), texts, SmallTokenizer(), 8), made);
    const std::string message = testing::internal::GetCapturedStderr();
    EXPECT_NE(message.find("set aside as"), std::string::npos) << message;
    EXPECT_EQ(read_file(file), bytes);
    EXPECT_EQ(read_file(file.string() + ".damaged"), damaged);
  }
}

// Files with a right hash and a wrong content.
TEST(TokenCache, ContentIsChecked) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.tokens";
  const auto refusal = [&](std::vector<int32_t> ids, std::vector<int64_t> offsets, std::vector<uint8_t> truncated) {
    write_tokens(path, Tokens(std::move(ids), std::move(offsets), std::move(truncated), 0));
    return message_of<UserError>([&] { read_tokens(path, 2, 261, 8); });
  };
  const auto has = [](const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(refusal({1, 2}, {0, 1, 2, 2}, {0, 0, 0}), "3 texts, wanted 2");
  has(refusal({1, 2}, {0, 1}, {0, 0}), "texts, wanted 2");
  has(refusal({1, 2}, {0, 1, 1}, {0, 0}), "do not cover");
  has(refusal({1, 2}, {1, 1, 2}, {0, 0}), "do not cover");
  has(refusal({1, 2}, {0, 3, 2}, {0, 0}), "offsets of text 1");
  has(refusal({1, 2}, {0, -5, 2}, {0, 0}), "offsets of text 0");
  has(refusal(std::vector<int32_t>(10, 1), {0, 1, 10}, {0, 0}), "offsets of text 1");
  has(refusal({1, 261}, {0, 1, 2}, {0, 0}), "id 261 is outside");
  has(refusal({-1, 2}, {0, 1, 2}, {0, 0}), "id -1 is outside");
  write_safetensors(path, {}, {});
  EXPECT_THROW(read_tokens(path, 2, 261, 8), UserError);
}

TEST(TokenCache, WorksWithoutAWritableFolder) {
  const TemporaryFolder folder;
  const TextPool texts = some_texts(5);
  const fs::path file = folder.write("file", "");
  testing::internal::CaptureStderr();
  const Tokens tokens = cached_tokens(file / "below", texts, SmallTokenizer(), 8);
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_EQ(tokens.texts(), 5);
  EXPECT_NE(message.find("could not be stored"), std::string::npos) << message;
  EXPECT_EQ(cached_tokens({}, texts, SmallTokenizer(), 8).texts(), 5);
}

TEST(TokenCache, LiesBelowTheUserCache) {
  const ScopedVariable cache("XDG_CACHE_HOME", "/somewhere");
  EXPECT_EQ(token_cache_folder(), "/somewhere/l0gm/tokens");
  const ScopedVariable none("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  EXPECT_TRUE(token_cache_folder().empty());
}

}  // namespace
}  // namespace l0gm
