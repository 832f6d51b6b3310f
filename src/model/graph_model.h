#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/graph/options.h"
#include "encoders/matmul.h"
#include "model/model.h"
#include "model/options.h"

namespace l0gm {

// Everything a graph model is built from beside its gate.
struct GraphModelOptions {
  ModelOptions model;
  GraphOptions graph;
  LinkOptions link;
  bool balanced = false;              // classes weigh the same in the loss: logits start at equal odds, else at the base rate
  Matmul products = Matmul::float32;  // of the encoder
};

// What a model has to know of its graph.
struct GraphFacts {
  std::vector<std::string> attribute_names;
  std::vector<float> attribute_sizes;  // mean magnitudes; empty: all alike
  std::vector<int64_t> class_rows;     // training nodes of each class
};

std::vector<std::string> graph_model_names();

// A graph model, its parameters drawn from `seed`.
std::shared_ptr<Model> make_graph_model(const GraphFacts& facts, const GraphModelOptions& options, const GateOptions& gate,
                                        uint64_t seed);

}  // namespace l0gm
