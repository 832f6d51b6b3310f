// Ids against those of the reference library (tests/reference/tokenizers_golden.py).
#include <gtest/gtest.h>

#include <algorithm>

#include "encode/text/golden_tokenizer.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

// Parts are replaced; of the model, single members.
json patched(json file, const json& patch) {
  for (const auto& [key, change] : patch.items()) {
    if (key == "model") {
      file[key].update(change);
    } else {
      file[key] = change;
    }
  }
  return file;
}

TEST(TokenizerGolden, EveryGroupOfCases) {
  const json cases = golden_json("cases");
  const auto texts = cases["texts"].get<std::vector<std::string>>();
  ASSERT_GT(texts.size(), 200u);
  int64_t compared = 0;
  for (const json& group : cases["groups"]) {
    const std::string name = group["tokenizer"].get<std::string>() + " with " + group["patch"].dump().substr(0, 120);
    const auto tokenizer = tokenizer_from_json(patched(golden_json(group["tokenizer"]), group["patch"]).dump(), name);
    size_t place = 0;
    for (const json& wanted : group["ids"]) {
      const std::string& text = texts.at(place);
      EXPECT_EQ(ids_of(*tokenizer, text, group["max_tokens"]), wanted.get<std::vector<int32_t>>())
          << name << "\ntext " << place << ": " << text;
      place += group["every"].get<size_t>();
      ++compared;
    }
  }
  EXPECT_GT(compared, 2000);
}

// Texts side by side in one buffer, so that nothing depends on what was before or on memory that is used again.
TEST(TokenizerGolden, ManyTextsOneAfterAnother) {
  const json cases = golden_json("cases");
  for (const char* name : {"wordpiece", "byte_pairs", "unigram"}) {
    const auto tokenizer = golden_tokenizer(name);
    std::vector<int32_t> all, again;
    for (int round = 0; round < 2; ++round) {
      for (const json& text : cases["texts"]) tokenizer->encode(text.get<std::string>(), 0, round == 0 ? all : again);
    }
    EXPECT_EQ(all, again);
    size_t place = 0;
    for (const json& text : cases["texts"]) {
      const std::vector<int32_t> ids =
          ids_of(*(place % 1000 < 100 ? golden_tokenizer(name) : tokenizer), text.get<std::string>());
      ASSERT_LE(place + ids.size(), all.size());
      EXPECT_TRUE(std::equal(ids.begin(), ids.end(), all.begin() + static_cast<ptrdiff_t>(place))) << text;
      place += ids.size();
    }
    EXPECT_EQ(place, all.size());
  }
}

}  // namespace
}  // namespace l0gm
