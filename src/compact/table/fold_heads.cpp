#include "compact/table/fold_heads.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace l0gm {

namespace {

Matrix matrix_of(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.to(torch::kFloat64).contiguous();
  Matrix matrix(plain.size(0), plain.size(1));
  std::copy(plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel(), matrix.values.begin());
  return matrix;
}

torch::Tensor indices(const std::vector<int64_t>& values) { return at::tensor(values, torch::kInt64); }

}  // namespace

namespace {

// The layers stay shared, with each member's vectors; what of the first is folded with the embedding tables is decided there.
void fold_batch(const ModelProbe& probe, TableNet<Matrix>& net) {
  const BatchEnsembleHead::Layers open = probe.batch_layers();
  const std::vector<BatchEnsembleHead::Layer>& layers = open.hidden;
  net.shared = true;
  net.hidden = layers[0].weight.size(1);
  net.base = Matrix(1, net.wide_columns());
  const Matrix bias = matrix_of(layers[0].bias);
  std::copy(bias.values.begin(), bias.values.end(), net.base.values.begin());
  net.first.out_factors = matrix_of(layers[0].out_factors);
  for (size_t k = 1; k < layers.size(); ++k) {
    const BatchEnsembleHead::Layer& layer = layers[k];
    net.layers.push_back({layer.weight.size(0), layer.weight.size(1), matrix_of(layer.weight),
                          matrix_of(layer.bias.reshape({1, -1})), matrix_of(layer.in_factors), matrix_of(layer.out_factors)});
  }
  net.output = matrix_of(open.output.transpose(1, 2).reshape({net.logits(), -1}));
  net.output_bias = matrix_of(probe.sum().bias().reshape({1, -1}));
}

}  // namespace

void fold_deep(const ModelProbe& probe, TableNet<Matrix>& net) {
  if (probe.batch() != nullptr) return fold_batch(probe, net);
  const DeepHead::Layers deep = probe.deep() != nullptr ? probe.deep_layers() : DeepHead::Layers{};
  net.hidden = deep.biases.empty() ? 0 : deep.weights[0].size(2);
  net.base = Matrix(1, net.wide_columns());
  const torch::Tensor bias = probe.sum().bias().to(torch::kFloat64).flatten();
  for (int64_t o = 0; o < net.logits(); ++o) net.base.at(0, net.first_logit() + o) = bias[o].item<double>();
  if (net.hidden == 0) return;
  const std::vector<torch::Tensor>& weights = deep.weights;
  const torch::Tensor first_bias = deep.biases[0].to(torch::kFloat64).flatten();  // [members * hidden]
  for (int64_t i = 0; i < net.first_logit(); ++i) net.base.at(0, i) = first_bias[i].item<double>();
  for (size_t k = 1; k + 1 < weights.size(); ++k) {
    const int64_t in = weights[k].size(1), out = weights[k].size(2);
    net.layers.push_back({in, out, matrix_of(weights[k].reshape({-1, out})), matrix_of(deep.biases[k].reshape({1, -1})), {}, {}});
  }
  net.output = matrix_of(weights.back().transpose(1, 2).reshape({net.logits(), -1}));
}

torch::Tensor accumulator_map(const ModelProbe& probe, const TableNet<Matrix>& net) {
  torch::Tensor map = at::zeros({probe.width(), net.wide_columns()}, torch::kFloat64);
  if (probe.deep() != nullptr) {
    const torch::Tensor first =
        probe.deep_layers().weights[0].transpose(0, 1).reshape({probe.width(), -1});  // [width, members * hidden, or logits]
    map.narrow(1, net.hidden > 0 ? 0 : net.first_logit(), first.size(1)).add_(first);
  }
  if (probe.batch() != nullptr) {
    const BatchEnsembleHead::Layer layer = probe.batch_layers().hidden[0];
    const torch::Tensor by_member = layer.in_factors.t().unsqueeze(2) * layer.weight.unsqueeze(1) * layer.out_factors;
    map.narrow(1, 0, net.first_logit()).add_(by_member.reshape({probe.width(), -1}));
  }
  if (const TermSumHead* terms = probe.term_sum(); terms != nullptr) {
    const int64_t fields = probe.encoder().embedded_fields(), statistics = probe.encoder().statistic_fields();
    torch::Tensor logits = map.narrow(1, net.first_logit(), net.logits());
    logits.narrow(0, 0, fields * net.logits()).add_(at::eye(net.logits(), torch::kFloat64).repeat({fields, 1}));
    if (statistics > 0) logits.narrow(0, fields * net.logits(), statistics).add_(terms->statistic_weights());
  }
  return map;
}

