#include "compact/fold_heads.h"

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

void fold_deep(const ModelProbe& probe, TableNet<Matrix>& net) {
  const DeepHead* deep = probe.deep();
  if (deep != nullptr) net.hidden = deep->biases().empty() ? 0 : deep->weights()[0].size(2);
  net.base = Matrix(1, net.wide_columns());
  const torch::Tensor bias = probe.sum().bias().to(torch::kFloat64).flatten();
  for (int64_t o = 0; o < net.logits(); ++o) net.base.at(0, net.first_logit() + o) = bias[o].item<double>();
  if (net.hidden == 0) return;
  const std::vector<torch::Tensor>& weights = deep->weights();
  const torch::Tensor first_bias = deep->biases()[0].to(torch::kFloat64).flatten();  // [members * hidden]
  for (int64_t i = 0; i < net.first_logit(); ++i) net.base.at(0, i) = first_bias[i].item<double>();
  for (size_t k = 1; k + 1 < weights.size(); ++k) {
    const int64_t in = weights[k].size(1), out = weights[k].size(2);
    net.layers.push_back({in, out, matrix_of(weights[k].reshape({-1, out})), matrix_of(deep->biases()[k].reshape({1, -1}))});
  }
  net.output = matrix_of(weights.back().transpose(1, 2).reshape({net.logits(), -1}));
}

torch::Tensor accumulator_map(const ModelProbe& probe, const TableNet<Matrix>& net) {
  torch::Tensor map = at::zeros({probe.width(), net.wide_columns()}, torch::kFloat64);
  if (const DeepHead* deep = probe.deep(); deep != nullptr) {
    const torch::Tensor first = deep->weights()[0].transpose(0, 1).reshape({probe.width(), -1});  // [width, members * hidden, or logits]
    map.narrow(1, net.hidden > 0 ? 0 : net.first_logit(), first.size(1)).add_(first);
  }
  if (const TermSumHead* terms = probe.term_sum(); terms != nullptr) {
    const int64_t fields = probe.encoder().embedded_fields(), statistics = probe.encoder().statistic_fields();
    torch::Tensor logits = map.narrow(1, net.first_logit(), net.logits());
    logits.narrow(0, 0, fields * net.logits()).add_(at::eye(net.logits(), torch::kFloat64).repeat({fields, 1}));
    if (statistics > 0) logits.narrow(0, fields * net.logits(), statistics).add_(terms->statistic_weights());
  }
  return map;
}

void fold_grid(const ModelProbe& probe, const torch::Tensor& open_dimensions, const std::vector<UnitSource>& units, TableNet<Matrix>& net) {
  const int64_t width = probe.encoder().field_width(), all_fields = probe.encoder().embedded_fields();
  const torch::Tensor open = open_dimensions.narrow(0, 0, all_fields * width).view({all_fields, width});
  std::vector<int64_t> fields, coordinates, field_place(static_cast<size_t>(all_fields), -1), coordinate_place(static_cast<size_t>(width), -1);
  const auto keep = [](std::vector<int64_t>& list, std::vector<int64_t>& place, int64_t i) {
    place[static_cast<size_t>(i)] = static_cast<int64_t>(list.size());
    list.push_back(i);
  };
  for (int64_t f = 0; f < all_fields; ++f) {
    if (open[f].any().item<bool>()) keep(fields, field_place, f);
  }
  for (int64_t d = 0; d < width; ++d) {
    if (open.select(1, d).any().item<bool>()) keep(coordinates, coordinate_place, d);
  }
  net.grid_fields = static_cast<int64_t>(fields.size());
  net.grid_coordinates = static_cast<int64_t>(coordinates.size());
  for (size_t u = 0; u < units.size(); ++u) {
    const int64_t d = units[u].dimension;
    if (d < 0 || d >= all_fields * width) continue;
    net.units[u].place = field_place[static_cast<size_t>(d / width)] * net.grid_coordinates + coordinate_place[static_cast<size_t>(d % width)];
  }
  if (const FmHead* head = probe.pairs(); head != nullptr) {
    net.pairs.present = true;
    if (head->pair_weights().defined()) {
      net.pairs.weighted = true;
      std::vector<int64_t> pairs;
      for (size_t i = 0; i < fields.size(); ++i) {
        for (size_t j = i + 1; j < fields.size(); ++j) {
          pairs.push_back(fields[i] * (2 * all_fields - fields[i] - 1) / 2 + fields[j] - fields[i] - 1);
        }
      }
      net.pairs.weights = matrix_of(head->pair_weights().index_select(1, indices(pairs)));
    } else if (head->coordinate_weights().defined()) {
      net.pairs.by_coordinate = true;
      net.pairs.coordinates = matrix_of(head->coordinate_weights().index_select(0, indices(coordinates)).t());
    }
  }
  if (const CinHead* head = probe.cin(); head != nullptr) {
    net.cin.present = true;
    int64_t before = 0;
    for (size_t k = 0; k < head->maps().size(); ++k) {
      const int64_t maps = head->maps()[k];
      torch::Tensor weights = head->full_weights(k).to(torch::kFloat64).index_select(0, indices(fields));  // [fields, H', H]
      if (k == 0) weights = weights.index_select(1, indices(fields));
      const torch::Tensor rows = weights.transpose(0, 1).reshape({-1, maps});  // row i * fields + j
      const torch::Tensor output = head->output().to(torch::kFloat64).narrow(0, before, maps).t();  // [logits, maps]
      if (k + 1 == head->maps().size()) {
        net.cin.last = matrix_of(at::matmul(output, rows.t()));
      } else {
        net.cin.maps.push_back(maps);
        net.cin.weights.push_back(matrix_of(rows));
        net.cin.pooled.push_back(matrix_of(output));
      }
      before += maps;
    }
  }
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
  if (probe.state().keep < 1) logits = logits.masked_fill(gate->keep_mask(probe.state().keep).eq(0), never_open);
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
