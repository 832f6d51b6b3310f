#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

// A step that rewrites a text before it is split: lower case, accents, Unicode forms.
//   NormalText normal;  normal.text = "Éa";
//   BertNormalizer({}).apply(normal);   // "ea"
namespace l0gm {

struct NormalText {
  std::string& text;        // valid UTF-8
  std::string& scratch;     // for the step's result; swapped with text
  bool starts_text = true;  // its first character is still the first of what it was made from
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(NormalText& text) const = 0;
};

struct BertNormalizerOptions {
  bool clean_text = true, chinese = true, strip_accents = true, lowercase = true;
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertNormalizerOptions options) : options_(options) {}
  void apply(NormalText& text) const override;
  const BertNormalizerOptions& options() const { return options_; }

 private:
  BertNormalizerOptions options_;
};

enum class UnicodeForm { nfc, nfd, nfkc, nfkd };
// A text that is ASCII stays as it is.
std::u32string to_form(std::u32string_view text, UnicodeForm form);

std::unique_ptr<Normalizer> make_unicode_form(UnicodeForm form);
std::unique_ptr<Normalizer> make_lowercase();
std::unique_ptr<Normalizer> make_strip_accents();
std::unique_ptr<Normalizer> make_strip(bool left, bool right);
std::unique_ptr<Normalizer> make_prepend(std::string prefix);
std::unique_ptr<Normalizer> make_replace(std::string what, std::string content);
// The few regular expressions that tokenizers of known models use, each by a function of its own; nullptr: another one.
std::unique_ptr<Normalizer> make_replace_expression(std::string_view expression, std::string content);
std::unique_ptr<Normalizer> make_sequence(std::vector<std::unique_ptr<Normalizer>> steps);

std::u32string to_codes(std::string_view text);
void from_codes(std::u32string_view codes, std::string& text);

}  // namespace l0gm
