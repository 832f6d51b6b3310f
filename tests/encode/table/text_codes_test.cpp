#include "encode/table/text_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "base/random.h"

namespace l0gm {
namespace {

// Looked up in memory that ends where the text does: reading beyond it is seen by AddressSanitizer.
int32_t code_of(const TextCodes& codes, const std::string& text) {
  const auto copy = std::make_unique<char[]>(text.size());
  std::copy(text.begin(), text.end(), copy.get());
  return codes.code({copy.get(), text.size()});
}

TEST(TextCodes, BeginAtTwoAndTheFirstOfEqualTextsCounts) {
  const std::vector<std::string> vocabulary = {"red", "", "a text of more than sixteen bytes", "red", "Red"};
  const TextCodes codes(vocabulary);
  EXPECT_EQ(codes.code("red"), 2);
  EXPECT_EQ(codes.code(""), 3);
  EXPECT_EQ(codes.code("a text of more than sixteen bytes"), 4);
  EXPECT_EQ(codes.code("Red"), 6);
  EXPECT_EQ(codes.code("re"), 1);
  EXPECT_EQ(codes.code("a text of more than sixteen byte"), 1);
}

TEST(TextCodes, AnEmptyVocabularyHasNothing) {
  EXPECT_EQ(TextCodes().code(""), 1);
  EXPECT_EQ(TextCodes(std::vector<std::string>{}).code("x"), 1);
  EXPECT_EQ(TextCodes(std::vector<std::string>{"x"}).code(""), 1);
}

TEST(TextCodes, ByteForByteAtEverySize) {
  for (size_t size = 1; size < 40; ++size) {
    std::vector<std::string> vocabulary = {std::string(size, 'x')};
    for (size_t at = 0; at < size; ++at) {
      for (const char other : {'y', '\0', '\xFF'}) {
        vocabulary.push_back(vocabulary[0]);
        vocabulary.back()[at] = other;
      }
    }
    const TextCodes codes(vocabulary);
    for (size_t i = 0; i < vocabulary.size(); ++i) {
      EXPECT_EQ(code_of(codes, vocabulary[i]), static_cast<int32_t>(i + 2)) << size;
      EXPECT_EQ(code_of(codes, vocabulary[i] + '\0'), 1) << size;
      vocabulary[i][i % size] = 'z';
      EXPECT_EQ(code_of(codes, vocabulary[i]), 1) << size;
    }
  }
}

TEST(TextCodes, AgreesWithAnOrdinaryMap) {
  RandomStream random(5);
  const auto random_text = [&] {
    std::string text;
    for (uint64_t k = random.below(20); k > 0; --k) text += static_cast<char>('a' + random.below(3));
    return text;
  };
  for (const int size : {1, 2, 3, 30, 5000}) {
    std::vector<std::string> vocabulary;
    std::unordered_map<std::string, int32_t> wanted;
    for (int i = 0; i < size; ++i) {
      vocabulary.push_back(random_text());
      wanted.emplace(vocabulary.back(), i + 2);
    }
    const TextCodes codes(vocabulary);
    int unseen = 0;
    for (const std::string& text : vocabulary) ASSERT_EQ(code_of(codes, text), wanted.at(text)) << text;
    for (int i = 0; i < 5000; ++i) {
      const std::string text = random_text();
      const auto found = wanted.find(text);
      unseen += found == wanted.end() ? 1 : 0;
      ASSERT_EQ(code_of(codes, text), found == wanted.end() ? 1 : found->second) << text;
    }
    EXPECT_GT(unseen, 1000);
  }
}

TEST(TextCodes, CopiesHoldTheirOwnTexts) {
  auto original = std::make_unique<TextCodes>(std::vector<std::string>{"one", "two"});
  const TextCodes copy = *original;
  original.reset();
  EXPECT_EQ(copy.code("two"), 3);
}

}  // namespace
}  // namespace l0gm
