#pragma once

#include <string>
#include <vector>

#include "data/perturbation.h"
#include "encode/text/tokenizer.h"
#include "encoders/text/text_encoder.h"
#include "training/text/text_task.h"

namespace l0gm {

// A perturbed copy of some texts (data/text/perturb.h): other tokens, or other vectors of the same tokens.
class PerturbedTexts {
 public:
  PerturbedTexts(TextRows texts, const Perturbation& perturbation, uint64_t seed, const Tokenizer& tokenizer,
                 const TextEncoder& encoder);
  const TextRows& rows() const { return rows_; }
  const std::string& sha256() const { return sha256_; }  // of the tokens, and of what is drawn for their vectors

 private:
  void change_vectors(TextBatch& batch, std::span<const int64_t> rows) const;
  TextRows rows_;
  Perturbation perturbation_;
  uint64_t seed_;
  SpecialTokens special_;
  const TextEncoder* encoder_;
  torch::Tensor deviation_, low_, high_;  // of the columns of the embedding table
  Tokens tokens_;
  std::string sha256_;
};

}  // namespace l0gm
