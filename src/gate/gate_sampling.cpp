#include "gate/gate_sampling.h"

#include <ATen/Functions.h>
#include <torch/autograd.h>

#include "base/random.h"
#include "gate/gate_kernels.h"
#include "gate/gate_rows.h"
#include "gate/in_parallel.h"
#include "gate/noise.h"
#include "gate/saved_key.h"
#ifdef L0GM_HAS_CUDA
#include "gate/cuda/gate_step.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t noise_at_a_time = 4096;                 // numbers: they stay in the first cache
constexpr int64_t most_row_parts = 64, fewest_rows = 16;  // of the sums over rows: constants, so that threads do not change them

const float* pointer(const torch::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr; }
float* writable(const torch::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr<float>() : nullptr; }

GateRows rows_of(const torch::Tensor& r, const torch::Tensor& logits, const GateSampling& how) {
  GateRows gate;
  gate.rows = how.ids.size(0), gate.width = logits.size(-1);
  gate.key = how.key, gate.ids = how.ids.const_data_ptr<int64_t>();
  const double tau = how.live_tau != nullptr && logits.is_cpu() ? *how.live_tau : how.tau;
  gate.numbers = {static_cast<float>(1 / tau), static_cast<float>(how.gamma), static_cast<float>(how.zeta)};
  gate.live_tau = how.live_tau;
  gate.by_element = logits.dim() == 2;
  gate.logits = pointer(logits), gate.keep = pointer(how.keep), gate.r = pointer(r);
  return gate;
}

// Row `row` of a matrix; of a vector that all rows share; of a constant in place of what is not there.
struct RowsOf {
  const float* numbers;
  int64_t step;
  const float* operator[](int64_t row) const { return numbers + row * step; }
};

// z is [rows, width]; kept and value may be null.
void forward_on_host(const GateRows& gate, float* z, float* kept, float* value) {
  const int64_t width = gate.width, block = std::max<int64_t>(1, noise_at_a_time / std::max<int64_t>(1, width)),
                blocks = (gate.rows + block - 1) / block, parts = std::min(blocks, worthwhile_parts(gate.rows * width * 16));
  const std::vector<float> ones(static_cast<size_t>(width), 1.0F);
  const int64_t of_unit = gate.by_element ? width : 0;
  const RowsOf logits{gate.logits, of_unit}, keep = gate.keep ? RowsOf{gate.keep, of_unit} : RowsOf{ones.data(), 0},
                                             r = gate.r ? RowsOf{gate.r, width} : RowsOf{ones.data(), 0};
  in_parallel(parts, [&](int64_t part) {
    std::vector<float> u(static_cast<size_t>(block * width)), unused(static_cast<size_t>(2 * width));
    for (int64_t b = blocks * part / parts; b < blocks * (part + 1) / parts; ++b) {
      const int64_t begin = b * block, end = std::min(gate.rows, begin + block);
      fill_uniform(key_now(gate.key), gate.ids + begin, end - begin, width, u.data());
      for (int64_t row = begin; row < end; ++row) {
        gate_kernels().forward(gate.numbers, width, logits[row], u.data() + (row - begin) * width, keep[row], r[row],
                               z + row * width, kept ? kept + row * width : unused.data(),
                               value ? value + row * width : unused.data() + width);
      }
    }
  });
}

