#include <gtest/gtest.h>

#include "base/threads.h"
#include "encode/text/golden_tokenizer.h"
#include "encode/text/word_counts.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

std::vector<std::string> made_texts() {
  std::vector<std::string> texts;
  for (int i = 0; i < 400; ++i) {
    texts.push_back("The painter paints a painted painting, " + std::to_string(i % 37) + " times.");
    texts.push_back(i % 2 == 0 ? "Walkers walked; walking WALKS!" : "Caf\u00e9s repaint the caf\u00e9");
  }
  return texts;
}

TEST(TrainTokenizer, CountsWords) {
  const std::vector<std::string_view> texts = {"The the", "caf\u00e9, THE cafe", "", "\u4e2d\u6587"};
  const std::vector<std::pair<std::string, int64_t>> wanted = {{",", 1}, {"cafe", 2}, {"the", 3}, {"\u4e2d", 1}, {"\u6587", 1}};
  EXPECT_EQ(count_words(texts), wanted);
  EXPECT_TRUE(count_words({std::string_view()}).empty());
  EXPECT_TRUE(count_words({std::string(101, 'a')}).empty());
}

TEST(TrainTokenizer, FrequentWordsBecomeTokens) {
  const std::vector<std::string> texts = made_texts();
  const auto tokenizer = train_tokenizer({texts.begin(), texts.end()}, 150);
  EXPECT_LE(tokenizer->vocabulary_size(), 150);
  const std::vector<std::string> first = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(tokenizer->token(static_cast<int32_t>(i)), first[i]);
  EXPECT_EQ(ids_of(*tokenizer, "the").size(), 3u);
  EXPECT_EQ(ids_of(*tokenizer, "Paint").size(), 3u);
  EXPECT_EQ(ids_of(*tokenizer, "The THE the"), ids_of(*tokenizer, "the the the"));
  EXPECT_EQ(ids_of(*tokenizer, "\u4e2d"), (std::vector<int32_t>{2, 1, 3}));  // never seen
  for (const std::string& text : texts) {
    for (const int32_t id : ids_of(*tokenizer, text)) EXPECT_NE(id, 1) << text;
  }
}

TEST(TrainTokenizer, IsTheSameForAnyNumberOfThreads) {
  const std::vector<std::string> texts = made_texts();
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  set_thread_limit(1);
  const std::string one = train_tokenizer(views, 150)->sha256();
  set_thread_limit(3);
  const std::string three = train_tokenizer(views, 150)->sha256();
  set_thread_limit(0);
  EXPECT_EQ(one, three);
  std::vector<std::string_view> backwards(views.rbegin(), views.rend());
  EXPECT_EQ(train_tokenizer(backwards, 150)->sha256(), one);
}

TEST(TrainTokenizer, Refusals) {
  EXPECT_NE(message_of<UserError>([] { train_tokenizer({"a"}, 5); }).find("5 tokens"), std::string::npos);
  EXPECT_NE(message_of<UserError>([] { train_tokenizer({" ", ""}, 500); }).find("no word"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
