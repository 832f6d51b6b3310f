#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "l0gm/options.h"

namespace l0gm {

// How members differ from each other: in vectors, biases and the last layer, or in all weights of the head.
enum class EnsembleKind { batch, heads };
template <>
inline constexpr auto enum_names<EnsembleKind> = std::to_array<std::string_view>({"batch", "heads"});

struct ModelOptions {
  std::string name = "deepfm";
  int64_t width = 16;
  int64_t depth = 2;
  int64_t hidden = 256;
  double dropout = 0.2;
  double interface_dropout = 0.3;
  int64_t members = 1;
  EnsembleKind ensemble = EnsembleKind::batch;
  std::string init_from;

  template <class Visitor>
  void visit(Visitor& v) {
    v("name", name,
      "the model. Tables, by the branches whose logits are added: mlp: deep; linear: linear; fm: linear + pairs; "
      "wide-deep: linear + deep; deepfm: linear + pairs + deep; cin: cin; xdeepfm: linear + cin + deep. Graphs: gcn, sage, gat, "
      "or "
      "mlp, which reads no neighbours");
    v("width", width, "dimensions of each field's embedding", between(1, 4096));
    v("depth", depth, "hidden layers of the deep branch; graphs: layers of the encoder", between(0, 64));
    v("hidden", hidden, "units of each hidden layer", between(1, 65536));
    v("dropout", dropout, "dropout after each hidden layer", Limit{0, 1, false, true});
    v("interface_dropout", interface_dropout, "dropout of single interface elements", Limit{0, 1, false, true});
    v("members", members, "members of an ensemble that share one encoder and gate; their probabilities are averaged",
      between(1, 1024));
    v("ensemble", ensemble,
      "what members are. `batch`: they share the weights of each hidden layer of the deep branch and differ by vectors that "
      "multiply its inputs and outputs, by biases and by the last layer; the other branches are computed once for all. `heads`: "
      "each has weights of its own in every branch. Without hidden layers there is nothing to share: heads")
        .read_by("modality = table")
        .read_by("model.name = mlp | wide-deep | deepfm | xdeepfm");
    v("init_from", init_from,
      "a finished run whose weights are the start, of the same shapes; its gates are taken over where they fit; "
      "empty: drawn from train.seed")
        .path();
  }
};

struct FmOptions {
  bool weighted = true;

  template <class Visitor>
  void visit(Visitor& v) {
    v("weighted", weighted, "`fm`, `deepfm`: a learned weight for each pair of fields; false: the plain factorisation machine")
        .read_by("model.name = fm | deepfm");
  }
};

struct CinOptions {
  std::vector<int64_t> maps = {32, 32};
  int64_t rank = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("maps", maps, "`cin`, `xdeepfm`: feature maps of each depth", between(1, 4096)).read_by("model.name = cin | xdeepfm");
    v("rank", rank, "factors of each map's weights; 0: full weights", between(0, 4096)).read_by("model.name = cin | xdeepfm");
  }
};

}  // namespace l0gm
