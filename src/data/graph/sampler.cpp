#include "data/graph/sampler.h"

#include <fmt/format.h>

#include <stdexcept>

#include "data/graph/fastgcn_sampler.h"
#include "data/graph/neighbour_sampler.h"
#include "data/graph/saint_sampler.h"
#include "l0gm/error.h"

namespace l0gm {

std::unique_ptr<GraphSampler> make_sampler(const Graph& graph, const GraphOptions& options, int64_t layers, int64_t batch,
                                           uint64_t seed) {
  if (batch < 1) throw UserError(fmt::format("train.batch is {}; a sampler wants at least 1 node", batch));
  if (graph.train.empty()) {
    throw UserError(fmt::format("graph '{}' has no training node to draw batches from; name some in its split", graph.name));
  }
  switch (options.sampler) {
    case SamplerKind::neighbour:
      return std::make_unique<NeighbourSampler>(graph, options, layers, batch, seed);
    case SamplerKind::fastgcn:
      return std::make_unique<FastGcnSampler>(graph, options, layers, batch, seed);
    case SamplerKind::saint_node:
    case SamplerKind::saint_edge:
    case SamplerKind::saint_walk:
      return std::make_unique<SaintSampler>(graph, options, layers, batch, seed);
    case SamplerKind::full:
      break;
  }
  throw std::invalid_argument("the full graph is not sampled");
}

}  // namespace l0gm
