#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

// Files of labelled texts, row by row, plain or compressed.
//   const auto reader = open_text_rows("mails.jsonl", {.text = "body", .label = "folder"}, TextFormat::jsonl, 0);
//   for (TextRow row; reader->next(row);) …
namespace l0gm {

enum class TextFormat { separated, jsonl };

// Which columns (keys of jsonl) are read; others are ignored.
struct TextColumns {
  std::string text, label;
  std::string split;  // "": none
};

struct TextRow {
  std::string_view text, label, split;  // valid until the next call; label and split without blanks around them
};

class TextRowReader {
 public:
  virtual ~TextRowReader() = default;
  virtual bool next(TextRow& row) = 0;  // UserError naming file and line for what is not a row
  virtual int64_t line() const = 0;     // 1-based, where the current row starts
};

// separated: csv or tsv with a header (base/csv.h), except that cells may hold any bytes.
// jsonl: one object per line in UTF-8, blank lines skipped. The text is a string; a label is a string, a number or a boolean.
// Nested values under other keys are skipped whatever their depth; a wanted key that is absent or twice there is a UserError.
std::unique_ptr<TextRowReader> open_text_rows(const std::filesystem::path& path, const TextColumns& columns, TextFormat format,
                                              char delimiter);

}  // namespace l0gm
