#include "encode/text/bert_scanner.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "encode/text/unicode.h"
#include "encode/text/utf8.h"

namespace l0gm {

// Collects the bytes of one word. Beyond the longest that the model reads, it only remembers that there were more.
class BertScanner::Writer {
 public:
  Writer(IdSink& sink, std::vector<char>& buffer, size_t longest) : sink_(sink), word_(buffer.data()), longest_(longest) {}
  void add(const char* bytes, size_t size) {
    if (size_ < longest_) {
      std::memcpy(word_ + size_, bytes, size);
      size_ += size;
    }
  }
  bool flush() {
    if (size_ == 0) return true;
    const size_t size = size_;
    size_ = 0;
    return sink_.word({word_, size});
  }
  bool alone(const char* bytes, size_t size) { return flush() && sink_.word({bytes, size}); }
  bool empty() const { return size_ == 0; }
  char* end() { return word_ + size_; }
  size_t room() const { return size_ < longest_ ? longest_ - size_ : 0; }
  void grow(size_t size) { size_ += size; }

 private:
  IdSink& sink_;
  char* word_;
  size_t size_ = 0, longest_;
};

BertScanner::BertScanner(const BertNormalizerOptions& options, int64_t longest_word)
    : options_(options), longest_bytes_(static_cast<size_t>(longest_word) * 4 + 1) {
  const auto is_hangul = [](char32_t code) { return code >= 0xAC00 && code < 0xD7A4; };
  std::vector<bool> changes(Unicode::codes);
  for (const char32_t code : unicode().changed()) changes[code] = true;
  std::map<uint32_t, uint16_t> plain_blocks;  // blocks of which every code point stays or goes as a whole
  for (char32_t first = 0; first < Unicode::codes; first += 256) {
    bool is_plain = true;
    for (char32_t code = first; code < first + 256; ++code) is_plain = is_plain && !changes[code] && !is_hangul(code);
    const auto number = static_cast<uint16_t>(actions_.size() / 256);
    if (is_plain) {
      const auto [found, is_new] = plain_blocks.try_emplace(unicode().block_kind(first), number);
      blocks_[first >> 8] = found->second;
      if (!is_new) continue;
    }
    blocks_[first >> 8] = number;
    for (char32_t code = first; code < first + 256; ++code) {
      actions_.push_back(changes[code] || is_hangul(code) ? make_action(code) : static_cast<uint16_t>(plain_action(code)));
    }
  }
  for (char32_t code = 0; code < 256; ++code) {
    AsciiEntry& entry = ascii_[code];
    entry = {static_cast<uint8_t>(out_of_order), static_cast<char>(code)};  // bytes of longer code points
    if (code >= 128) continue;
    const Action action = action_of(code);
    entry.action = static_cast<uint8_t>(action < first_mapped ? action : word_part);
    if (action >= first_mapped) entry.byte = bytes_[parts_[mapped_[action - first_mapped].first_part].offset];
  }
}

BertScanner::Action BertScanner::kind_of(char32_t code) const {
  if (unicode().has(code, CodeFlag::white_space)) return separator;
  return unicode().has(code, CodeFlag::bert_punctuation) ? alone : word_part;
}

// Of a code point that stays or goes as a whole.
BertScanner::Action BertScanner::plain_action(char32_t code) const {
  const Unicode& tables = unicode();
  if (options_.clean_text && tables.has(code, CodeFlag::bert_dropped)) return nothing;
  if (options_.clean_text && tables.has(code, CodeFlag::bert_space)) return separator;
  const bool is_chinese = options_.chinese && tables.has(code, CodeFlag::chinese);
  if (options_.strip_accents && tables.has(code, CodeFlag::bert_mark)) return is_chinese ? separator : nothing;
  if (options_.strip_accents && tables.combining_class(code) != 0) return out_of_order;
  return is_chinese ? chinese : kind_of(code);
}

// What BertNormalizer makes of one code point, as a word sees it.
uint16_t BertScanner::make_action(char32_t code) {
  const Unicode& tables = unicode();
  if (options_.clean_text && tables.has(code, CodeFlag::bert_dropped)) return nothing;
  if (options_.clean_text && tables.has(code, CodeFlag::bert_space)) return separator;
  const bool is_chinese = options_.chinese && tables.has(code, CodeFlag::chinese);
  std::u32string parts = options_.strip_accents ? tables.canonical(code) : std::u32string();
  if (parts.empty()) parts = code;
  if (options_.strip_accents) {
    std::erase_if(parts, [&](char32_t part) { return tables.has(part, CodeFlag::bert_mark); });
    for (const char32_t part : parts) {
      if (tables.combining_class(part) != 0) return out_of_order;
    }
  }
  std::u32string result;
  for (const char32_t part : parts) {
    const std::u32string lower = options_.lowercase ? tables.lower(part) : std::u32string();
    result += lower.empty() ? std::u32string(1, part) : lower;
  }
  if (result.empty()) return is_chinese ? separator : nothing;
  if (result == std::u32string(1, code)) return is_chinese ? chinese : kind_of(code);
  // A word that begins inside a code point could not be begun again.
  const bool breaks = std::any_of(result.begin(), result.end(), [&](char32_t part) { return kind_of(part) != word_part; });
  if (breaks && !is_chinese && kind_of(result.back()) == word_part) return out_of_order;
  mapped_.push_back({static_cast<uint32_t>(parts_.size()), 0});
  const auto add = [&](Action action, char32_t part) {
    const size_t offset = bytes_.size();
    append_code(bytes_, part);
    parts_.push_back({static_cast<uint32_t>(offset), static_cast<uint8_t>(bytes_.size() - offset), action});
    ++mapped_.back().parts;
  };
  if (is_chinese) add(separator, U' ');
  for (const char32_t part : result) add(kind_of(part), part);
  if (is_chinese) add(separator, U' ');
  return static_cast<uint16_t>(first_mapped + mapped_.size() - 1);
}

bool BertScanner::map_code(char32_t code, Writer& writer) const {
  const Mapped& mapped = mapped_[action_of(code) - first_mapped];
  for (uint32_t i = mapped.first_part; i < mapped.first_part + mapped.parts; ++i) {
    const MappedPart& part = parts_[i];
    const char* const bytes = bytes_.data() + part.offset;
    if (part.action == word_part) {
      writer.add(bytes, part.size);
    } else if (part.action == alone ? !writer.alone(bytes, part.size) : !writer.flush()) {
      return false;
    }
  }
  return true;
}

BertScanner::Result BertScanner::scan(std::string_view text, IdSink& sink, std::vector<char>& word) const {
  if (word.size() < longest_bytes_ + 16) word.resize(longest_bytes_ + 16);
  Writer writer(sink, word, longest_bytes_);
  const char *at = text.data(), *const end = at + text.size();
  const char* word_begin = at;  // everything before it was handed over
  while (at < end) {
    const AsciiEntry entry = ascii_[static_cast<uint8_t>(*at)];
    bool more = true;
    switch (entry.action) {
      case word_part: {
        char* out = writer.end();
        const char* const stop = at + std::min(static_cast<size_t>(end - at), writer.room());
        const char* const begin = at;
        if (at == stop) ++at;  // a word without end: nothing is written
        for (AsciiEntry next = entry; at < stop && (next = ascii_[static_cast<uint8_t>(*at)]).action == word_part; ++at)
          *out++ = next.byte;
        writer.grow(begin < stop ? static_cast<size_t>(at - begin) : 0);
        continue;
      }
      case separator:
        more = writer.flush();
        word_begin = ++at;
        break;
      case alone:
        more = writer.alone(at, 1);
        word_begin = ++at;
        break;
      case nothing:
        ++at;
        break;
      default: {
        const auto [code, size] = decode_code(at);
        const Action action = action_of(code);
        if (action == out_of_order) return {true, static_cast<size_t>(word_begin - text.data())};
        if (action == word_part) {
          writer.add(at, size);
        } else if (action == separator) {
          more = writer.flush();
          word_begin = at + size;
        } else if (action == alone || action == chinese) {
          more = writer.alone(at, size);
          word_begin = at + size;
        } else if (action != nothing) {
          more = map_code(code, writer);
          if (writer.empty()) word_begin = at + size;
        }
        at += size;
      }
    }
    if (!more) return {false};
  }
  return {writer.flush()};
}

}  // namespace l0gm
