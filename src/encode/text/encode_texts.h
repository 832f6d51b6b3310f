#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "encode/text/tokenizer.h"

// Many texts at once, in the threads of base/threads.h.
//   const EncodedTexts encoded = encode_texts(*tokenizer, texts, 512);
//   encoded.text(7);   // ids of the eighth text
namespace l0gm {

struct EncodedTexts {
  std::vector<int32_t> ids;      // of all texts, one after the other
  std::vector<int64_t> offsets;  // where each begins, and the end of the last
  int64_t truncated = 0;         // texts that were cut
  int64_t invalid_bytes = 0;     // of all texts

  std::span<const int32_t> text(size_t index) const {
    return std::span(ids).subspan(static_cast<size_t>(offsets[index]), static_cast<size_t>(offsets[index + 1] - offsets[index]));
  }
};

EncodedTexts encode_texts(const Tokenizer& tokenizer, std::span<const std::string_view> texts, int64_t max_tokens);

}  // namespace l0gm
