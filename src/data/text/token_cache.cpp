#include "data/text/token_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/array_file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/locate.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// To be increased when the same texts and tokenizer give other files.
constexpr int token_file_version = 1;
constexpr int64_t texts_a_piece = 64;

// What one thread makes of some texts in a row.
struct Piece {
  std::vector<int32_t> ids;
  int64_t invalid_bytes = 0;
};

std::string token_file_key(const TextPool& texts, const Tokenizer& tokenizer, int64_t max_tokens) {
  return sha256(fmt::format("tokens {} {} {} {}", token_file_version, texts.sha256(), tokenizer.sha256(),
                            std::max<int64_t>(max_tokens, 0)));
}

void check_tokens(const ArrayFile& file, const Tokens& tokens, int64_t texts, int64_t vocabulary_size, int64_t max_tokens) {
  const std::span<const int64_t> offsets = tokens.offsets().span();
  if (tokens.texts() != texts || tokens.offsets().size() != texts + 1)
    file.fail(fmt::format("it has {} texts, wanted {}", tokens.texts(), texts));
  if (offsets.front() != 0 || offsets.back() != tokens.count()) file.fail("its offsets do not cover its ids");
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    const int64_t begin = offsets[i], end = offsets[i + 1];
    if (begin > end || (max_tokens > 0 && begin + max_tokens < end))
      file.fail(fmt::format("the offsets of text {} are wrong", i));
  }
  for (const int32_t id : tokens.all_ids()) {
    if (id < 0 || id >= vocabulary_size) file.fail(fmt::format("id {} is outside a vocabulary of {}", id, vocabulary_size));
  }
}

}  // namespace

Tokens::Tokens(SharedArray<int32_t> ids, SharedArray<int64_t> offsets, SharedArray<uint8_t> truncated, int64_t invalid_bytes)
    : ids_(std::move(ids)), offsets_(std::move(offsets)), truncated_(std::move(truncated)), invalid_bytes_(invalid_bytes) {}

double Tokens::truncated_share(std::span<const int64_t> rows) const {
  if (rows.empty()) return 0;
  const auto count = std::count_if(rows.begin(), rows.end(), [&](int64_t row) { return truncated(row); });
  return static_cast<double>(count) / static_cast<double>(rows.size());
}

Tokens tokenize(const TextPool& texts, const Tokenizer& tokenizer, int64_t max_tokens) {
  const int64_t count = texts.size();
  std::vector<Piece> pieces(static_cast<size_t>((count + texts_a_piece - 1) / texts_a_piece));
  std::vector<int64_t> offsets(static_cast<size_t>(count) + 1, 0);
  std::vector<uint8_t> truncated(static_cast<size_t>(count), 0);
  Progress progress("texts to tokens", count, {"texts"});
  std::atomic<int64_t> done{0};
  parallel_for(count, texts_a_piece, [&](int64_t begin, int64_t end) {
    Piece& piece = pieces[static_cast<size_t>(begin / texts_a_piece)];
    for (int64_t i = begin; i < end; ++i) {
      const size_t before = piece.ids.size();
      const EncodedText encoded = tokenizer.encode(texts.view(i), max_tokens, piece.ids);
      offsets[static_cast<size_t>(i) + 1] = static_cast<int64_t>(piece.ids.size() - before);
      truncated[static_cast<size_t>(i)] = encoded.truncated ? 1 : 0;
      piece.invalid_bytes += encoded.invalid_bytes;
    }
    progress.update(done += end - begin);
  });
  for (size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  std::vector<int32_t> ids;
  ids.reserve(static_cast<size_t>(offsets.back()));
  int64_t invalid_bytes = 0;
  for (Piece& piece : pieces) {
    ids.insert(ids.end(), piece.ids.begin(), piece.ids.end());
    piece.ids = {};  // no second copy of everything
    invalid_bytes += piece.invalid_bytes;
  }
  return {std::move(ids), std::move(offsets), std::move(truncated), invalid_bytes};
}

fs::path token_cache_folder() {
  const fs::path cache = user_cache_folder();
  return cache.empty() ? cache : cache / "tokens";
}

void write_tokens(const fs::path& path, const Tokens& tokens) {
  const std::vector<int64_t> invalid_bytes = {tokens.invalid_bytes()};  // a tensor, so that the file's hash covers it
  write_safetensors(path,
                    {{"ids", tensor_of(tokens.all_ids().span())},
                     {"offsets", tensor_of(tokens.offsets().span())},
                     {"truncated", tensor_of(tokens.all_truncated().span())},
                     {"invalid_bytes", tensor_of<int64_t>(invalid_bytes)}},
                    {{"kind", "l0gm tokens"}});
}

Tokens read_tokens(const fs::path& path, int64_t texts, int64_t vocabulary_size, int64_t max_tokens) {
  const ArrayFile file(path, "tokens of texts");
  const SharedArray<int64_t> invalid_bytes = file.array<int64_t>("invalid_bytes");
  if (invalid_bytes.size() != 1 || invalid_bytes[0] < 0) file.fail("its count of invalid bytes is none");
  Tokens tokens(file.array<int32_t>("ids"), file.array<int64_t>("offsets"), file.array<uint8_t>("truncated"), invalid_bytes[0]);
  check_tokens(file, tokens, texts, vocabulary_size, max_tokens);
  return tokens;
}

Tokens cached_tokens(const fs::path& folder, const TextPool& texts, const Tokenizer& tokenizer, int64_t max_tokens) {
  if (folder.empty()) return tokenize(texts, tokenizer, max_tokens);
  const fs::path path = folder / (token_file_key(texts, tokenizer, max_tokens) + ".tokens");
  std::error_code error;
  if (fs::exists(path, error)) {
    try {
      Tokens tokens = read_tokens(path, texts.size(), tokenizer.vocabulary_size(), max_tokens);
      log_detail(fmt::format("tokens of {} texts: read from the cache, {}", with_thousands(texts.size()), path.string()));
      return tokens;
    } catch (const UserError& damage) {
      set_damaged_aside(path, damage.what(), "The list of tokens");
    }
  }
  Tokens tokens = tokenize(texts, tokenizer, max_tokens);
  try {
    fs::create_directories(folder);
    write_tokens(path, tokens);
    log_detail(fmt::format("tokens of {} texts: cached as {}", with_thousands(texts.size()), path.string()));
  } catch (const std::exception& failure) {
    log_warning(fmt::format("the tokens could not be stored in {}: {}. They will be made again next time.", folder.string(),
                            failure.what()));
  }
  return tokens;
}

}  // namespace l0gm
