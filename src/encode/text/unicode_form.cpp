#include <algorithm>

#include "encode/text/normalizer.h"
#include "encode/text/unicode.h"

namespace l0gm {
namespace {

std::u32string decomposed(std::u32string_view text, bool compatible) {
  std::u32string result;
  result.reserve(text.size());
  for (const char32_t code : text) {
    if (code < 0x80) {
      result += code;
      continue;
    }
    const std::u32string parts = compatible ? unicode().compatible(code) : unicode().canonical(code);
    if (parts.empty()) {
      result += code;
    } else {
      result += parts;
    }
  }
  // Marks between two characters of class 0 stand in the order of their classes.
  const auto class_of = [](char32_t code) { return unicode().combining_class(code); };
  for (size_t i = 0; i < result.size(); ++i) {
    if (result[i] < 0x80 || class_of(result[i]) == 0) continue;
    size_t end = i + 1;
    while (end < result.size() && class_of(result[end]) != 0) ++end;
    std::stable_sort(result.begin() + static_cast<ptrdiff_t>(i), result.begin() + static_cast<ptrdiff_t>(end),
                     [&](char32_t a, char32_t b) { return class_of(a) < class_of(b); });
    i = end;
  }
  return result;
}

// A mark joins the last character of class 0 unless a mark of its own or a higher class, or that character's neighbour, lies
// between.
std::u32string composed(std::u32string_view text) {
  std::u32string result;
  result.reserve(text.size());
  size_t starter = std::u32string::npos;
  int last_class = 0;
  for (const char32_t code : text) {
    const int code_class = unicode().combining_class(code);
    const bool reaches =
        starter != std::u32string::npos && (starter + 1 == result.size() ? true : last_class != 0 && last_class < code_class);
    if (const char32_t whole = reaches ? unicode().compose(result[starter], code) : 0; whole != 0) {
      result[starter] = whole;
      continue;
    }
    if (code_class == 0) starter = result.size();
    last_class = code_class;
    result += code;
  }
  return result;
}

}  // namespace

std::u32string to_form(std::u32string_view text, UnicodeForm form) {
  std::u32string result = decomposed(text, form == UnicodeForm::nfkc || form == UnicodeForm::nfkd);
  return form == UnicodeForm::nfc || form == UnicodeForm::nfkc ? composed(result) : result;
}

}  // namespace l0gm
