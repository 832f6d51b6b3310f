#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "encode/text/tokenizer.h"

namespace l0gm {

// A tokenizer for tests: one token per byte, 5 + its value; [PAD] [UNK] [CLS] [SEP] [MASK] are 0 to 4. Bytes from 0x80 on count
// as invalid.
class SmallTokenizer : public Tokenizer {
 public:
  explicit SmallTokenizer(std::string json = "small") : json_(std::move(json)), sha256_(l0gm::sha256(json_)) {}

  EncodedText encode(std::string_view text, int64_t max_tokens, std::vector<int32_t>& ids) const override {
    EncodedText encoded;
    ids.push_back(special_.cls);
    for (size_t i = 0; i < text.size() && !encoded.truncated; ++i) {
      encoded.invalid_bytes += static_cast<unsigned char>(text[i]) >= 0x80;
      encoded.truncated = max_tokens > 0 && encoded.tokens + 2 >= max_tokens;
      if (encoded.truncated) break;
      ids.push_back(5 + static_cast<unsigned char>(text[i]));
      encoded.tokens += 1;
    }
    ids.push_back(special_.sep);
    encoded.tokens += 2;
    return encoded;
  }
  const SpecialTokens& special() const override { return special_; }
  int64_t vocabulary_size() const override { return 261; }
  std::string token(int32_t id) const override { return std::to_string(id); }
  const std::string& json() const override { return json_; }
  const std::string& sha256() const override { return sha256_; }

 private:
  SpecialTokens special_{.cls = 2, .sep = 3, .pad = 0, .mask = 4, .unknown = 1};
  std::string json_, sha256_;
};

}  // namespace l0gm
