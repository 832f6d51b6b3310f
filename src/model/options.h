#pragma once

#include "l0gm/options.h"

namespace l0gm {

enum class ModelName { mlp };
template <>
inline constexpr auto enum_names<ModelName> = std::to_array<std::string_view>({"mlp"});

struct ModelOptions {
  ModelName name = ModelName::mlp;
  int64_t width = 16;
  int64_t depth = 2;
  int64_t hidden = 256;
  double dropout = 0.2;
  double interface_dropout = 0.2;
  int64_t members = 1;

  template <class Visitor>
  void visit(Visitor& v) {
    v("name", name, "the backbone; tables: `mlp` over field embeddings");
    v("width", width, "dimensions of each field's embedding", between(1, 4096));
    v("depth", depth, "hidden layers of the head", between(0, 64));
    v("hidden", hidden, "units of each hidden layer", between(1, 65536));
    v("dropout", dropout, "dropout after each hidden layer", Limit{0, 1, false, true});
    v("interface_dropout", interface_dropout, "dropout of single interface elements", Limit{0, 1, false, true});
    v("members", members, "heads that share one encoder and gate; their probabilities are averaged", between(1, 1024));
  }
};

}  // namespace l0gm
