#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "data/table/encoded.h"
#include "encode/table/schema.h"

namespace l0gm {

// The codes of one part of a key, by training row.
struct KeyColumn {
  int64_t count = 0;           // codes that there can be
  std::vector<int32_t> codes;  // per row
};

// Training rows, column by column, as keys of statistics read them.
class KeyColumns {
 public:
  // `texts`: what the rows were encoded from; needed where a key is a cut. All three must outlive this.
  KeyColumns(const Schema& schema, const EncodedTable& rows, const TextTable* texts);

  std::vector<double> numbers(int64_t column) const;  // of a numeric column; NaN: missing
  KeyColumn of(const KeyPart& part) const;
  bool has_texts() const { return texts_ != nullptr; }

 private:
  const Schema& schema_;
  const EncodedTable& rows_;
  const TextTable* texts_;
  std::vector<int64_t> slots_, positions_;  // of fields; of columns in the texts
  std::optional<RowEncoder> encoder_;
};

// The schema without what training labels tell, and without cuts.
Schema without_statistics(const Schema& schema);

// The codes of numbers under a cut.
KeyColumn codes_of_cut(const std::vector<double>& edges, const std::vector<double>& numbers);

// A cut of the schema with these edges; added where there is none.
KeyPart part_of_cut(Schema& schema, int64_t column, const std::vector<double>& edges);

// The numbers without those that are missing or infinite, ascending.
std::vector<double> sorted_finite(std::vector<double> numbers);
// The edges of a cut into at most `ranges` ranges of about equally many of the sorted numbers; with no more different numbers
// than that, each has a range of its own. Empty if fewer than two differ.
std::vector<double> cut_edges(const std::vector<double>& sorted, int64_t ranges);

}  // namespace l0gm
