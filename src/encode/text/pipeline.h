#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "encode/text/added_tokens.h"
#include "encode/text/bert_scanner.h"
#include "encode/text/id_sink.h"
#include "encode/text/normalizer.h"
#include "encode/text/pre_tokenizer.h"
#include "encode/text/tokenizer.h"
#include "encode/text/word_model.h"

// The one kind of Tokenizer: added tokens, normaliser, splitting, model and the special tokens around the result.
namespace l0gm {

struct TokenizerParts {
  std::string json;
  std::vector<std::string> tokens;  // by id
  SpecialTokens special;
  std::vector<AddedToken> added;
  std::unique_ptr<Normalizer> normalizer;  // nullptr: none
  std::vector<std::unique_ptr<PreTokenizer>> splits;
  std::optional<BertNormalizerOptions> bert;  // normaliser and splitting are BERT's and nothing else
  int64_t longest_word = 0;                   // with bert: what the model reads of a word
  std::unique_ptr<WordModel> model;
  std::vector<int32_t> before, after;  // special tokens around a text
};

class Pipeline : public Tokenizer {
 public:
  explicit Pipeline(TokenizerParts parts);
  EncodedText encode(std::string_view utf8, int64_t max_tokens, std::vector<int32_t>& ids) const override;
  const SpecialTokens& special() const override { return parts_.special; }
  int64_t vocabulary_size() const override { return static_cast<int64_t>(parts_.tokens.size()); }
  std::string token(int32_t id) const override;
  const std::string& json() const override { return parts_.json; }
  const std::string& sha256() const override { return sha256_; }

 private:
  // A workspace for as long as it lives.
  class Borrowed {
   public:
    explicit Borrowed(const Pipeline& owner);
    ~Borrowed();
    Workspace& operator*() const { return *workspace_; }

   private:
    const Pipeline& owner_;
    std::unique_ptr<Workspace> workspace_;
  };

  bool encode_part(TextPiece part, Workspace& workspace, IdSink& sink) const;
  bool encode_by_steps(TextPiece part, Workspace& workspace, IdSink& sink) const;

  TokenizerParts parts_;
  std::string sha256_;
  AddedTokens plain_added_, normalized_added_;
  std::optional<BertScanner> scanner_;
  mutable std::mutex lock_;
  mutable std::vector<std::unique_ptr<Workspace>> workspaces_;
};

}  // namespace l0gm
