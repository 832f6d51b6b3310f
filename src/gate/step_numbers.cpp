#include "gate/step_numbers.h"

#include <ATen/Functions.h>

#include <bit>
#include <stdexcept>

#include "gate/noise.h"

namespace l0gm {

StepNumbers::StepNumbers(torch::Device device)
    : all_(at::zeros({reals + most_keys}, at::TensorOptions().dtype(torch::kInt64).device(device))) {
  device_reals_ = all_.narrow(0, 0, reals).view(torch::kFloat64);
  device_keys_ = all_.narrow(0, reals, most_keys);
}

void StepNumbers::set_step(uint64_t seed, int64_t step) {
  seed_ = seed;
  step_ = step;
}

void StepNumbers::set(StepNumber which, double value) { reals_[static_cast<size_t>(which)] = value; }

void StepNumbers::send() {
  const int64_t used = reals + static_cast<int64_t>(slots_.size());
  const torch::Tensor here = at::empty({used}, torch::kInt64);
  int64_t* to = here.data_ptr<int64_t>();
  for (size_t i = 0; i < reals_.size(); ++i) to[i] = std::bit_cast<int64_t>(reals_[i]);
  for (const auto& [site, slot] : slots_)
    to[reals + slot] = static_cast<int64_t>(key_of({seed_, step_, site, {}, nullptr, {}}).value);
  // So few bytes are taken over before the call returns: `here` may go.
  all_.narrow(0, 0, used).copy_(here, /*non_blocking=*/true);
}

torch::Tensor StepNumbers::at(StepNumber which) const { return device_reals_.select(0, static_cast<int64_t>(which)); }

const uint64_t* StepNumbers::key(int64_t site) {
  const auto [found, is_new] = slots_.try_emplace(site, static_cast<int64_t>(slots_.size()));
  if (found->second >= most_keys) throw std::logic_error("StepNumbers: more places draw than there is room for");
  if (is_new) send();
  return reinterpret_cast<const uint64_t*>(device_keys_.const_data_ptr<int64_t>()) + found->second;
}

}  // namespace l0gm
