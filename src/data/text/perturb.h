#pragma once

#include <cstdint>
#include <span>

#include "data/perturbation.h"
#include "encode/text/tokenizer.h"

// Perturbed texts: tokens that become the mask token. What is drawn depends on (seed, condition, row, position) and on nothing
// else, so that all methods with one tokenizer are compared on the same tokens.
//   const TokenPerturber perturber(perturbation, seed, tokenizer->special());
//   perturber.apply(row, ids);
namespace l0gm {

// Of the twelve conditions (data/perturbation.h), those that change tokens:
//   missing    each token that is not special becomes the mask token with this probability
//   occlude    a contiguous span of this share of the tokens that are not special is masked, one token at least
// Start, separator and padding are spared. A vocabulary without a mask token uses its unknown token.
bool changes_tokens(const Perturbation& perturbation);

class TokenPerturber {
 public:
  // UserError when the vocabulary has neither a mask nor an unknown token.
  TokenPerturber(Perturbation perturbation, uint64_t seed, const SpecialTokens& special);
  void apply(int64_t row, std::span<int32_t> ids) const;  // `row`: number in the dataset. noise, quantise: changes nothing

 private:
  bool spared(int32_t id) const { return id == special_.cls || id == special_.sep || id == special_.pad; }
  void mask_some(int64_t row, std::span<int32_t> ids) const;
  void mask_span(int64_t row, std::span<int32_t> ids) const;
  uint64_t key(int64_t row, uint64_t position) const;
  Perturbation perturbation_;
  uint64_t seed_, condition_key_;
  SpecialTokens special_;
  int32_t mask_;
};

// The other conditions change the embeddings of tokens, and are the encoder's to apply, before positions are added:
//   noise      e[position, j] += amount * s[j] * n[position, j], s[j] the standard deviation of column j of the embedding table,
//              n the numbers of draw_token_noise(token_noise_key(perturbation, seed, row), …): the same for every padding and
//              batch
//   quantise   e[position, j] becomes nearest_level(low[j], high[j], e, bits) over the range of column j; nothing is drawn
// Special tokens are spared here, too.
uint64_t token_noise_key(const Perturbation& perturbation, uint64_t seed, int64_t row);
// Standard normal numbers [tokens, width]; number (position, j) depends on key, position and j alone. Dimensions 2k and 2k + 1
// are box_muller() of the uniform numbers 2k and 2k + 1 that fill_uniform() gives for the id `position`.
void draw_token_noise(uint64_t key, int64_t tokens, int64_t width, float* out);

}  // namespace l0gm
