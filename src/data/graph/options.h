#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "l0gm/options.h"

namespace l0gm {

enum class GraphTaskKind { nodes, links };
template <>
inline constexpr auto enum_names<GraphTaskKind> = std::to_array<std::string_view>({"nodes", "links"});
enum class FeatureScale { automatic, raw, rows, standard };
template <>
inline constexpr auto enum_names<FeatureScale> = std::to_array<std::string_view>({"auto", "raw", "rows", "standard"});
enum class KeepBy { information, random };
template <>
inline constexpr auto enum_names<KeepBy> = std::to_array<std::string_view>({"information", "random"});
enum class Norm { none, batch, layer };
template <>
inline constexpr auto enum_names<Norm> = std::to_array<std::string_view>({"none", "batch", "layer"});
enum class Residual { none, linear };
template <>
inline constexpr auto enum_names<Residual> = std::to_array<std::string_view>({"none", "linear"});
enum class Aggregate { mean, max, pool };
template <>
inline constexpr auto enum_names<Aggregate> = std::to_array<std::string_view>({"mean", "max", "pool"});
enum class SamplerKind { full, neighbour, fastgcn, saint_node, saint_edge, saint_walk };
template <>
inline constexpr auto enum_names<SamplerKind> =
    std::to_array<std::string_view>({"full", "neighbour", "fastgcn", "saint-node", "saint-edge", "saint-walk"});
enum class GraphPrecision { float32, bfloat16 };
template <>
inline constexpr auto enum_names<GraphPrecision> = std::to_array<std::string_view>({"float32", "bfloat16"});

// Everything that only graphs have: how the data is read, how messages pass, how batches are drawn.
struct GraphOptions {
  GraphTaskKind task = GraphTaskKind::nodes;
  bool undirected = true;
  std::optional<bool> self_loops;
  FeatureScale features = FeatureScale::automatic;
  double keep_attributes = 1;
  KeepBy keep_by = KeepBy::information;
  double scale = 1;
  std::string cache;

  Norm norm = Norm::layer;
  Norm last_norm = Norm::batch;
  Residual residual = Residual::none;
  std::optional<int64_t> last_width;
  int64_t blocks = 16;
  Aggregate aggregate = Aggregate::mean;
  int64_t heads = 4;
  double attention_dropout = 0;
  double drop_edge = 0;

  SamplerKind sampler = SamplerKind::full;
  std::vector<int64_t> fanout = {15, 10, 5};
  int64_t layer_nodes = 4096;
  int64_t walk_length = 4;
  int64_t sampler_threads = 2;
  int64_t inference_rows = 0;
  GraphPrecision messages = GraphPrecision::float32;

  template <class Visitor>
  void visit(Visitor& v) {
    v("task", task, "what is learned: the class of each node, or which nodes are linked");
    v("undirected", undirected, "every edge counts in both directions; duplicates are merged either way");
    v("self_loops", self_loops, "every node also reads itself; unset: yes for `gcn` and `gat`. Loops in the data are dropped")
        .read_by("model.name = gcn | sage | gat");
    v("features", features,
      "how attributes are scaled: `rows` makes each node's sum of magnitudes 1, `standard` takes mean and deviation from "
      "training "
      "nodes; auto: `rows` where they are stored sparse, else `standard`");
    v("keep_attributes", keep_attributes,
      "share of the attributes that are read at all, picked before training (a control of `gate.attach = input`)",
      Limit{0, 1, true, false});
    v("keep_by", keep_by, "what picks them: mutual information with the class over training nodes, or chance");
    v("scale", scale, "`products-like`: size in proportion to the real graph", Limit{0, 100, true, false});
    v("cache", cache, "folder for converted graphs; default: below the user cache").path();
    v("norm", norm, "normalisation in hidden layers, before the activation");
    v("last_norm", last_norm,
      "the same in the last layer. With `layer` closed channels cannot be left out of the last convolution");
    v("residual", residual, "`linear` adds a linear map of each layer's input to its output");
    v("last_width", last_width, "channels of the last layer, the interface; unset: model.hidden", between(1, 65536));
    v("blocks", blocks, "`gate.unit = group`: into how many blocks of channels the interface is divided", between(1, 65536))
        .read_by("gate.unit = group");
    v("aggregate", aggregate, "`sage`: mean of the neighbours, their maximum, or the maximum of a learned map of them (pool)")
        .read_by("model.name = sage");
    v("heads", heads, "`gat`: attention heads; must divide the width of each layer", between(1, 256)).read_by("model.name = gat");
    v("attention_dropout", attention_dropout, "`gat`: dropout of single attention weights", Limit{0, 1, false, true})
        .read_by("model.name = gat");
    v("drop_edge", drop_edge, "share of the edges that each step leaves out; degrees are counted anew", Limit{0, 1, false, true})
        .read_by("model.name = gcn | sage | gat");
    v("sampler", sampler,
      "`full`: each step sees the whole graph; `neighbour`: fan-outs around train.batch nodes; `fastgcn`: nodes drawn layer by "
      "layer; "
      "`saint-…`: subgraphs of about train.batch nodes (node, edge, walk)");
    v("fanout", fanout,
      "`neighbour`: neighbours of each node, from the last layer to the first (numbers beyond the layers are not read); a single "
      "number serves all layers",
      between(1, 100000))
        .read_by("graph.sampler = neighbour");
    v("layer_nodes", layer_nodes, "`fastgcn`: nodes drawn for each layer", between(1, 100000000))
        .read_by("graph.sampler = fastgcn");
    v("walk_length", walk_length, "`saint-walk`: steps of each walk", between(1, 1000)).read_by("graph.sampler = saint-walk");
    v("sampler_threads", sampler_threads, "threads that draw batches while a step runs; 0: none", between(0, 256));
    v("inference_rows", inference_rows, "evaluation goes layer by layer in blocks of so many nodes; 0: all at once", at_least(0));
    v("messages", messages, "precision of what passes along edges; bfloat16 on a GPU only");
  }
};

enum class LinkScorer { dot, mlp };
template <>
inline constexpr auto enum_names<LinkScorer> = std::to_array<std::string_view>({"dot", "mlp"});

struct LinkOptions {
  LinkScorer scorer = LinkScorer::mlp;
  int64_t negatives = 1;
  int64_t ranked_negatives = 100;
  double valid = 0.05;
  double test = 0.10;

  template <class Visitor>
  void visit(Visitor& v) {
    v("scorer", scorer, "`graph.task = links`: scaled dot product of the two nodes, or a small net on their product");
    v("negatives", negatives, "pairs without an edge drawn for each edge of a training step", between(1, 1000));
    v("ranked_negatives", ranked_negatives, "pairs without an edge that each edge is ranked against (MRR, hits@k)",
      between(1, 100000));
    v("valid", valid, "share of the edges held out for validation", inside(0, 1));
    v("test", test, "share of the edges held out for the test", inside(0, 1));
  }
};

}  // namespace l0gm
