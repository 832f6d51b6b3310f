#include "encode/text/pre_tokenizer.h"

#include "encode/text/unicode.h"
#include "encode/text/utf8.h"

namespace l0gm {
namespace {

enum class CharKind : uint8_t { word, other, alone, removed };

// Splits where the kind of character changes; some stand alone, some are removed.
template <class KindOf>
bool split_by_kind(TextPiece piece, TakePiece take, KindOf kind_of) {
  const std::string_view text = piece.text;
  size_t begin = 0;
  CharKind last = CharKind::removed;
  const auto flush = [&](size_t end) {
    return begin == end || last == CharKind::removed || take({text.substr(begin, end - begin), piece.starts_text && begin == 0});
  };
  for (size_t i = 0; i < text.size();) {
    const auto [code, size] = decode_code(text.data() + i);
    const CharKind kind = kind_of(code);
    if (kind != last || kind == CharKind::alone) {
      if (!flush(i)) return false;
      begin = i;
      last = kind;
    }
    i += size;
  }
  return flush(text.size());
}

class BertSplit : public PreTokenizer {
 public:
  bool split(TextPiece piece, std::string&, TakePiece take) const override {
    const Unicode& tables = unicode();
    return split_by_kind(piece, take, [&](char32_t code) {
      if (tables.has(code, CodeFlag::white_space)) return CharKind::removed;
      return tables.has(code, CodeFlag::bert_punctuation) ? CharKind::alone : CharKind::word;
    });
  }
};

class WhitespaceSplit : public PreTokenizer {
 public:
  bool split(TextPiece piece, std::string&, TakePiece take) const override {
    return split_by_kind(piece, take, [](char32_t code) {
      return unicode().has(code, CodeFlag::white_space) ? CharKind::removed : CharKind::word;
    });
  }
};

class WordSplit : public PreTokenizer {
 public:
  bool split(TextPiece piece, std::string&, TakePiece take) const override {
    const Unicode& tables = unicode();
    return split_by_kind(piece, take, [&](char32_t code) {
      if (tables.has(code, CodeFlag::word)) return CharKind::word;
      return tables.has(code, CodeFlag::white_space) ? CharKind::removed : CharKind::other;
    });
  }
};

class PunctuationSplit : public PreTokenizer {
 public:
  bool split(TextPiece piece, std::string&, TakePiece take) const override {
    return split_by_kind(piece, take, [](char32_t code) {
      return unicode().has(code, CodeFlag::bert_punctuation) ? CharKind::alone : CharKind::word;
    });
  }
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(char32_t replacement, PrependScheme scheme, bool split) : scheme_(scheme), split_(split) {
    append_code(mark_, replacement);
  }

  bool split(TextPiece piece, std::string& scratch, TakePiece take) const override {
    scratch.clear();
    const bool marked = piece.text.starts_with(' ') || piece.text.starts_with(mark_);
    if (!marked && (scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && piece.starts_text))) scratch += mark_;
    for (size_t i = 0; i < piece.text.size();) {
      const size_t blank = std::min(piece.text.find(' ', i), piece.text.size());
      scratch.append(piece.text, i, blank - i);
      if (blank < piece.text.size()) scratch += mark_;
      i = blank + 1;
    }
    if (!split_) return take({scratch, piece.starts_text});
    for (size_t begin = 0; begin < scratch.size();) {
      const size_t end = std::min(scratch.find(mark_, begin + 1), scratch.size());
      if (!take({std::string_view(scratch).substr(begin, end - begin), piece.starts_text && begin == 0})) return false;
      begin = end;
    }
    return true;
  }

 private:
  std::string mark_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_bert_split() { return std::make_unique<BertSplit>(); }
std::unique_ptr<PreTokenizer> make_whitespace_split() { return std::make_unique<WhitespaceSplit>(); }
std::unique_ptr<PreTokenizer> make_word_split() { return std::make_unique<WordSplit>(); }
std::unique_ptr<PreTokenizer> make_punctuation_split() { return std::make_unique<PunctuationSplit>(); }
std::unique_ptr<PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(replacement, scheme, split);
}

bool split_all(const std::vector<std::unique_ptr<PreTokenizer>>& steps, TextPiece piece,
               std::array<std::string, Workspace::most_steps>& scratch, TakePiece take, size_t from) {
  if (from == steps.size()) return take(piece);
  if (from + 1 == steps.size()) return steps[from]->split(piece, scratch[from], take);
  const auto next = [&](TextPiece part) { return split_all(steps, part, scratch, take, from + 1); };
  return steps[from]->split(piece, scratch[from], next);
}

}  // namespace l0gm
