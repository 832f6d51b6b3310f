#include "data/text/perturb.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "l0gm/error.h"

namespace l0gm {

bool changes_tokens(const Perturbation& perturbation) {
  return perturbation.damage == Damage::missing || perturbation.damage == Damage::occlude;
}

TokenPerturber::TokenPerturber(Perturbation perturbation, uint64_t seed, const SpecialTokens& special)
    : perturbation_(std::move(perturbation)),
      seed_(seed),
      condition_key_(perturbation_key(perturbation_.name)),
      special_(special),
      mask_(special.mask >= 0 ? special.mask : special.unknown) {
  if (mask_ >= 0 || !changes_tokens(perturbation_)) return;
  throw UserError(
      fmt::format("the vocabulary has neither a mask nor an unknown token, so texts cannot be perturbed by {}. Take a tokenizer "
                  "that has one of them.",
                  perturbation_.name));
}

uint64_t TokenPerturber::key(int64_t row, uint64_t position) const {
  return mix_key(seed_, condition_key_, static_cast<uint64_t>(row), position);
}

void TokenPerturber::apply(int64_t row, std::span<int32_t> ids) const {
  if (perturbation_.damage == Damage::missing) mask_some(row, ids);
  if (perturbation_.damage == Damage::occlude) mask_span(row, ids);
}

void TokenPerturber::mask_some(int64_t row, std::span<int32_t> ids) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!spared(ids[i]) && RandomStream(key(row, i)).uniform() < perturbation_.amount) ids[i] = mask_;
  }
}

void TokenPerturber::mask_span(int64_t row, std::span<int32_t> ids) const {
  std::vector<size_t> places;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!spared(ids[i])) places.push_back(i);
  }
  // A key that no position has.
  const auto [begin, length] = draw_block(places.size(), perturbation_.amount, RandomStream(key(row, perturbation_key(""))));
  for (size_t i = begin; i < begin + length; ++i) ids[places[i]] = mask_;
}

uint64_t token_noise_key(const Perturbation& perturbation, uint64_t seed, int64_t row) {
  return mix_key(seed, perturbation_key(perturbation.name), static_cast<uint64_t>(row));
}

void draw_token_noise(uint64_t key, int64_t tokens, int64_t width, float* out) {
  const int64_t pairs = (width + 1) / 2;
  std::vector<int64_t> positions(static_cast<size_t>(tokens));
  std::iota(positions.begin(), positions.end(), 0);
  std::vector<float> uniform(static_cast<size_t>(tokens * 2 * pairs));
  fill_uniform(key, positions.data(), tokens, 2 * pairs, uniform.data());
  for (int64_t token = 0; token < tokens; ++token) {
    const float* from = uniform.data() + token * 2 * pairs;
    for (int64_t j = 0; j < width; j += 2) {
      const auto [first, second] = box_muller(from[j], from[j + 1]);
      out[token * width + j] = first;
      if (j + 1 < width) out[token * width + j + 1] = second;
    }
  }
}

}  // namespace l0gm