namespace {

// The fields and coordinates that have an open dimension, and where each stands on the grid; -1: nowhere.
struct GridParts {
  std::vector<int64_t> fields, coordinates, field_place, coordinate_place;

  explicit GridParts(const torch::Tensor& open)  // bool [fields, coordinates]
      : field_place(static_cast<size_t>(open.size(0)), -1), coordinate_place(static_cast<size_t>(open.size(1)), -1) {
    const auto keep = [](std::vector<int64_t>& list, std::vector<int64_t>& place, int64_t i) {
      place[static_cast<size_t>(i)] = static_cast<int64_t>(list.size());
      list.push_back(i);
    };
    for (int64_t f = 0; f < open.size(0); ++f) {
      if (open[f].any().item<bool>()) keep(fields, field_place, f);
    }
    for (int64_t d = 0; d < open.size(1); ++d) {
      if (open.select(1, d).any().item<bool>()) keep(coordinates, coordinate_place, d);
    }
  }
};

void fold_pairs(const FmHead& head, const GridParts& parts, NetPairs<Matrix>& pairs) {
  pairs.present = true;
  pairs.weighted = head.pair_weights().defined();
  pairs.by_coordinate = head.coordinate_weights().defined();
  if (pairs.by_coordinate)
    pairs.coordinates = matrix_of(head.coordinate_weights().index_select(0, indices(parts.coordinates)).t());
  if (!pairs.weighted) return;
  const auto all_fields = static_cast<int64_t>(parts.field_place.size());
  std::vector<int64_t> left;  // their numbers among the pairs of all fields
  for (size_t i = 0; i < parts.fields.size(); ++i) {
    const int64_t first = parts.fields[i];
    for (size_t j = i + 1; j < parts.fields.size(); ++j)
      left.push_back(first * (2 * all_fields - first - 1) / 2 + parts.fields[j] - first - 1);
  }
  pairs.weights = matrix_of(head.pair_weights().index_select(1, indices(left)));
}

void fold_cin(const CinHead& head, const GridParts& parts, NetCin<Matrix>& cin) {
  cin.present = true;
  int64_t before = 0;
  for (size_t k = 0; k < head.maps().size(); ++k) {
    const int64_t maps = head.maps()[k];
    torch::Tensor weights = head.full_weights(k).to(torch::kFloat64).index_select(0, indices(parts.fields));  // [fields, H', H]
    if (k == 0) weights = weights.index_select(1, indices(parts.fields));
    const torch::Tensor rows = weights.transpose(0, 1).reshape({-1, maps});                      // row i * fields + j
    const torch::Tensor output = head.output().to(torch::kFloat64).narrow(0, before, maps).t();  // [logits, maps]
    before += maps;
    if (k + 1 == head.maps().size()) {
      cin.last = matrix_of(at::matmul(output, rows.t()));
    } else {
      cin.maps.push_back(maps);
      cin.weights.push_back(matrix_of(rows));
      cin.pooled.push_back(matrix_of(output));
    }
  }
}

}  // namespace

void fold_grid(const ModelProbe& probe, const torch::Tensor& open_dimensions, const std::vector<UnitSource>& units,
               TableNet<Matrix>& net) {
  const int64_t width = probe.encoder().field_width(), fields = probe.encoder().embedded_fields();
  const GridParts parts(open_dimensions.narrow(0, 0, fields * width).view({fields, width}));
  net.grid_fields = static_cast<int64_t>(parts.fields.size());
  net.grid_coordinates = static_cast<int64_t>(parts.coordinates.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const int64_t d = units[u].dimension;
    if (d < 0 || d >= fields * width) continue;
    net.units[u].place = parts.field_place[static_cast<size_t>(d / width)] * net.grid_coordinates +
                         parts.coordinate_place[static_cast<size_t>(d % width)];
  }
  if (net.grid_fields == 0) return;  // statistics alone are open: pairs and maps of nothing are 0
  if (probe.pairs() != nullptr) fold_pairs(*probe.pairs(), parts, net.pairs);
  if (probe.cin() != nullptr) fold_cin(*probe.cin(), parts, net.cin);
}

