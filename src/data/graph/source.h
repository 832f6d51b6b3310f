#pragma once

#include "data/graph/graph.h"
#include "data/graph/options.h"
#include "data/options.h"

namespace l0gm {

// The graph that `data.*` and `graph.*` name: a catalogue dataset, a made one, or the user's own (`ogb`, `npz`, `graph`).
// Converted graphs are kept in a cache (data/graph/cache.h). Drawn splits and made graphs follow data.split.seed.
Graph load_graph(const DataOptions& options, const GraphOptions& graph);
// The same for prediction: your own graph (`graph`) needs no data.labels, and then has neither classes nor a split.
Graph load_graph_to_predict(const DataOptions& options, const GraphOptions& graph);

}  // namespace l0gm
