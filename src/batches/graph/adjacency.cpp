#include "batches/graph/adjacency.h"

#include <ATen/Functions.h>

#include <limits>
#include <utility>
#include <vector>

#include "batches/graph/row_parts.h"
#include "batches/graph/row_plan.h"
#include "batches/graph/suppress_torch_warnings.h"
#include "batches/to_device.h"

namespace l0gm {

namespace {

// The array as a tensor that keeps the memory alive: the array's own owner and the given one.
template <class T>
torch::Tensor shared(const SharedArray<T>& array, const std::shared_ptr<const void>& owner = nullptr) {
  const auto dtype = c10::CppTypeToScalarType<T>::value;
  if (array.empty()) return at::empty({0}, dtype);
  const auto keep = [first = array.owner(), second = owner](void*) {};
  return at::from_blob(const_cast<T*>(array.data()), {array.size()}, keep, at::TensorOptions().dtype(dtype));
}

torch::Tensor optional_reals(const SharedArray<float>& array, torch::Device device, torch::Dtype dtype) {
  return array.empty() ? torch::Tensor() : to_device(shared(array), device, dtype);
}

template <class T>
torch::Tensor on_device(const SharedArray<T>& array, torch::Device device, const std::shared_ptr<const void>& owner = nullptr) {
  return to_device(shared(array, owner), device, c10::CppTypeToScalarType<T>::value);
}

// Turns the counts of edges per part and source into the position of the part's first edge of that source: ordered by source,
// then by part. Returns the offsets of the sources.
torch::Tensor places_of_parts(std::vector<std::vector<int64_t>>& counts, int64_t sources) {
  const torch::Tensor offsets = at::empty({sources + 1}, torch::kInt64);
  auto* first = offsets.data_ptr<int64_t>();
  int64_t place = 0;
  for (int64_t source = 0; source < sources; ++source) {
    first[source] = place;
    for (std::vector<int64_t>& count : counts) {
      const int64_t here = count[static_cast<size_t>(source)];
      count[static_cast<size_t>(source)] = place;
      place += here;
    }
  }
  first[sources] = place;
  return offsets;
}

// Few enough parts that all counters together need less memory than the edges.
int64_t counting_parts(int64_t edges, int64_t sources) {
  return std::min(worthwhile_parts(edges), std::max<int64_t>(1, edges / std::max<int64_t>(1, sources)));
}

}  // namespace

Adjacency::Adjacency(int64_t sources, torch::Tensor offsets_given, torch::Tensor neighbours_given, torch::Tensor weights_given,
                     bool symmetric)
    : offsets(std::move(offsets_given)),
      neighbours(std::move(neighbours_given)),
      weights(std::move(weights_given)),
      sources_(sources),
      symmetric_(symmetric) {
  TORCH_CHECK(offsets.scalar_type() == torch::kInt64, "an adjacency has int64 offsets");
  TORCH_CHECK(neighbours.scalar_type() == torch::kInt32, "an adjacency has int32 neighbours");
  TORCH_CHECK(!weights.defined() || weights.size(0) == neighbours.size(0), "an adjacency has a weight for each edge, or none");
  TORCH_CHECK(!symmetric || targets() == sources, "a symmetric adjacency is square");
}

std::shared_ptr<Adjacency> Adjacency::of(const std::shared_ptr<const MessageBlock>& block, torch::Device device,
                                         torch::Dtype dtype) {
  // Holds the arrays, not the block, so that a cache can see when the block itself has no other owner left.
  auto made = std::make_shared<Adjacency>(block->sources, on_device(block->offsets, device), on_device(block->neighbours, device),
                                          optional_reals(block->weights, device, dtype), block->symmetric);
  if (!block->own.empty()) made->own = to_device(shared(block->own), device, torch::kInt64);
  made->target_degree = optional_reals(block->target_degree, device, dtype);
  made->source_degree = optional_reals(block->source_degree, device, dtype);
  return made;
}

std::shared_ptr<Adjacency> Adjacency::of(const SparseRows& rows, const std::shared_ptr<const void>& owner, int64_t columns,
                                         torch::Device device, torch::Dtype dtype) {
  return std::make_shared<Adjacency>(columns, on_device(rows.offsets, device, owner), on_device(rows.columns, device, owner),
                                     to_device(shared(rows.values, owner), device, dtype), false);
}

void Adjacency::picked_from(std::shared_ptr<const Adjacency> whole, torch::Tensor keep) {
  TORCH_CHECK(keep.scalar_type() == torch::kBool && keep.size(0) == whole->edges(), "edges are picked by a bool for each");
  whole_ = std::move(whole);
  keep_ = std::move(keep);
}

Adjacency::Transposed transpose_by_counting(const Adjacency& adjacency) {
  const auto* offsets = adjacency.offsets.const_data_ptr<int64_t>();
  const auto* neighbours = adjacency.neighbours.const_data_ptr<int32_t>();
  const int64_t targets = adjacency.targets(), sources = adjacency.sources(), parts = counting_parts(adjacency.edges(), sources);
  const auto row = [&](int64_t part) { return first_row_of_part(offsets, targets, part, parts); };
  std::vector<std::vector<int64_t>> places(static_cast<size_t>(parts));
  in_parallel(parts, [&](int64_t part) {
    std::vector<int64_t> counts(static_cast<size_t>(sources), 0);
    const int64_t end = offsets[row(part + 1)];
    for (int64_t edge = offsets[row(part)]; edge < end; ++edge) ++counts[static_cast<size_t>(neighbours[edge])];
    places[static_cast<size_t>(part)] = std::move(counts);
  });
  Adjacency::Transposed result;
  result.offsets = places_of_parts(places, sources);
  result.neighbours = at::empty_like(adjacency.neighbours);
  result.edge_of = at::empty({adjacency.edges()}, torch::kInt64);
  auto* transposed_neighbours = result.neighbours.data_ptr<int32_t>();
  auto* edge_of = result.edge_of.data_ptr<int64_t>();
  in_parallel(parts, [&](int64_t part) {
    std::vector<int64_t>& next = places[static_cast<size_t>(part)];
    const int64_t end = row(part + 1);
    for (int64_t target = row(part); target < end; ++target) {
      for (int64_t edge = offsets[target]; edge < offsets[target + 1]; ++edge) {
        const int64_t place = next[static_cast<size_t>(neighbours[edge])]++;
        transposed_neighbours[place] = static_cast<int32_t>(target);
        edge_of[place] = edge;
      }
    }
  });
  if (adjacency.weights.defined()) result.weights = adjacency.weights.index_select(0, result.edge_of);
  return result;
}

Adjacency::Transposed transpose_by_sorting(const Adjacency& adjacency) {
  const auto [sorted, order] = at::sort(adjacency.neighbours, std::optional<bool>(true), 0, false);
  Adjacency::Transposed result;
  result.offsets = at::searchsorted(sorted, at::arange(adjacency.sources() + 1, adjacency.neighbours.options()));
  result.neighbours = (at::searchsorted(adjacency.offsets, order, false, true) - 1).to(torch::kInt32);
  result.edge_of = order;
  if (adjacency.weights.defined()) result.weights = adjacency.weights.index_select(0, order);
  return result;
}

const Adjacency::Transposed& Adjacency::transposed(bool with_places) const {
  if (transposed_ && (transposed_->edge_of.defined() || !with_places)) return *transposed_;
  if (!transposed_) transposed_ = std::make_unique<Transposed>();
  if (symmetric_ && !with_places) {
    *transposed_ = {offsets, neighbours, weights, {}};
    return *transposed_;
  }
  *transposed_ = whole_ != nullptr      ? transpose_of_kept(*whole_, keep_)
                 : neighbours.is_cuda() ? transpose_by_sorting(*this)
                                        : transpose_by_counting(*this);
  // The transpose of a symmetric matrix with ascending rows has the same neighbours: no second copy.
  if (symmetric_ && at::equal(transposed_->neighbours, neighbours)) transposed_->neighbours = neighbours;
  return *transposed_;
}

const Adjacency::DegreeScales& Adjacency::degree_scales(bool self_loops) const {
  DegreeScales& made = scales_[self_loops];
  if (made.target_inverse.defined()) return made;
  const auto count = [&](const torch::Tensor& degree) { return self_loops ? degree + 1 : degree.clamp_min(1); };
  const torch::Tensor targets_count = count(target_degree);
  made = {targets_count.reciprocal(), targets_count.rsqrt(),
          source_degree.defined() ? count(source_degree).rsqrt() : torch::Tensor()};
  return made;
}

RowPlanTensors* Adjacency::row_plan(bool transposed_wanted) const {
  if (whole_ != nullptr) return whole_->row_plan(transposed_wanted);
  if (!planned_) return nullptr;
  const bool use_transposed = transposed_wanted && !symmetric_;
  if (const auto made = row_plans_.find(use_transposed); made != row_plans_.end()) return &made->second;
  const torch::Tensor& rows = use_transposed ? transposed().offsets : offsets;
  const torch::Tensor on_host = rows.cpu();
  const RowPlan plan = plan_rows(on_host.const_data_ptr<int64_t>(), on_host.size(0) - 1, segment_length(edges()));
  const auto there = [&](const std::vector<int32_t>& numbers) { return at::tensor(numbers, torch::kInt32).to(rows.device()); };
  RowPlanTensors& result = row_plans_[use_transposed];
  result = {plan.longest,
            plan.cut_rows(),
            plan.segments(),
            there(plan.rows),
            there(plan.first_segment),
            there(plan.row_of_segment),
            {}};
  return &result;
}

torch::Tensor csr_tensor(const torch::Tensor& offsets, const torch::Tensor& columns, const torch::Tensor& values, int64_t width) {
  const SuppressTorchWarnings suppress;
  const auto index = columns.size(0) <= std::numeric_limits<int32_t>::max() ? torch::kInt32 : torch::kInt64;
  const auto options = values.options().layout(torch::kSparseCsr);
  return at::sparse_csr_tensor(offsets.to(index), columns.to(index), values, {offsets.size(0) - 1, width}, options);
}

const torch::Tensor& Adjacency::matrix(bool transposed_wanted, torch::Dtype dtype) const {
  const bool use_transposed = transposed_wanted && !symmetric_;
  torch::Tensor& made = matrices_[{use_transposed, dtype}];
  if (made.defined()) return made;
  const torch::Tensor& rows = use_transposed ? transposed().offsets : offsets;
  const torch::Tensor& columns = use_transposed ? transposed().neighbours : neighbours;
  const torch::Tensor& factors = use_transposed ? transposed().weights : weights;
  const torch::Tensor values = factors.defined() ? factors.to(dtype) : at::ones({edges()}, rows.options().dtype(dtype));
  made = csr_tensor(rows, columns, values, use_transposed ? targets() : sources());
  return made;
}

}  // namespace l0gm
