#include "training/text/perturbed_texts.h"

#include <ATen/Functions.h>

#include <cmath>

#include "base/hash.h"
#include "batches/to_device.h"
#include "data/text/perturb.h"

namespace l0gm {

namespace {

// Copies of the tokens of `texts.rows`, changed; other texts of the dataset are empty.
Tokens changed_tokens(const TextRows& texts, const TokenPerturber& perturber) {
  const int64_t count = texts.tokens->texts();
  std::vector<int64_t> lengths(static_cast<size_t>(count), 0), offsets(static_cast<size_t>(count) + 1, 0);
  for (const int64_t row : texts.rows) lengths[static_cast<size_t>(row)] = texts.tokens->length(row);
  for (size_t i = 0; i < lengths.size(); ++i) offsets[i + 1] = offsets[i] + lengths[i];
  std::vector<int32_t> ids(static_cast<size_t>(offsets.back()));
  std::vector<uint8_t> truncated(static_cast<size_t>(count), 0);
  for (const int64_t row : texts.rows) {
    const std::span<const int32_t> from = texts.tokens->ids(row);
    const std::span<int32_t> to(ids.data() + offsets[static_cast<size_t>(row)], from.size());
    std::copy(from.begin(), from.end(), to.begin());
    perturber.apply(row, to);
  }
  return {std::move(ids), std::move(offsets), std::move(truncated), 0};
}

std::string digest(const TextRows& texts, const Perturbation& perturbation, uint64_t seed) {
  Sha256 hash;
  for (const int64_t row : texts.rows) {
    const std::span<const int32_t> ids = texts.tokens->ids(row);
    hash.update(ids.data(), ids.size_bytes());
  }
  if (!changes_tokens(perturbation)) {
    hash.update(perturbation.name.data(), perturbation.name.size());
    if (perturbation.damage == Damage::noise) hash.update(&seed, sizeof seed);  // quantising draws nothing
  }
  return hash.hex();
}

}  // namespace

PerturbedTexts::PerturbedTexts(TextRows texts, const Perturbation& perturbation, uint64_t seed, const Tokenizer& tokenizer,
                               const TextEncoder& encoder)
    : rows_(std::move(texts)), perturbation_(perturbation), seed_(seed), special_(tokenizer.special()), encoder_(&encoder) {
  if (changes_tokens(perturbation)) {
    tokens_ = changed_tokens(rows_, TokenPerturber(perturbation, seed, special_));
    rows_.tokens = &tokens_;
  } else {
    const torch::Tensor table = encoder.transformer().embeddings->words.detach().to(torch::kFloat64);
    deviation_ = (table - table.mean(0)).square().mean(0).sqrt();
    low_ = std::get<0>(table.min(0));
    high_ = std::get<0>(table.max(0));
    rows_.change = [this](TextBatch& batch, std::span<const int64_t> rows) { change_vectors(batch, rows); };
  }
  sha256_ = digest(rows_, perturbation_, seed_);
}

void PerturbedTexts::change_vectors(TextBatch& batch, std::span<const int64_t> rows) const {
  const torch::Tensor vectors = encoder_->word_vectors(batch.tokens), exact = vectors.to(torch::kFloat64);
  torch::Tensor changed;
  if (perturbation_.damage == Damage::noise) {
    const int64_t width = vectors.size(1);
    std::vector<float> normal(static_cast<size_t>(batch.total() * width));
    int64_t first = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t tokens = batch.texts.lengths[i];
      draw_token_noise(token_noise_key(perturbation_, seed_, rows[i]), tokens, width, normal.data() + first * width);
      first += tokens;
    }
    const torch::Tensor noise = to_device(at::from_blob(normal.data(), {batch.total(), width}, torch::kFloat32).clone(),
                                          vectors.device(), torch::kFloat64);
    changed = exact + noise * deviation_ * perturbation_.amount;
  } else {
    const double steps = std::exp2(perturbation_.amount) - 1;
    const torch::Tensor range = (high_ - low_).clamp_min(1e-30);
    changed = ((exact - low_) / range * steps).round().div(steps).mul(range).add(low_);
  }
  torch::Tensor spared = at::zeros_like(batch.tokens, torch::kBool);
  for (const int32_t id : {special_.cls, special_.sep, special_.pad}) {
    if (id >= 0) spared = spared | batch.tokens.eq(id);
  }
  batch.word_vectors = at::where(spared.unsqueeze(1), exact, changed).to(vectors.scalar_type());
}

}  // namespace l0gm
