#pragma once

#include <ATen/Functions.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/random.h"
#include "batches/graph/adjacency.h"

namespace l0gm::testing_tools {

struct ToyBlock {
  int64_t targets = 7, sources = 9;
  double density = 0.4;
  bool weighted = false, own = false, symmetric = false;
  uint64_t seed = 1;
};

// A random block; its first target and its last source have no edges.
inline std::shared_ptr<MessageBlock> toy_block(const ToyBlock& toy) {
  auto block = std::make_shared<MessageBlock>();
  block->targets = toy.targets;
  block->sources = toy.sources;
  block->symmetric = toy.symmetric;
  const auto drawn = [&](int64_t v, int64_t u) {
    return static_cast<float>(RandomStream(toy.seed, static_cast<uint64_t>(v * toy.sources + u)).uniform());
  };
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> neighbours, own;
  std::vector<float> weights;
  for (int64_t v = 0; v < toy.targets; ++v) {
    for (int64_t u = 0; u < toy.sources; ++u) {
      const int64_t low = toy.symmetric ? std::min(u, v) : v, high = toy.symmetric ? std::max(u, v) : u;
      const bool isolated = v == 0 || u == toy.sources - 1 || (toy.symmetric && (u == 0 || v == u || v == toy.sources - 1));
      if (isolated || drawn(low, high) >= toy.density) continue;
      neighbours.push_back(static_cast<int32_t>(u));
      weights.push_back(1 + drawn(low + 100, high));
    }
    offsets.push_back(static_cast<int64_t>(neighbours.size()));
    own.push_back(static_cast<int32_t>(toy.sources - 1 - v));
  }
  block->offsets = offsets;
  block->neighbours = neighbours;
  if (toy.weighted) block->weights = weights;
  if (toy.own) block->own = own;
  return block;
}

inline std::shared_ptr<Adjacency> toy_adjacency(const ToyBlock& toy, torch::Dtype dtype = torch::kFloat64) {
  return Adjacency::of(toy_block(toy), torch::kCPU, dtype);
}

// The same as a dense matrix, read from the block itself.
inline torch::Tensor dense_matrix(const MessageBlock& block) {
  torch::Tensor dense = at::zeros({block.targets, block.sources}, torch::kFloat64);
  auto entries = dense.accessor<double, 2>();
  for (int64_t v = 0; v < block.targets; ++v) {
    for (int64_t e = block.offsets[v]; e < block.offsets[v + 1]; ++e) {
      entries[v][block.neighbours[e]] += block.weights.empty() ? 1.0 : static_cast<double>(block.weights[e]);
    }
  }
  return dense;
}

// 1 where a target's own source is.
inline torch::Tensor own_matrix(const MessageBlock& block) {
  torch::Tensor dense = at::zeros({block.targets, block.sources}, torch::kFloat64);
  for (int64_t v = 0; v < block.targets; ++v) dense[v][block.own.empty() ? v : block.own[v]] = 1;
  return dense;
}

// Numbers that differ from each other.
inline torch::Tensor numbers(at::IntArrayRef shape, uint64_t seed = 5) {
  RandomStream stream(seed);
  torch::Tensor result = at::empty(shape, torch::kFloat64);
  for (int64_t i = 0; i < result.numel(); ++i) result.data_ptr<double>()[i] = stream.normal();
  return result;
}

inline double max_abs_difference(const torch::Tensor& a, const torch::Tensor& b) {
  if (a.sizes() != b.sizes()) return 1e30;
  return a.numel() == 0 ? 0 : (a.to(torch::kFloat64) - b.to(torch::kFloat64)).abs().max().item<double>();
}

}  // namespace l0gm::testing_tools