// of_value, of_kept and of_r may be null. of_logits: [rows, width] where by_element, else [width].
void backward_on_host(const GateRows& gate, const float* z, const float* of_value, const float* of_kept, float* of_r,
                      float* of_logits) {
  const int64_t width = gate.width, block = std::max(fewest_rows, (gate.rows + most_row_parts - 1) / most_row_parts),
                blocks = (gate.rows + block - 1) / block, parts = std::min(blocks, worthwhile_parts(gate.rows * width * 8));
  const std::vector<float> ones(static_cast<size_t>(width), 1.0F), zeros(static_cast<size_t>(width), 0.0F);
  const int64_t of_unit = gate.by_element ? width : 0;
  const RowsOf keep = gate.keep ? RowsOf{gate.keep, of_unit} : RowsOf{ones.data(), 0},
               r = gate.r ? RowsOf{gate.r, width} : RowsOf{ones.data(), 0},
               values = of_value ? RowsOf{of_value, width} : RowsOf{zeros.data(), 0},
               gates = of_kept ? RowsOf{of_kept, width} : RowsOf{zeros.data(), 0};
  std::vector<float> sums(static_cast<size_t>(gate.by_element ? 0 : blocks * width), 0.0F);
  in_parallel(parts, [&](int64_t part) {
    std::vector<float> unused(static_cast<size_t>(width)), found(static_cast<size_t>(width));
    for (int64_t b = blocks * part / parts; b < blocks * (part + 1) / parts; ++b) {
      const int64_t end = std::min(gate.rows, (b + 1) * block);
      for (int64_t row = b * block; row < end; ++row) {
        gate_kernels().backward(gate.numbers, width, z + row * width, keep[row], r[row], values[row], gates[row],
                                of_r ? of_r + row * width : unused.data(),
                                gate.by_element ? of_logits + row * width : found.data());
        if (gate.by_element) continue;
        float* sum = sums.data() + b * width;
        for (int64_t j = 0; j < width; ++j) sum[j] += found[static_cast<size_t>(j)];
      }
    }
  });
  if (gate.by_element) return;
  std::fill_n(of_logits, width, 0.0F);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t j = 0; j < width; ++j) of_logits[j] += sums[static_cast<size_t>(b * width + j)];
  }
}

#ifdef L0GM_HAS_CUDA
void backward_on_device(const GateRows& gate, const torch::Tensor& of_value, const torch::Tensor& of_gates,
                        const torch::Tensor& of_r, const torch::Tensor& of_logits) {
  const torch::Tensor partial = at::empty({cuda::gate_partial_sums(gate)}, of_logits.options());
  cuda::gate_backward(gate, pointer(of_value), pointer(of_gates), writable(of_r), writable(of_logits), partial.data_ptr<float>(),
                      cuda::current_stream(of_logits.device().index()));
  cuda::check_launch();
}
#endif

