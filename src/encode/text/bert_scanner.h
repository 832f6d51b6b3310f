#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encode/text/id_sink.h"
#include "encode/text/normalizer.h"

// BertNormalizer and BertPreTokenizer in one pass over the text: each code point's part in words comes from a table.
//   BertScanner scanner(normalizer.options(), 100);
//   scanner.scan(text, sink, workspace.word);
namespace l0gm {

class BertScanner {
 public:
  BertScanner(const BertNormalizerOptions& options, int64_t longest_word);

  // `rest`: where the one pass cannot go on (marks that change places); the caller treats the text from there step by step.
  struct Result {
    bool wants_more = true;
    size_t rest = std::string_view::npos;
  };
  Result scan(std::string_view text, IdSink& sink, std::vector<char>& word) const;

 private:
  // What a code point adds. From `first_mapped` on: a row of mapped_.
  enum Action : uint16_t { word_part, separator, alone, nothing, chinese, out_of_order, first_mapped };
  struct MappedPart {
    uint32_t offset;  // in bytes_
    uint8_t size;
    Action action;
  };
  struct Mapped {
    uint32_t first_part, parts;
  };
  struct AsciiEntry {
    uint8_t action;
    char byte;
  };
  class Writer;

  Action action_of(char32_t code) const { return static_cast<Action>(actions_[blocks_[code >> 8] * 256u + (code & 255)]); }
  bool map_code(char32_t code, Writer& writer) const;
  uint16_t make_action(char32_t code);
  Action plain_action(char32_t code) const;
  Action kind_of(char32_t code) const;

  BertNormalizerOptions options_;
  size_t longest_bytes_;
  std::array<AsciiEntry, 256> ascii_{};
  std::array<uint16_t, 0x1100> blocks_{};
  std::vector<uint16_t> actions_;
  std::vector<Mapped> mapped_;
  std::vector<MappedPart> parts_;
  std::string bytes_;
};

}  // namespace l0gm
