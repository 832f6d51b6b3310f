#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Splits one word, the smallest piece that the steps before it make, into tokens: WordPiece, byte pairs or unigrams.
namespace l0gm {

struct ModelWorkspace;
struct UnigramNode;

class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the ids of a word; it is not empty and valid UTF-8 (for byte-level models: any bytes).
  virtual void tokenize(std::string_view word, ModelWorkspace& workspace, std::vector<int32_t>& ids) const = 0;
};

}  // namespace l0gm
