// Damaged and forged tokenizer files are refused or harmless: nothing but success or a UserError, and ids within the vocabulary.
#include <gtest/gtest.h>

#include <random>

#include "encode/text/folder_files.h"
#include "encode/text/golden_tokenizer.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

class Mutations {
 public:
  explicit Mutations(uint64_t seed) : random_(seed) {}
  size_t below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

  std::string of_bytes(std::string bytes) {
    for (size_t i = 0, count = 1 + below(4); i < count && !bytes.empty(); ++i) {
      const size_t place = below(bytes.size());
      switch (below(5)) {
        case 0:
          bytes[place] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.erase(place, 1 + below(20));
          break;
        case 2:
          bytes.insert(place, bytes.substr(below(bytes.size()), 1 + below(40)));
          break;
        case 3:
          bytes[place] = static_cast<char>(bytes[place] ^ (1 << below(8)));
          break;
        default:
          bytes.resize(below(20) == 0 ? place : bytes.size());
      }
    }
    return bytes;
  }

  // A value somewhere in the file becomes another one: wrong kinds, forged numbers, parts of other places.
  void of_values(json& file) {
    json* value = &file;
    while (value->is_structured() && !value->empty() && below(6) != 0)
      value = &*std::next(value->begin(), static_cast<long>(below(value->size())));
    const json others = {nullptr, true, -1,       1,     2147483647,    4294967296,     1e300,
                         "",      "a",  "\u2581", "BPE", json::array(), json::object(), "ByteLevel"};
    *value = others[below(others.size())];
  }

 private:
  std::mt19937_64 random_;
};

enum class Outcome { refused, accepted };

template <class Make>
Outcome try_out(Make make) {
  static const std::vector<std::string> texts = {"", "ban kast [MASK] x", "\u00e9\u0301 \u4e2d \U0001F468\u200d \u0344\ufb01",
                                                 "don't  [CLS]", std::string(300, 'a')};
  try {
    const std::shared_ptr<const Tokenizer> tokenizer = make();
    for (const std::string& text : texts) {
      for (const int32_t id : ids_of(*tokenizer, text, 200)) {
        EXPECT_GE(id, 0);
        EXPECT_LT(id, tokenizer->vocabulary_size());
      }
    }
    return Outcome::accepted;
  } catch (const UserError&) {
    return Outcome::refused;
  }
}

TEST(TokenizerFuzz, TokenizerJson) {
  for (const char* name : {"wordpiece", "byte_pairs", "unigram"}) {
    Mutations mutations(7);
    const std::string bytes = read_file(golden_folder() / (std::string(name) + ".json"));
    const json whole = json::parse(bytes);
    int refused = 0, accepted = 0;
    for (int i = 0; i < 600; ++i) {
      json file = whole;
      if (i % 2 == 0) mutations.of_values(file);
      const std::string damaged =
          i % 2 == 0 ? file.dump(-1, ' ', false, json::error_handler_t::replace) : mutations.of_bytes(bytes);
      (try_out([&] { return tokenizer_from_json(damaged, "fuzz"); }) == Outcome::refused ? refused : accepted)++;
    }
    EXPECT_GT(refused, 50) << name;
    EXPECT_GT(accepted, 50) << name;
  }
}

TEST(TokenizerFuzz, SentencePiece) {
  Mutations mutations(11);
  const std::string bytes = read_file(golden_folder() / "spm.model");
  int refused = 0, accepted = 0;
  for (int i = 0; i < 1500; ++i) {
    const std::string damaged = mutations.of_bytes(bytes);
    const auto make = [&] {
      return tokenizer_from_json(folder_files::json_from_pieces(damaged, json::object(), "fuzz"), "fuzz");
    };
    (try_out(make) == Outcome::refused ? refused : accepted)++;
  }
  EXPECT_GT(refused, 50);
  EXPECT_GT(accepted, 50);
}

TEST(TokenizerFuzz, TextsOfAnyBytes) {
  Mutations mutations(13);
  for (const char* name : {"wordpiece", "byte_pairs", "unigram"}) {
    const auto tokenizer = golden_tokenizer(name);
    for (int i = 0; i < 3000; ++i) {
      std::string text(mutations.below(60), ' ');
      for (char& byte : text) byte = static_cast<char>(mutations.below(256));
      std::vector<int32_t> ids;
      const EncodedText encoded = tokenizer->encode(text, 0, ids);
      EXPECT_LE(encoded.invalid_bytes, static_cast<int64_t>(text.size()));
    }
  }
}

}  // namespace
}  // namespace l0gm
