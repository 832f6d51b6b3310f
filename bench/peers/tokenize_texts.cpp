// Texts of a file through one of our tokenizers: ids for a comparison, or the time they took. Built and called by bench/peers/tokenizer_speed.py.
//   tokenize_texts ids   TOKENIZER TEXTS MAX_TOKENS > IDS           (int32: per text its count, then its ids)
//   tokenize_texts time  TOKENIZER TEXTS MAX_TOKENS THREADS ROUNDS  (seconds of each round; threads 0: one text at a time)
// TOKENIZER is a folder or a tokenizer.json; TEXTS holds texts with a zero byte between them.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "base/files.h"
#include "base/threads.h"
#include "encode/text/encode_texts.h"

namespace {

using namespace l0gm;

std::shared_ptr<const Tokenizer> open_tokenizer(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? read_tokenizer(path) : tokenizer_from_json(read_file(path), path.string());
}

std::vector<std::string_view> split_texts(std::string_view all) {
  std::vector<std::string_view> texts;
  for (size_t begin = 0; begin <= all.size();) {
    const size_t end = std::min(all.find('\0', begin), all.size());
    texts.push_back(all.substr(begin, end - begin));
    begin = end + 1;
  }
  return texts;
}

void write_ids(const EncodedTexts& encoded) {
  for (size_t i = 0; i + 1 < encoded.offsets.size(); ++i) {
    const auto ids = encoded.text(i);
    const auto count = static_cast<int32_t>(ids.size());
    std::fwrite(&count, sizeof count, 1, stdout);
    std::fwrite(ids.data(), sizeof(int32_t), ids.size(), stdout);
  }
}

double seconds_of_round(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts, int64_t max_tokens, bool one_at_a_time) {
  const auto begin = std::chrono::steady_clock::now();
  if (one_at_a_time) {
    for (const std::string_view text : texts) {
      std::vector<int32_t> ids;
      tokenizer.encode(text, max_tokens, ids);
    }
  } else {
    encode_texts(tokenizer, texts, max_tokens);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 2;
  const auto tokenizer = open_tokenizer(argv[2]);
  const std::string all = read_file(argv[3]);
  const std::vector<std::string_view> texts = split_texts(all);
  const int64_t max_tokens = std::atoll(argv[4]);
  if (std::strcmp(argv[1], "ids") == 0) {
    write_ids(encode_texts(*tokenizer, texts, max_tokens));
    return 0;
  }
  const int64_t threads = argc > 5 ? std::atoll(argv[5]) : 1, rounds = argc > 6 ? std::atoll(argv[6]) : 3;
  set_thread_limit(threads > 0 ? threads : 1);
  for (int64_t i = 0; i < rounds; ++i) std::printf("%.6f\n", seconds_of_round(*tokenizer, texts, max_tokens, threads == 0));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
