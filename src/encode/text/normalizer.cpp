#include "encode/text/normalizer.h"

#include <algorithm>
#include <cstring>

#include "encode/text/unicode.h"
#include "encode/text/utf8.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// Place of the first byte that is not ASCII, or the end.
size_t ascii_end(std::string_view text, size_t from) {
  uint64_t eight;
  while (from + 8 <= text.size() && (std::memcpy(&eight, text.data() + from, 8), (eight & 0x8080808080808080u) == 0)) from += 8;
  while (from < text.size() && static_cast<uint8_t>(text[from]) < 0x80) ++from;
  return from;
}

class FormNormalizer : public Normalizer {
 public:
  explicit FormNormalizer(UnicodeForm form) : form_(form) {}
  // ASCII stays as it is, but its last character before others may join with them.
  void apply(NormalText& text) const override {
    const std::string_view from = text.text;
    size_t other = ascii_end(from, 0);
    if (other == from.size()) return;
    text.scratch.clear();
    for (size_t done = 0; done < from.size();) {
      const size_t begin = other > done ? other - 1 : other;
      text.scratch.append(from, done, begin - done);
      done = other;
      while (done < from.size() && static_cast<uint8_t>(from[done]) >= 0x80) ++done;
      for (const char32_t code : to_form(to_codes(from.substr(begin, done - begin)), form_)) append_code(text.scratch, code);
      other = ascii_end(from, done);
      if (other < from.size()) continue;
      text.scratch.append(from, done);
      break;
    }
    std::swap(text.text, text.scratch);
  }

 private:
  UnicodeForm form_;
};

class LowercaseNormalizer : public Normalizer {
 public:
  void apply(NormalText& text) const override {
    text.scratch.clear();
    for (size_t i = 0; i < text.text.size();) {
      const auto [code, size] = decode_code(text.text.data() + i);
      if (code < 0x80) {
        text.scratch.push_back(static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code));
      } else if (const std::u32string lower = unicode().lower(code); !lower.empty()) {
        for (const char32_t part : lower) append_code(text.scratch, part);
      } else {
        text.scratch.append(text.text, i, size);
      }
      i += size;
    }
    std::swap(text.text, text.scratch);
  }
};

class StripAccentsNormalizer : public Normalizer {
 public:
  void apply(NormalText& text) const override {
    text.scratch.clear();
    for (size_t i = 0; i < text.text.size();) {
      const auto [code, size] = decode_code(text.text.data() + i);
      const bool is_mark = unicode().has(code, CodeFlag::combining_mark);
      if (!is_mark) text.scratch.append(text.text, i, size);
      if (is_mark && text.scratch.empty()) text.starts_text = false;
      i += size;
    }
    std::swap(text.text, text.scratch);
  }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  void apply(NormalText& text) const override {
    const auto is_space = [](char32_t code) { return unicode().has(code, CodeFlag::white_space); };
    const char *begin = text.text.data(), *end = begin + text.text.size();
    while (right_ && begin < end) {
      const DecodedCode last = decode_code_before(begin, end);
      if (!is_space(last.code)) break;
      end -= last.size;
    }
    while (left_ && begin < end) {
      const DecodedCode first = decode_code(begin);
      if (!is_space(first.code)) break;
      begin += first.size;
    }
    if (begin != text.text.data()) text.starts_text = false;
    text.text.resize(static_cast<size_t>(end - text.text.data()));
    text.text.erase(0, static_cast<size_t>(begin - text.text.data()));
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(NormalText& text) const override {
    if (!text.text.empty()) text.text.insert(0, prefix_);
  }

 private:
  std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(std::string what, std::string content) : what_(std::move(what)), content_(std::move(content)) {}
  void apply(NormalText& text) const override {
    size_t found = text.text.find(what_);
    if (found == std::string::npos) return;
    text.scratch.clear();
    size_t done = 0;
    for (; found != std::string::npos; found = text.text.find(what_, done)) {
      text.scratch.append(text.text, done, found - done) += content_;
      done = found + what_.size();
    }
    text.scratch.append(text.text, done);
    std::swap(text.text, text.scratch);
  }

 private:
  std::string what_, content_;
};

// Runs of at least `least` white characters (blanks only, or all kinds) become `content`, and single ones of \n, \r, \t if
// wanted.
class RunNormalizer : public Normalizer {
 public:
  RunNormalizer(size_t least, bool blanks_only, bool line_ends, std::string content)
      : least_(least), blanks_only_(blanks_only), line_ends_(line_ends), content_(std::move(content)) {}
  void apply(NormalText& text) const override {
    if (blanks_only_ && least_ == 2) {
      replace_blanks(text);
      return;
    }
    text.scratch.clear();
    for (size_t i = 0; i < text.text.size();) {
      size_t end = i, run = 0;
      while (end < text.text.size()) {
        const auto [code, size] = decode_code(text.text.data() + end);
        if (blanks_only_ ? code != ' ' : !unicode().has(code, CodeFlag::space)) break;
        end += size;
        ++run;
      }
      if (run >= least_ || (run == 1 && line_ends_ && std::string_view("\n\r\t").find(text.text[i]) != std::string_view::npos)) {
        text.scratch += content_;
      } else {
        if (run == 0) end += code_size(text.text[i]);
        text.scratch.append(text.text, i, end - i);
      }
      i = end;
    }
    std::swap(text.text, text.scratch);
  }

