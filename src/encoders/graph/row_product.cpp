#include "encoders/graph/row_product.h"

#include <ATen/Functions.h>

#include <vector>

#include "batches/graph/row_parts.h"
#include "encoders/graph/edge_tensors.h"
#include "encoders/graph/row_kernels.h"
#include "l0gm/error.h"
#ifdef L0GM_HAS_CUDA
#include <ATen/cuda/CUDAEvent.h>

#include <cmath>
#include <functional>

#include "encoders/graph/cuda/sum_rows.h"
#include "gate/cuda/stream.h"
#endif

namespace l0gm {

namespace {

template <class T>
const T* pointer(const torch::Tensor& tensor, const torch::Tensor& x) {
  if (!tensor.defined()) return nullptr;
  TORCH_CHECK(tensor.scalar_type() == x.scalar_type() && tensor.is_contiguous() && tensor.device() == x.device(),
              "factors of a propagation have the type and device of what is propagated");
  return tensor.const_data_ptr<T>();
}

template <class T>
torch::Tensor by_kernels(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x) {
  RowSums<T> sums;
  torch::Tensor offsets = adjacency.offsets, neighbours = adjacency.neighbours, weights = product.weights, places;
  if (product.transposed) {
    const Adjacency::Transposed& other = adjacency.transposed(weights.defined());
    offsets = other.offsets;
    neighbours = other.neighbours;
    if (weights.defined()) places = other.edge_of;
    if (!weights.defined()) weights = other.weights;
  } else if (!weights.defined()) {
    weights = adjacency.weights;
  }
  const int64_t rows = offsets.size(0) - 1;
  torch::Tensor y = at::empty({rows, x.size(1), x.size(2)}, x.options());
  sums.offsets = offsets.const_data_ptr<int64_t>();
  sums.neighbours = neighbours.const_data_ptr<int32_t>();
  sums.weights = pointer<T>(weights, x);
  sums.places = places.defined() ? places.const_data_ptr<int64_t>() : nullptr;
  sums.source = pointer<T>(product.source, x);
  sums.target = pointer<T>(product.target, x);
  // The transposed product writes to own rows: the kernel can do this only where target t's own row is row t.
  const bool self_apart = product.self.defined() && product.transposed && adjacency.own.defined();
  if (product.self.defined() && !self_apart) {
    sums.self = pointer<T>(product.self, x);
    sums.own = adjacency.own.defined() ? adjacency.own.const_data_ptr<int64_t>() : nullptr;
    sums.self_rows = adjacency.targets();
  }
  sums.heads = x.size(1);
  sums.width = x.size(2);
  sums.x = x.const_data_ptr<T>();
  sums.y = y.data_ptr<T>();
  const RowKernels<T>& kernels = row_kernels<T>();
  for_rows(sums.offsets, rows, sums.heads * sums.width, [&](int64_t begin, int64_t end) { kernels.sum(sums, begin, end); });
  if (self_apart) add_to_own_rows(adjacency, y, x * product.self.view({-1, sums.heads, 1}));
  return y;
}

// Every head has weights of its own, hence one matrix per head.
torch::Tensor heads_by_matrix(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& messages) {
  torch::Tensor rows = adjacency.offsets, columns = adjacency.neighbours,
                weights = product.weights.narrow(0, 0, adjacency.edges());
  if (product.transposed) {
    const Adjacency::Transposed& other = adjacency.transposed(true);
    rows = other.offsets;
    columns = other.neighbours;
    weights = weights.index_select(0, other.edge_of);
  }
  std::vector<torch::Tensor> parts;
  for (int64_t head = 0; head < messages.size(1); ++head) {
    const torch::Tensor values = weights.select(1, head).to(messages.scalar_type()).contiguous();
    const torch::Tensor matrix = csr_tensor(rows, columns, values, messages.size(0));
    parts.push_back(at::mm(matrix, messages.select(1, head).contiguous()));
  }
  return at::stack(parts, 1);
}

}  // namespace

torch::Tensor row_product_by_kernels(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x) {
  if (x.scalar_type() == torch::kFloat64) return by_kernels<double>(adjacency, product, x.contiguous());
  TORCH_CHECK(x.scalar_type() == torch::kFloat32, "rows on the processor are float32 or float64, not ", x.scalar_type());
  return by_kernels<float>(adjacency, product, x.contiguous());
}

torch::Tensor row_product_by_matrix(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x,
                                    torch::Dtype message) {
  const torch::Tensor messages = (product.source.defined() ? x * product.source.view({-1, 1, 1}) : x).to(message);
  const int64_t heads = x.size(1), width = x.size(2);
  torch::Tensor y;
  if (product.weights.defined()) {
    y = heads_by_matrix(adjacency, product, messages);
  } else {
    y = at::mm(adjacency.matrix(product.transposed, message), messages.reshape({x.size(0), heads * width}))
            .view({-1, heads, width});
  }
  y = y.to(x.scalar_type());
  if (product.target.defined()) y.mul_(product.target.view({-1, 1, 1}));
  if (!product.self.defined()) return y;
  const torch::Tensor self = product.self.view({-1, heads, 1});
  if (product.transposed) {
    add_to_own_rows(adjacency, y, x * self);
  } else {
    y.addcmul_(own_rows(adjacency, x), self);
  }
  return y;
}

#ifdef L0GM_HAS_CUDA
namespace {

// Milliseconds that work takes on the device, of a few times the least.
double time_of(const std::function<void()>& work, cudaStream_t stream) {
  constexpr int most = 4;
  constexpr float long_enough = 4;  // milliseconds: no need to look twice
  at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
  const auto on = at::cuda::getStreamFromExternal(stream, at::cuda::current_device());
  float least = HUGE_VALF;
  for (int i = 0; i < most && (i < 2 || least < long_enough); ++i) {
    begin.record(on);
    work();
    end.record(on);
    end.synchronize();
    if (i > 0) least = std::min(least, begin.elapsed_time(end));  // the first time is for loading the kernel
  }
  return least;
}

// Sums the rows by the plan, in the shape that is fastest for this matrix and width: tried once. All shapes give the same sums.
template <class Message>
void sum_planned(const cuda::DeviceRowSums<Message>& sums, RowPlanTensors* plan, const torch::Tensor& y) {
  const cudaStream_t stream = cuda::current_stream(y.device().index());
  if (plan == nullptr) {
    cuda::sum_rows(sums, {}, {}, nullptr, stream);
    return cuda::check_launch();
  }
  const cuda::DeviceRowPlan there{plan->longest,
                                  plan->cut_rows,
                                  plan->segments,
                                  plan->rows.const_data_ptr<int32_t>(),
                                  plan->first_segment.const_data_ptr<int32_t>(),
                                  plan->row_of_segment.const_data_ptr<int32_t>()};
  const torch::Tensor partial = at::empty({plan->segments, sums.width}, y.options());
  const std::vector<cuda::RowSumShape> shapes = cuda::row_sum_shapes(sums.width);
  const auto sum_in = [&](size_t shape) { cuda::sum_rows(sums, there, shapes[shape], partial.data_ptr<float>(), stream); };
  const auto [found, first_time] = plan->shape_of_width.try_emplace({sums.width, static_cast<int64_t>(sizeof(Message))}, 0);
  if (first_time && shapes.size() > 1 && sums.rows > 0) {
    double least = HUGE_VAL;
    for (size_t shape = 0; shape < shapes.size(); ++shape) {
      const double time = time_of([&] { sum_in(shape); }, stream);
      if (time < least) least = time, found->second = shape;
    }
  }
  sum_in(found->second);
  cuda::check_launch();
}

// One head with our own kernel: scales, weights and own rows in one pass over the edges.
template <class Message>
torch::Tensor by_device_kernel(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x,
                               const torch::Tensor& messages) {
  cuda::DeviceRowSums<Message> sums;
  torch::Tensor offsets = adjacency.offsets, neighbours = adjacency.neighbours, weights = adjacency.weights;
  if (product.transposed) {
    const Adjacency::Transposed& other = adjacency.transposed();
    offsets = other.offsets;
    neighbours = other.neighbours;
    weights = other.weights;
  }
  const int64_t rows = offsets.size(0) - 1;
  torch::Tensor y = at::empty({rows, 1, x.size(2)}, x.options());
  const auto factors = [&](const torch::Tensor& tensor) { return tensor.defined() ? pointer<float>(tensor, x) : nullptr; };
  sums.offsets = offsets.const_data_ptr<int64_t>();
  sums.neighbours = neighbours.const_data_ptr<int32_t>();
  sums.weights = factors(weights);
  sums.source = factors(product.source);
  sums.target = factors(product.target);
  const bool self_apart = product.self.defined() && product.transposed && adjacency.own.defined();
  if (product.self.defined() && !self_apart) {
    sums.self = factors(product.self);
    sums.own = adjacency.own.defined() ? adjacency.own.const_data_ptr<int64_t>() : nullptr;
    sums.self_rows = adjacency.targets();
  }
  sums.rows = rows;
  sums.width = x.size(2);
  sums.x = reinterpret_cast<const Message*>(messages.const_data_ptr());
  sums.own_x = x.const_data_ptr<float>();
  sums.y = y.data_ptr<float>();
  sum_planned(sums, adjacency.row_plan(product.transposed), y);
  if (self_apart) add_to_own_rows(adjacency, y, x * product.self.view({-1, 1, 1}));
  return y;
}

bool has_device_kernel(const RowProduct& product, const torch::Tensor& x) {
  return x.is_cuda() && x.scalar_type() == torch::kFloat32 && x.size(1) == 1 && !product.weights.defined();
}

}  // namespace
#endif

// Chooses the implementation by device.
torch::Tensor row_product(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& given) {
  if (given.is_cpu()) return row_product_by_kernels(adjacency, product, given);
#ifdef L0GM_HAS_CUDA
  if (has_device_kernel(product, given)) {
    const torch::Tensor x = given.contiguous();
    return by_device_kernel<float>(adjacency, product, x, x);
  }
#endif
  return row_product_by_matrix(adjacency, product, given, given.scalar_type());
}

torch::Tensor row_product_bfloat16(const Adjacency& adjacency, const RowProduct& product, const torch::Tensor& x) {
  if (x.is_cpu()) {
    throw UserError(
        "graph.messages = \"bfloat16\" works on a GPU only, and this run uses the processor: use --device cuda, or "
        "graph.messages = \"float32\"");
  }
#ifdef L0GM_HAS_CUDA
  if (has_device_kernel(product, x))
    return by_device_kernel<__nv_bfloat16>(adjacency, product, x.contiguous(), x.to(torch::kBFloat16).contiguous());
#endif
  return row_product_by_matrix(adjacency, product, x, torch::kBFloat16);
}

}  // namespace l0gm
