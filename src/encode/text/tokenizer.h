#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Text in, token ids out: the same ids as the reference's fast tokenizer gives. No LibTorch; shared with the runtime.
//   const std::shared_ptr<const Tokenizer> tokenizer = read_tokenizer("weights/gte-small");
//   std::vector<int32_t> ids;  tokenizer->encode("That is a happy dog", 512, ids);
namespace l0gm {

struct SpecialTokens {
  int32_t cls = -1, sep = -1, pad = -1, mask = -1, unknown = -1;  // -1: the vocabulary has none
};

struct EncodedText {
  int64_t tokens = 0;         // appended, special ones included
  bool truncated = false;     // tokens were left out
  int64_t invalid_bytes = 0;  // that were no UTF-8 and became U+FFFD
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Appends the ids of one text, with the special tokens that the model wants around it; at most max_tokens (0: no limit).
  // Several threads may call it at once.
  virtual EncodedText encode(std::string_view utf8, int64_t max_tokens, std::vector<int32_t>& ids) const = 0;
  virtual const SpecialTokens& special() const = 0;
  virtual int64_t vocabulary_size() const = 0;      // largest id + 1
  virtual std::string token(int32_t id) const = 0;  // "##ing"
  virtual const std::string& json() const = 0;      // the layout of tokenizer.json, complete: what files and runs keep
  virtual const std::string& sha256() const = 0;    // of json()
};

// From a Hugging Face folder: tokenizer.json, or vocab.txt / vocab.json + merges.txt / spm.model with tokenizer_config.json.
// UserError naming file and place when it is damaged or of a kind that is not known.
std::shared_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& folder);
std::shared_ptr<const Tokenizer> tokenizer_from_json(std::string json, const std::string& where);  // where: for messages
// A WordPiece tokenizer (lower case, [PAD] [UNK] [CLS] [SEP] [MASK] first) whose vocabulary is learned from texts.
std::shared_ptr<const Tokenizer> train_tokenizer(const std::vector<std::string_view>& texts, int64_t vocabulary_size);

}  // namespace l0gm