 private:
  // The common case: two blanks or more.
  void replace_blanks(NormalText& text) const {
    const std::string_view from = text.text;
    size_t found = from.find("  ");
    if (found == std::string_view::npos) return;
    text.scratch.clear();
    size_t done = 0;
    for (; found != std::string_view::npos; found = from.find("  ", done)) {
      text.scratch.append(from, done, found - done) += content_;
      done = std::min(from.find_first_not_of(' ', found), from.size());
    }
    text.scratch.append(from, done);
    std::swap(text.text, text.scratch);
  }

  size_t least_;
  bool blanks_only_, line_ends_;
  std::string content_;
};

class SequenceNormalizer : public Normalizer {
 public:
  explicit SequenceNormalizer(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
  void apply(NormalText& text) const override {
    // Replacements of replacements could fill any memory.
    const size_t most = (text.text.size() + (1 << 14)) * 64;
    for (const auto& step : steps_) {
      step->apply(text);
      if (text.text.size() > most)
        throw UserError("the tokenizer's normalizer makes a text more than 64 times as long; take another tokenizer");
    }
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> steps_;
};

}  // namespace

void BertNormalizer::apply(NormalText& text) const {
  std::u32string codes;
  const auto add_cleaned = [&](char32_t code) {
    if (options_.clean_text && unicode().has(code, CodeFlag::bert_dropped)) {
      if (codes.empty()) text.starts_text = false;
      return;
    }
    if (options_.clean_text && unicode().has(code, CodeFlag::bert_space)) code = ' ';
    const bool apart = options_.chinese && unicode().has(code, CodeFlag::chinese);
    if (apart) codes += U' ';
    codes += code;
    if (apart) codes += U' ';
  };
  for (const char32_t code : to_codes(text.text)) add_cleaned(code);
  if (options_.strip_accents) {
    codes = to_form(codes, UnicodeForm::nfd);
    std::erase_if(codes, [](char32_t code) { return unicode().has(code, CodeFlag::bert_mark); });
  }
  text.text.clear();
  for (const char32_t code : codes) {
    const std::u32string lower = options_.lowercase ? unicode().lower(code) : std::u32string();
    if (lower.empty()) append_code(text.text, code);
    for (const char32_t part : lower) append_code(text.text, part);
  }
}

std::u32string to_codes(std::string_view text) {
  std::u32string codes;
  codes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const auto [code, size] = decode_code(text.data() + i);
    codes += code;
    i += size;
  }
  return codes;
}

void from_codes(std::u32string_view codes, std::string& text) {
  text.clear();
  for (const char32_t code : codes) append_code(text, code);
}

std::unique_ptr<Normalizer> make_unicode_form(UnicodeForm form) { return std::make_unique<FormNormalizer>(form); }
std::unique_ptr<Normalizer> make_lowercase() { return std::make_unique<LowercaseNormalizer>(); }
std::unique_ptr<Normalizer> make_strip_accents() { return std::make_unique<StripAccentsNormalizer>(); }
std::unique_ptr<Normalizer> make_strip(bool left, bool right) { return std::make_unique<StripNormalizer>(left, right); }
std::unique_ptr<Normalizer> make_prepend(std::string prefix) { return std::make_unique<PrependNormalizer>(std::move(prefix)); }
std::unique_ptr<Normalizer> make_replace(std::string what, std::string content) {
  return std::make_unique<ReplaceNormalizer>(std::move(what), std::move(content));
}
std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> steps) {
  return std::make_unique<SequenceNormalizer>(std::move(steps));
}

std::unique_ptr<Normalizer> make_replace_expression(std::string_view expression, std::string content) {
  const auto runs = [&](size_t least, bool blanks_only, bool line_ends) {
    return std::make_unique<RunNormalizer>(least, blanks_only, line_ends, std::move(content));
  };
  if (expression == " {2,}") return runs(2, true, false);
  if (expression == " +") return runs(1, true, false);
  if (expression == R"(\s+)") return runs(1, false, false);
  if (expression == R"(\s{2,})") return runs(2, false, false);
  if (expression == R"(\s{2,}|[\n\r\t])") return runs(2, false, true);
  return nullptr;
}

}  // namespace l0gm