namespace {

// Further than any map can carry a logit: closed for every example.
constexpr double never_open = -1e30;

// The gate of each interface dimension.
torch::Tensor gate_of_dimension(const ModelProbe& probe) {
  const GateSite& site = *probe.site();
  return site.index.defined() ? site.index.to(torch::kCPU) : at::arange(probe.width(), torch::kInt64);
}

// Gates of the dimensions that a source (a column with all its encodings, a pair of columns) has.
std::vector<int64_t> gates_of_source(const ModelProbe& probe, const torch::Tensor& gate_of, int64_t source) {
  const FieldEmbeddings& encoder = probe.encoder();
  std::vector<int64_t> gates;
  int64_t d = 0;
  for (size_t f = 0; f < probe.schema().fields.size(); ++f) {
    const int64_t dimensions = static_cast<int64_t>(f) < encoder.embedded_fields() ? encoder.field_width() : 1;
    for (int64_t i = 0; i < dimensions; ++i, ++d) {
      if (encoder.source_of_field()[f] == source) gates.push_back(gate_of[d].item<int64_t>());
    }
  }
  std::sort(gates.begin(), gates.end());
  gates.erase(std::unique(gates.begin(), gates.end()), gates.end());
  return gates;
}

}  // namespace

void fold_gate(const ModelProbe& probe, const std::vector<UnitSource>& units, TableNet<Matrix>& net) {
  const HardConcrete& gate = probe.site()->gate;
  const GateOptions& options = gate->options();
  const double tau = probe.state().tau;
  const torch::Tensor alive = gate->ever_open(probe.state()).to(torch::kCPU), gate_of = gate_of_dimension(probe);
  const torch::Tensor kept = alive.nonzero().flatten();
  std::vector<int64_t> place(static_cast<size_t>(gate->units()), -1);
  for (int64_t g = 0; g < kept.size(0); ++g) place[static_cast<size_t>(kept[g].item<int64_t>())] = g;

  NetGate<Matrix>& folded = net.gate;
  folded.present = true;
  folded.gates = kept.size(0);
  const HardConcreteImpl::Map map = gate->map();
  folded.rank = map.in.defined() ? map.in.size(1) : 0;
  torch::Tensor logits = gate->logits().to(torch::kFloat64);
  if (probe.state().keep < 1) logits = logits.masked_fill(gate->keep_mask(probe.state()).eq(0), never_open);
  folded.logits = matrix_of(logits.index_select(0, kept).unsqueeze(0));
  folded.range = matrix_of(gate->range().index_select(0, kept).unsqueeze(0));
  folded.step = options.test_rule == TestRule::threshold;
  folded.threshold = gate->open_logit(tau);
  folded.scale = options.test_rule == TestRule::median ? tau : 1;
  folded.gamma = options.gamma;
  folded.zeta = options.zeta;

  // Dimensions alone are read by the map; the rows of linear terms are zero.
  const torch::Tensor reads = folded.rank > 0 ? map.in : map.out.index_select(1, kept);
  torch::Tensor rows = at::zeros({static_cast<int64_t>(units.size()), reads.size(1)}, torch::kFloat64);
  folded.gate_begin.push_back(0);
  for (size_t u = 0; u < units.size(); ++u) {
    const int64_t d = units[u].dimension;
    std::vector<int64_t> gates;
    if (d >= 0) {
      rows.select(0, static_cast<int64_t>(u)).copy_(reads.select(0, d));
      gates = {gate_of[d].item<int64_t>()};
    } else {
      gates = gates_of_source(probe, gate_of, units[u].gate_source);
    }
    for (const int64_t g : gates) {
      if (place[static_cast<size_t>(g)] >= 0) folded.gate_of_unit.push_back(place[static_cast<size_t>(g)]);
    }
    folded.gate_begin.push_back(static_cast<int64_t>(folded.gate_of_unit.size()));
  }
  if (folded.rank > 0) {
    folded.map_in = matrix_of(rows);
    folded.map_out = matrix_of(map.out.index_select(1, kept));
  } else {
    folded.map_out = matrix_of(rows);
  }
}

}  // namespace l0gm
