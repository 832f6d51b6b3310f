#pragma once

#include <string>
#include <vector>

#include "training/text/text_run.h"

namespace l0gm {

// The texts that parity is proven on: some of the validation split, spread over all lengths, and made ones that are at the edge
// of what a text can be.
class CheckedTexts {
 public:
  explicit CheckedTexts(TextRun& run);
  TextRows rows() const { return {&tokens_, rows_, {}, {}, {}}; }
  int64_t size() const { return static_cast<int64_t>(rows_.size()); }
  std::string where(int64_t row) const { return names_[static_cast<size_t>(row)]; }  // "validation text 17"
  std::string beginning(int64_t row) const;                                          // of the text, for messages

 private:
  TextPool texts_;
  Tokens tokens_;
  std::vector<int64_t> rows_;  // 0, 1, 2 …
  std::vector<std::string> names_;
};

// About how many multiplications the layers of an encoder take for so many tokens.
double work_of_layers(const TransformerConfig& encoder, double tokens);

}  // namespace l0gm
