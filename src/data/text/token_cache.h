#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "base/shared_array.h"
#include "data/text/text_pool.h"
#include "encode/text/tokenizer.h"

namespace l0gm {

// Texts as token ids, one list for each, in memory or in a mapped file. Copies share them.
//   const Tokens tokens = cached_tokens(token_cache_folder(), data.texts, *tokenizer, 512);
//   for (const int32_t id : tokens.ids(row)) …
class Tokens {
 public:
  Tokens() = default;
  // offsets: [texts + 1], ids of text i are offsets[i] … offsets[i + 1]; truncated: [texts], 1 where tokens were left out.
  Tokens(SharedArray<int32_t> ids, SharedArray<int64_t> offsets, SharedArray<uint8_t> truncated, int64_t invalid_bytes);

  int64_t texts() const { return truncated_.size(); }
  int64_t count() const { return ids_.size(); }  // of all texts
  int64_t length(int64_t text) const { return offsets_[text + 1] - offsets_[text]; }
  std::span<const int32_t> ids(int64_t text) const {
    return ids_.span().subspan(static_cast<size_t>(offsets_[text]), static_cast<size_t>(length(text)));
  }
  bool truncated(int64_t text) const { return truncated_[text] != 0; }
  double truncated_share(std::span<const int64_t> rows) const;  // of these texts; 0 where there are none
  int64_t invalid_bytes() const { return invalid_bytes_; }      // in all texts: not UTF-8, read as U+FFFD

  const SharedArray<int32_t>& all_ids() const { return ids_; }
  const SharedArray<int64_t>& offsets() const { return offsets_; }
  const SharedArray<uint8_t>& all_truncated() const { return truncated_; }

 private:
  SharedArray<int32_t> ids_;
  SharedArray<int64_t> offsets_;
  SharedArray<uint8_t> truncated_;
  int64_t invalid_bytes_ = 0;
};

// By all threads; the result does not depend on their number. max_tokens 0: no limit.
Tokens tokenize(const TextPool& texts, const Tokenizer& tokenizer, int64_t max_tokens);

// The same, read from `folder` where an earlier call stored them there: one mapped file with the hash of its content, named by
// texts, tokenizer and max_tokens. A damaged file is set aside with a warning and made again; a folder that is not writable
// causes a warning only; an empty path means no cache.
Tokens cached_tokens(const std::filesystem::path& folder, const TextPool& texts, const Tokenizer& tokenizer, int64_t max_tokens);
std::filesystem::path token_cache_folder();  // below the user cache; empty when there is none

// A file of it: for `cached_tokens` and tests. Reading checks everything, ids against the vocabulary included.
void write_tokens(const std::filesystem::path& path, const Tokens& tokens);
Tokens read_tokens(const std::filesystem::path& path, int64_t texts, int64_t vocabulary_size, int64_t max_tokens);

}  // namespace l0gm