// The processor keeps z, because reading it is faster than drawing it again; a device draws it again.
struct Sample : torch::autograd::Function<Sample> {
  // Tensors that may be missing are optional: an undefined one is refused as an input.
  static variable_list forward(AutogradContext* context, const std::optional<torch::Tensor>& given, const torch::Tensor& logits,
                               const std::optional<torch::Tensor>& mask, const torch::Tensor& ids, const GateSampling& given_how) {
    const torch::Tensor r = given.value_or(torch::Tensor()), keep = mask.value_or(torch::Tensor());
    GateSampling how = given_how;
    how.ids = ids, how.keep = keep;
    SavedKey{how.key}.save(*context);
    context->saved_data["tau"] = how.tau;
    context->saved_data["gamma"] = how.gamma;
    context->saved_data["zeta"] = how.zeta;
    context->saved_data["live_tau"] = reinterpret_cast<int64_t>(how.live_tau);
    context->set_materialize_grads(false);
    const GateRows gate = rows_of(r, logits, how);
    const auto empty = [&] { return at::empty({gate.rows, gate.width}, logits.options().requires_grad(false)); };
    const torch::Tensor value = r.defined() ? empty() : torch::Tensor();
    torch::Tensor gates, z;
#ifdef L0GM_HAS_CUDA
    if (logits.is_cuda()) {
      if (how.gates_wanted || !r.defined()) gates = empty();
      cuda::gate_forward(gate, writable(value), writable(gates), cuda::current_stream(logits.device().index()));
      cuda::check_launch();
    }
#endif
    if (logits.is_cpu()) {
      z = empty();
      if (keep.defined()) gates = empty();
      forward_on_host(gate, z.data_ptr<float>(), writable(gates), writable(value));
      if (!keep.defined()) gates = z;
    }
    context->save_for_backward({r, logits, keep, ids, z});
    variable_list made;
    for (const torch::Tensor& tensor : {value, gates}) {
      if (tensor.defined()) made.push_back(tensor);
    }
    return made;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &r = saved[0], &logits = saved[1], &z = saved[4];
    const GateSampling how{.tau = context->saved_data["tau"].toDouble(),
                           .gamma = context->saved_data["gamma"].toDouble(),
                           .zeta = context->saved_data["zeta"].toDouble(),
                           .key = SavedKey::of(*context),
                           .ids = saved[3],
                           .keep = saved[2],
                           .live_tau = reinterpret_cast<const double*>(context->saved_data["live_tau"].toInt())};
    const auto contiguous = [](const torch::Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : tensor; };
    const torch::Tensor of_value = r.defined() ? contiguous(gradients[0]) : torch::Tensor();
    const torch::Tensor of_gates = gradients.size() > 1 || !r.defined() ? contiguous(gradients.back()) : torch::Tensor();
    variable_list result(5);
    if (!of_value.defined() && !of_gates.defined()) return result;
    const GateRows gate = rows_of(r, logits, how);
    if (r.defined() && of_value.defined() && context->needs_input_grad(0)) result[0] = at::empty_like(r);
    result[1] = gate.rows == 0 ? at::zeros_like(logits) : at::empty_like(logits);
#ifdef L0GM_HAS_CUDA
    if (logits.is_cuda()) backward_on_device(gate, of_value, of_gates, result[0], result[1]);
#endif
    if (logits.is_cpu())
      backward_on_host(gate, z.const_data_ptr<float>(), pointer(of_value), pointer(of_gates), writable(result[0]),
                       writable(result[1]));
    return result;
  }
};

bool has_kernel(const torch::Tensor& r, const torch::Tensor& logits, int64_t rows) {
#ifdef L0GM_HAS_CUDA
  const bool device = logits.is_cpu() || logits.is_cuda();
#else
  const bool device = logits.is_cpu();
#endif
  const bool fits = !r.defined() || (r.scalar_type() == torch::kFloat32 && r.dim() == 2 && r.size(0) == rows &&
                                     r.size(1) == logits.size(-1) && r.device() == logits.device());
  return device && fits && logits.scalar_type() == torch::kFloat32 && (logits.dim() == 1 || logits.size(0) == rows);
}

}  // namespace

GateSample sample_gates_by_tensors(const torch::Tensor& r, const torch::Tensor& logits, const GateSampling& how) {
  const torch::Tensor u = uniform_of_key(how.key.value, how.ids, logits.size(-1), logits.device());
  const torch::Tensor s = at::sigmoid((logits + at::logit(u.to(logits.scalar_type()))) / how.tau);
  torch::Tensor z = s.mul(how.zeta - how.gamma).add(how.gamma).clamp(0, 1);
  if (how.keep.defined()) z = z * how.keep + (z - z.detach()) * (1 - how.keep);
  return {r.defined() ? r * z.to(r.scalar_type()) : torch::Tensor(), z};
}

GateSample sample_gates(const torch::Tensor& r, const torch::Tensor& logits, const GateSampling& how) {
  if (!has_kernel(r, logits, how.ids.size(0))) return sample_gates_by_tensors(r, logits, how);
  std::optional<torch::Tensor> rows, keep;
  if (r.defined()) rows = r.contiguous();
  if (how.keep.defined()) keep = how.keep.expand_as(logits).contiguous();
  const torch::Tensor ids = how.ids.to(logits.device(), torch::kInt64).contiguous();
  const variable_list made = Sample::apply(rows, logits.contiguous(), keep, ids, how);
  if (!r.defined()) return {{}, made[0]};
  return {made[0], made.size() > 1 ? made[1] : torch::Tensor()};
}

}  // namespace l0gm
