#include "heads/largest_gates.h"

#include <ATen/Functions.h>
#include <torch/autograd.h>

#include <algorithm>
#include <span>

#include "gate/in_parallel.h"
#ifdef L0GM_HAS_CUDA
#include "gate/cuda/stream.h"
#include "heads/cuda/largest_gates.h"
#endif

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Calls work(row) for all rows in torch's threads.
template <class Work>
void for_each_row(int64_t rows, int64_t width, const Work& work) {
  const int64_t parts = std::min(rows, worthwhile_parts(rows * width * 2));
  in_parallel(parts, [&](int64_t part) {
    for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) work(row);
  });
}

// Neighbouring dimensions of one source.
struct Run {
  int64_t source, begin, end;
};
static_assert(sizeof(Run) == 3 * sizeof(int64_t));

std::span<const Run> runs_of(const torch::Tensor& runs) {
  return {reinterpret_cast<const Run*>(runs.const_data_ptr<int64_t>()), static_cast<size_t>(runs.size(0))};
}

void forward_on_host(const torch::Tensor& gates, const torch::Tensor& all_runs, const torch::Tensor& largest) {
  const int64_t width = gates.size(1), sources = largest.size(1);
  const std::span<const Run> runs = runs_of(all_runs);
  const float* from = gates.const_data_ptr<float>();
  float* to = largest.data_ptr<float>();
  for_each_row(gates.size(0), width, [&](int64_t row) {
    const float* gate = from + row * width;
    float* best = to + row * sources;
    std::fill_n(best, sources, 0.0F);
    for (const Run& run : runs) {
      float found = best[run.source];
      for (int64_t j = run.begin; j < run.end; ++j) found = gate[j] > found ? gate[j] : found;
      best[run.source] = found;
    }
  });
}

void backward_on_host(const torch::Tensor& gates, const torch::Tensor& all_runs, const torch::Tensor& largest,
                      const torch::Tensor& of_largest, const torch::Tensor& of_gates) {
  const int64_t width = gates.size(1), sources = largest.size(1);
  const std::span<const Run> runs = runs_of(all_runs);
  const float *from = gates.const_data_ptr<float>(), *best = largest.const_data_ptr<float>(),
              *given = of_largest.const_data_ptr<float>();
  float* to = of_gates.data_ptr<float>();
  for_each_row(gates.size(0), width, [&](int64_t row) {
    const float *gate = from + row * width, *top = best + row * sources, *gradient = given + row * sources;
    float* out = to + row * width;
    thread_local std::vector<int32_t> count;  // of each source's gates that are the largest
    count.assign(static_cast<size_t>(sources), 0);
    for (const Run& run : runs) {
      int32_t equal = 0;
      for (int64_t j = run.begin; j < run.end; ++j) equal += gate[j] == top[run.source] ? 1 : 0;
      count[static_cast<size_t>(run.source)] += equal;
    }
    for (const Run& run : runs) {
      const float largest_here = top[run.source];
      const float share = gradient[run.source] / static_cast<float>(count[static_cast<size_t>(run.source)]);
      for (int64_t j = run.begin; j < run.end; ++j) out[j] = gate[j] == largest_here ? share : 0.0F;
    }
  });
}

#ifdef L0GM_HAS_CUDA
cuda::DeviceSources on_device(const torch::Tensor& gates, const torch::Tensor& offsets, const torch::Tensor& dimensions) {
  return {gates.size(0), gates.size(1), offsets.size(0) - 1, offsets.const_data_ptr<int32_t>(),
          dimensions.const_data_ptr<int32_t>()};
}
#endif

struct LargestGates : torch::autograd::Function<LargestGates> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& gates, const torch::Tensor& runs,
                               const torch::Tensor& offsets, const torch::Tensor& dimensions) {
    const torch::Tensor largest = at::empty({gates.size(0), offsets.size(0) - 1}, gates.options().requires_grad(false));
#ifdef L0GM_HAS_CUDA
    if (gates.is_cuda()) {
      cuda::largest_gates(on_device(gates, offsets, dimensions), gates.const_data_ptr<float>(), largest.data_ptr<float>(),
                          cuda::current_stream(gates.device().index()));
      cuda::check_launch();
    }
#endif
    if (gates.is_cpu()) forward_on_host(gates, runs, largest);
    context->save_for_backward({gates, runs, offsets, dimensions, largest});
    return largest;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &gates = saved[0], &largest = saved[4], of_largest = gradients[0].contiguous();
    const torch::Tensor of_gates = at::empty_like(gates);
#ifdef L0GM_HAS_CUDA
    if (gates.is_cuda()) {
      cuda::largest_gates_backward(on_device(gates, saved[2], saved[3]), gates.const_data_ptr<float>(),
                                   largest.const_data_ptr<float>(), of_largest.const_data_ptr<float>(),
                                   of_gates.data_ptr<float>(), cuda::current_stream(gates.device().index()));
      cuda::check_launch();
    }
#endif
    if (gates.is_cpu()) backward_on_host(gates, saved[1], largest, of_largest, of_gates);
    return {of_gates, {}, {}, {}};
  }
};

}  // namespace

SourcesOfDimensions::SourcesOfDimensions(const std::vector<int64_t>& source_of_dimension, int64_t count) : sources(count) {
  std::vector<int32_t> begin = {0}, list;
  for (int64_t source = 0; source < count; ++source) {
    for (size_t d = 0; d < source_of_dimension.size(); ++d) {
      if (source_of_dimension[d] == source) list.push_back(static_cast<int32_t>(d));
    }
    begin.push_back(static_cast<int32_t>(list.size()));
  }
  std::vector<int64_t> pieces;  // source, begin, end
  for (size_t d = 0; d < source_of_dimension.size(); ++d) {
    const auto place = static_cast<int64_t>(d);
    if (d > 0 && source_of_dimension[d] == source_of_dimension[d - 1]) {
      pieces.back() = place + 1;
    } else {
      pieces.insert(pieces.end(), {source_of_dimension[d], place, place + 1});
    }
  }
  runs = at::tensor(pieces, torch::kInt64).view({-1, 3});
  offsets = at::tensor(begin, torch::kInt32);
  dimensions = at::tensor(list, torch::kInt32);
}

bool has_largest_gates(const torch::Tensor& gates) {
#ifdef L0GM_HAS_CUDA
  const bool device = gates.is_cpu() || gates.is_cuda();
#else
  const bool device = gates.is_cpu();
#endif
  return device && gates.scalar_type() == torch::kFloat32;
}

torch::Tensor largest_gates(const torch::Tensor& gates, const SourcesOfDimensions& where) {
  TORCH_CHECK(has_largest_gates(gates) && gates.dim() == 2 && gates.size(1) == where.dimensions.size(0),
              "largest_gates: float32, a source for each dimension");
  return LargestGates::apply(gates.contiguous(), where.runs, where.offsets, where.dimensions);
}

}  // namespace l0gm
