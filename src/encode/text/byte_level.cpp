#include <algorithm>

#include "encode/text/pre_tokenizer.h"
#include "encode/text/unicode.h"
#include "encode/text/utf8.h"

namespace l0gm {
namespace {

enum class ByteLevelKind : uint8_t { letter, number, space, other };

// The expression 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ by hand, in one pass.
class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_expression) : add_prefix_space_(add_prefix_space), use_expression_(use_expression) {
    for (char32_t code = 0; code < 128; ++code) ascii_[code] = from_tables(code);
  }

  bool split(TextPiece piece, std::string& scratch, TakePiece take) const override {
    std::string_view text = piece.text;
    if (add_prefix_space_ && !text.starts_with(' ')) {
      scratch.assign(1, ' ').append(text);
      text = scratch;
    }
    if (!use_expression_) return take({text, piece.starts_text});
    const char *at = text.data(), *const end = at + text.size();
    while (at < end) {
      const char* const stop = piece_end(at, end);
      if (!take({{at, static_cast<size_t>(stop - at)}, piece.starts_text && at == text.data()})) return false;
      at = stop;
    }
    return true;
  }

 private:
  static ByteLevelKind from_tables(char32_t code) {
    const uint32_t properties = unicode().properties(code);
    const auto has = [&](CodeFlag flag) { return (properties & static_cast<uint32_t>(flag)) != 0; };
    if (has(CodeFlag::letter)) return ByteLevelKind::letter;
    if (has(CodeFlag::number)) return ByteLevelKind::number;
    return has(CodeFlag::space) ? ByteLevelKind::space : ByteLevelKind::other;
  }
  ByteLevelKind kind(const char* at, uint32_t& size) const {
    if (static_cast<uint8_t>(*at) < 0x80) {
      size = 1;
      return ascii_[static_cast<uint8_t>(*at)];
    }
    const DecodedCode decoded = decode_code(at);
    size = decoded.size;
    return from_tables(decoded.code);
  }
  const char* same_kind(const char* at, const char* end, ByteLevelKind wanted) const {
    uint32_t size;
    while (at < end && kind(at, size) == wanted) at += size;
    return at;
  }
  static const char* contraction_end(const char* at, const char* end) {
    if (*at != '\'' || at + 1 == end) return at;
    const char first = at[1], second = at + 2 < end ? at[2] : '\0';
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
    return (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l') ? at + 3 : at;
  }
  const char* piece_end(const char* at, const char* end) const {
    if (const char* stop = contraction_end(at, end); stop != at) return stop;
    uint32_t size;
    const char* const word = *at == ' ' && at + 1 < end ? at + 1 : at;
    if (const ByteLevelKind first = kind(word, size); first != ByteLevelKind::space) return same_kind(word + size, end, first);
    const char* const stop = same_kind(at, end, ByteLevelKind::space);
    if (stop == end) return stop;
    // The last white character belongs to what follows, if it is not the only one.
    const char* const last = stop - decode_code_before(at, stop).size;
    return last > at ? last : stop;
  }

  bool add_prefix_space_, use_expression_;
  std::array<ByteLevelKind, 128> ascii_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_expression) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_expression);
}

}  // namespace l0gm
