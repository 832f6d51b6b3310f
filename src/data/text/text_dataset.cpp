#include "data/text/text_dataset.h"

#include "base/hash.h"
#include "base/text.h"

namespace l0gm {

void finish(TextData& data) {
  data.training_rows = sha256(data.rows(Split::train));
  data.empty_texts = data.invalid_texts = 0;
  for (int64_t row = 0; row < data.texts.size(); ++row) {
    const std::string_view text = data.texts.view(row);
    data.empty_texts += text.empty() ? 1 : 0;
    data.invalid_texts += first_invalid_utf8(text) ? 1 : 0;
  }
}

}  // namespace l0gm
