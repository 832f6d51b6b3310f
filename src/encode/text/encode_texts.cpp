#include "encode/text/encode_texts.h"

#include <algorithm>

#include "base/threads.h"

namespace l0gm {
namespace {

constexpr int64_t texts_at_once = 64;

struct EncodedPiece {
  std::vector<int32_t> ids;
  std::vector<int64_t> sizes;
  int64_t truncated = 0, invalid_bytes = 0;
};

}  // namespace

EncodedTexts encode_texts(const Tokenizer& tokenizer, std::span<const std::string_view> texts, int64_t max_tokens) {
  const auto count = static_cast<int64_t>(texts.size());
  std::vector<EncodedPiece> pieces(static_cast<size_t>((count + texts_at_once - 1) / texts_at_once));
  parallel_for(count, texts_at_once, [&](int64_t begin, int64_t end) {
    EncodedPiece& piece = pieces[static_cast<size_t>(begin / texts_at_once)];
    for (int64_t i = begin; i < end; ++i) {
      const EncodedText encoded = tokenizer.encode(texts[static_cast<size_t>(i)], max_tokens, piece.ids);
      piece.sizes.push_back(encoded.tokens);
      piece.truncated += encoded.truncated;
      piece.invalid_bytes += encoded.invalid_bytes;
    }
  });
  EncodedTexts result;
  result.offsets.reserve(texts.size() + 1);
  result.offsets.push_back(0);
  for (const EncodedPiece& piece : pieces) {
    for (const int64_t size : piece.sizes) result.offsets.push_back(result.offsets.back() + size);
    result.truncated += piece.truncated;
    result.invalid_bytes += piece.invalid_bytes;
  }
  result.ids.resize(static_cast<size_t>(result.offsets.back()));
  auto out = result.ids.begin();
  for (EncodedPiece& piece : pieces) {
    out = std::copy(piece.ids.begin(), piece.ids.end(), out);
    piece = EncodedPiece();
  }
  return result;
}

}  // namespace l0gm
