#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/json_checks.h"
#include "compact/graph/graph_file.h"
#include "heads/deep.h"
#include "heads/link.h"
#include "heads/sum.h"
#include "runtime/manifest.h"
#include "runtime/manifest_net.h"
#include "training/graph/graph_task.h"

namespace l0gm {

namespace {

using nlohmann::json;
using namespace json_checks;

// Far above what is trained, low enough that no sum of products overflows.
constexpr int64_t most_attributes = int64_t{1} << 26, most_width = int64_t{1} << 17, most_layers = 64, most_heads = 256;

bool ascends(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

void read_layers(const json& value, GraphShape& shape) {
  const json& layers = array(value, "net", "layers");
  if (layers.empty() || static_cast<int64_t>(layers.size()) > most_layers)
    refuse("net", fmt::format("it has {} layers", layers.size()));
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string where = fmt::format("net layer {}", i);
    refuse_other_keys(layers[i], where, {"width", "norm", "heads", "pool"});
    const auto norm = enumerator<Norm>(layers[i], where, "norm");
    const bool last = i + 1 == layers.size();
    if (last)
      shape.last_norm = norm;
    else if (i > 0 && norm != shape.norm)
      refuse(where, "hidden layers have different norms");
    else
      shape.norm = norm;
    const int64_t width = count(layers[i], where, "width", 1, most_width);
    shape.widths.push_back(width);
    NarrowedOutputs& left = shape.narrowed.emplace_back();
    if (shape.kind == ConvolutionKind::gat && layers[i].contains("heads")) {
      left.heads = counts(layers[i], where, "heads", 0, width);
      const bool fits = static_cast<int64_t>(left.heads.size()) == shape.convolution.heads &&
                        std::accumulate(left.heads.begin(), left.heads.end(), int64_t{0}) == width;
      if (!fits) refuse(where, fmt::format("'heads' are not {} numbers with the sum {}", shape.convolution.heads, width));
    }
    if (shape.kind == ConvolutionKind::sage && layers[i].contains("pool"))
      left.pool = count(layers[i], where, "pool", 1, most_width);
  }
}

int64_t convolution_parameters(const GraphShape& shape, size_t layer, int64_t inputs) {
  const int64_t outputs = shape.widths[layer];
  const NarrowedOutputs left = shape.narrowed.empty() ? NarrowedOutputs{} : shape.narrowed[layer];
  switch (shape.kind) {
    case ConvolutionKind::linear:
    case ConvolutionKind::gcn:
      return inputs * outputs + outputs;
    case ConvolutionKind::sage: {
      if (shape.convolution.aggregate != Aggregate::pool) return 2 * inputs * outputs + outputs;
      const int64_t pool = left.pool > 0 ? left.pool : outputs;
      return inputs * pool + pool + pool * outputs + inputs * outputs + outputs;
    }
    case ConvolutionKind::gat:
      return inputs * outputs + outputs + (left.heads.empty() ? 2 * outputs : 2 * inputs * shape.convolution.heads);
  }
  return 0;
}

}  // namespace

int64_t GraphNet::numbers() const {
  int64_t statistics = 0;  // mean and variance of each channel behind a batch norm
  for (size_t i = 0; i < encoder.widths.size(); ++i) {
    if (encoder.norm_of(i) == Norm::batch) statistics += 2 * encoder.widths[i];
  }
  return parameters() + statistics;
}

int64_t GraphNet::head_parameters() const {
  if (!scorer) return members * outputs_for(classes) * (1 + head_width());
  return *scorer == LinkScorer::dot ? head_width() + 1 : head_width() * scorer_hidden + 2 * scorer_hidden + 1;
}

int64_t GraphNet::parameters() const {
  int64_t sum = head_parameters(), inputs = encoder.attributes;
  for (size_t i = 0; i < encoder.widths.size(); ++i) {
    const int64_t width = encoder.widths[i], of_norm = encoder.norm_of(i) == Norm::none ? 0 : 2;
    sum += convolution_parameters(encoder, i, inputs) + of_norm * width +
           (encoder.residual == Residual::linear ? inputs * width : 0);
    inputs = width;
  }
  return sum;
}

json GraphNet::to_json() const {
  const ConvolutionOptions& options = encoder.convolution;
  json layers = json::array();
  for (size_t i = 0; i < encoder.widths.size(); ++i) {
    json layer = {{"width", encoder.widths[i]}, {"norm", name_of_enum(encoder.norm_of(i))}};
    const NarrowedOutputs left = encoder.narrowed.empty() ? NarrowedOutputs{} : encoder.narrowed[i];
    if (!left.heads.empty()) layer["heads"] = left.heads;
    if (left.pool > 0) layer["pool"] = left.pool;
    layers.push_back(layer);
  }
  json result = {{"kind", name_of_enum(encoder.kind)},
                 {"attributes", encoder.attributes},
                 {"layers", layers},
                 {"residual", name_of_enum(encoder.residual)},
                 {"self_loops", options.self_loops},
                 {"members", members},
                 {"selected", selected}};
  if (encoder.kind == ConvolutionKind::sage) result["aggregate"] = name_of_enum(options.aggregate);
  if (encoder.kind == ConvolutionKind::gat) result["heads"] = options.heads;
  if (scorer) result["scorer"] = {{"kind", name_of_enum(*scorer)}, {"hidden", scorer_hidden}};
  return result;
}

GraphNet GraphNet::from_json(const json& value, const GraphInputs& inputs, int64_t classes) {
  GraphNet net;
  net.classes = classes;
  net.members = count(value, "net", "members", 1, limits::members);
  GraphShape& shape = net.encoder;
  shape.kind = enumerator<ConvolutionKind>(value, "net", "kind");
  shape.attributes = count(value, "net", "attributes", 1, most_attributes);
  if (shape.attributes != inputs.width())
    refuse("net", fmt::format("it reads {} attributes, its inputs give {}", shape.attributes, inputs.width()));
  shape.residual = enumerator<Residual>(value, "net", "residual");
  shape.convolution.self_loops = flag(value, "net", "self_loops");
  if (shape.kind == ConvolutionKind::sage) shape.convolution.aggregate = enumerator<Aggregate>(value, "net", "aggregate");
  if (shape.kind == ConvolutionKind::gat) shape.convolution.heads = count(value, "net", "heads", 1, most_heads);
  read_layers(value, shape);
  net.selected = counts(value, "net", "selected", 0, shape.widths.back() - 1);
  if (!ascends(net.selected)) refuse("net", "'selected' does not ascend");
  if (value.contains("scorer")) {
    const json& scorer = member(value, "net", "scorer");
    net.scorer = enumerator<LinkScorer>(scorer, "scorer", "kind");
    net.scorer_hidden = count(scorer, "scorer", "hidden", *net.scorer == LinkScorer::dot ? 0 : 1, most_width);
    if (classes != 2) refuse("net", fmt::format("it scores pairs of nodes and has {} classes, wanted 2", classes));
  }
  return net;
}

GraphNet net_of(Model& model, int64_t classes) {
  GraphNet net;
  net.encoder = graph_encoder(model).shape();
  net.classes = classes;
  if (const auto* link = dynamic_cast<const LinkHead*>(&model.head())) {
    net.scorer = link->scorer();
    net.scorer_hidden = link->hidden();
  } else {
    net.members = dynamic_cast<const SumHead&>(model.head()).bias().size(0);
  }
  if (model.selected().defined()) {
    const torch::Tensor kept = model.selected().cpu();
    net.selected.assign(kept.data_ptr<int64_t>(), kept.data_ptr<int64_t>() + kept.numel());
  }
  return net;
}

std::shared_ptr<Model> make_model(const GraphNet& net) {
  GraphShape shape = net.encoder;
  shape.attribute_names.clear();  // a model that is only asked does without
  for (int64_t i = 0; i < shape.attributes; ++i) shape.attribute_names.push_back(std::to_string(i));
  auto encoder = std::make_shared<GraphEncoder>(shape);
  std::shared_ptr<Head> head;
  if (net.scorer) {
    head = std::make_shared<LinkHead>(net.head_width(), *net.scorer, net.scorer_hidden);
  } else {
    auto sum = std::make_shared<SumHead>(std::vector<int64_t>(static_cast<size_t>(net.classes), 1), net.members);
    sum->add("linear", std::make_shared<DeepHead>(net.head_width(), 0, 0, outputs_for(net.classes), net.members, 0));
    head = sum;
  }
  GateOptions none;
  none.unit = UnitKind::none;
  auto model = std::make_shared<Model>(encoder, head, 0, none);
  if (!net.selected.empty()) model->select(at::tensor(net.selected, torch::kInt64));
  return model;
}

}  // namespace l0gm
