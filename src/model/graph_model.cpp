#include "model/graph_model.h"

#include <ATen/Context.h>
#include <fmt/format.h>

#include "base/text.h"
#include "encoders/graph/graph_encoder.h"
#include "heads/deep.h"
#include "heads/link.h"
#include "heads/sum.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

const std::vector<std::pair<std::string, ConvolutionKind>>& graph_models() {
  static const std::vector<std::pair<std::string, ConvolutionKind>> models = {{"gcn", ConvolutionKind::gcn},
                                                                              {"sage", ConvolutionKind::sage},
                                                                              {"gat", ConvolutionKind::gat},
                                                                              {"mlp", ConvolutionKind::linear}};
  return models;
}

ConvolutionKind kind_of(const std::string& name) {
  for (const auto& [known, kind] : graph_models()) {
    if (known == name) return kind;
  }
  throw UserError(fmt::format("model.name is '{}', and a graph model is one of {}", name, join(graph_model_names(), ", ")));
}

GraphShape shape_of(const GraphFacts& facts, const GraphModelOptions& options) {
  const GraphOptions& graph = options.graph;
  if (options.model.depth < 1) throw UserError("model.depth is 0: a graph model has at least one layer");
  GraphShape shape;
  shape.attributes = static_cast<int64_t>(facts.attribute_names.size());
  shape.attribute_names = facts.attribute_names;
  shape.attribute_sizes = facts.attribute_sizes;
  shape.widths.assign(static_cast<size_t>(options.model.depth), options.model.hidden);
  shape.widths.back() = graph.last_width.value_or(options.model.hidden);
  shape.kind = kind_of(options.model.name);
  const bool loops = graph.self_loops.value_or(shape.kind == ConvolutionKind::gcn || shape.kind == ConvolutionKind::gat);
  shape.convolution = {
      loops, graph.aggregate, graph.heads, graph.attention_dropout, graph.messages == GraphPrecision::bfloat16, options.products};
  shape.norm = graph.norm;
  shape.last_norm = graph.last_norm;
  shape.residual = graph.residual;
  shape.dropout = options.model.dropout;
  shape.blocks = graph.blocks;
  return shape;
}

}  // namespace

std::vector<std::string> graph_model_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : graph_models()) names.push_back(name);
  return names;
}

std::shared_ptr<Model> make_graph_model(const GraphFacts& facts, const GraphModelOptions& options, const GateOptions& gate,
                                        uint64_t seed) {
  at::manual_seed(seed);
  auto encoder = std::make_shared<GraphEncoder>(shape_of(facts, options));
  if (options.graph.task == GraphTaskKind::links) {
    if (options.model.members != 1) throw UserError("model.members counts heads that classify nodes; graph.task = links has one");
    auto head = std::make_shared<LinkHead>(encoder->width(), options.link.scorer, options.model.hidden);
    return std::make_shared<Model>(encoder, head, options.model.interface_dropout, gate);
  }
  const std::vector<int64_t> classes = options.balanced ? std::vector<int64_t>(facts.class_rows.size(), 1) : facts.class_rows;
  auto head = std::make_shared<SumHead>(classes, options.model.members);
  const int64_t outputs = outputs_for(static_cast<int64_t>(classes.size()));
  head->add("linear", std::make_shared<DeepHead>(encoder->width(), 0, 0, outputs, options.model.members, 0));
  return std::make_shared<Model>(encoder, head, options.model.interface_dropout, gate);
}

}  // namespace l0gm
