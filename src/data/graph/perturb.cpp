#include "data/graph/perturb.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/threads.h"
#include "data/graph/attribute_statistics.h"
#include "data/graph/cache.h"

namespace l0gm {
namespace {

// Perturbs dense rows.
class RowPerturber {
 public:
  RowPerturber(const Graph& graph, const Perturbation& perturbation, uint64_t seed)
      : perturbation_(perturbation), key_(mix_key(seed, perturbation_key(perturbation.name))) {
    if (perturbation.damage == Damage::noise || perturbation.damage == Damage::quantise)
      statistics_ = attribute_statistics(graph);
  }

  void apply(int64_t node, std::span<float> row, std::vector<float>& draws) const {
    switch (perturbation_.damage) {
      case Damage::missing:
        return empty_some(node, row, draws);
      case Damage::noise:
        return add_noise(node, row, draws);
      case Damage::quantise:
        return quantise(row);
      case Damage::occlude:
        return empty_block(node, row);
    }
  }

  // Whether a 0 always stays 0.
  bool keeps_zeros(int64_t attributes) const {
    if (perturbation_.damage == Damage::noise) return false;
    if (perturbation_.damage != Damage::quantise) return true;
    std::vector<float> zeros(static_cast<size_t>(attributes), 0.0F);
    quantise(zeros);
    return std::all_of(zeros.begin(), zeros.end(), [](float value) { return value == 0; });
  }

 private:
  void empty_some(int64_t node, std::span<float> row, std::vector<float>& draws) const {
    draws.resize(row.size());
    fill_uniform(key_, &node, 1, static_cast<int64_t>(row.size()), draws.data());
    for (size_t j = 0; j < row.size(); ++j) {
      if (draws[j] < perturbation_.amount) row[j] = 0;
    }
  }

  void add_noise(int64_t node, std::span<float> row, std::vector<float>& draws) const {
    draws.resize(2 * row.size());  // two uniform numbers for each normal one, which then depends only on node and attribute
    fill_uniform(key_, &node, 1, static_cast<int64_t>(draws.size()), draws.data());
    constexpr double most = std::numeric_limits<float>::max();  // huge values must not become infinite
    for (size_t j = 0; j < row.size(); ++j) {
      const float normal = box_muller(draws[2 * j], draws[2 * j + 1])[0];
      const double moved = row[j] + perturbation_.amount * statistics_.deviation[j] * normal;
      row[j] = static_cast<float>(std::clamp(moved, -most, most));
    }
  }

  void quantise(std::span<float> row) const {
    for (size_t j = 0; j < row.size(); ++j) {
      row[j] = static_cast<float>(nearest_level(statistics_.low[j], statistics_.high[j], row[j], perturbation_.amount)) +
               0.0F;  // -0 becomes 0
    }
  }

  void empty_block(int64_t node, std::span<float> row) const {
    const auto [begin, length] = draw_block(row.size(), perturbation_.amount, RandomStream(key_, static_cast<uint64_t>(node)));
    std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(begin), length, 0.0F);
  }

  Perturbation perturbation_;
  uint64_t key_;
  AttributeStatistics statistics_;
};

}  // namespace

Graph perturb_attributes(const Graph& graph, const Perturbation& perturbation, uint64_t seed, Nodes perturbed_nodes) {
  const RowPerturber perturber(graph, perturbation, seed);
  std::vector<bool> training(static_cast<size_t>(graph.nodes), false);
  if (perturbed_nodes == Nodes::outside_training) {
    for (const int64_t node : graph.train) training[static_cast<size_t>(node)] = true;
  }

  Graph perturbed = graph;
  const auto width = static_cast<size_t>(graph.attributes);
  const bool sparse = graph.is_sparse() && perturber.keeps_zeros(graph.attributes);
  // Sparse rows keep their structure: emptied values are stored as 0.
  std::vector<float> values(sparse ? static_cast<size_t>(graph.sparse.values.size()) : static_cast<size_t>(graph.nodes) * width);
  parallel_for(graph.nodes, 1 << 8, [&](int64_t begin, int64_t end) {
    std::vector<float> row(width), draws;
    for (int64_t node = begin; node < end; ++node) {
      write_attributes(graph, node, row);
      if (!training[static_cast<size_t>(node)]) perturber.apply(node, row, draws);
      if (!sparse) {
        std::copy(row.begin(), row.end(), values.begin() + node * graph.attributes);
        continue;
      }
      for (int64_t i = graph.sparse.offsets[node]; i < graph.sparse.offsets[node + 1]; ++i) {
        values[static_cast<size_t>(i)] = row[static_cast<size_t>(graph.sparse.columns[i])];
      }
    }
  });
  if (sparse) {
    perturbed.sparse.values = std::move(values);
  } else {
    perturbed.sparse = {};
    perturbed.dense = std::move(values);
  }
  return perturbed;
}

std::string hash_of_attributes(const Graph& graph) {
  const auto bytes = [](const auto& array) {
    return std::string_view(reinterpret_cast<const char*>(array.data()), static_cast<size_t>(array.size()) * sizeof(array[0]));
  };
  Sha256 digest;
  for (const std::string_view part :
       {bytes(graph.dense), bytes(graph.sparse.offsets), bytes(graph.sparse.columns), bytes(graph.sparse.values)}) {
    digest.update(part.data(), part.size());
  }
  return digest.hex();
}

nlohmann::json export_perturbed_graphs(const Graph& graph, uint64_t seed, const std::filesystem::path& folder) {
  nlohmann::json record = {{"seed", seed}, {"conditions", nlohmann::json::object()}};
  std::filesystem::create_directories(folder / "perturbed");
  for (const Perturbation& perturbation : perturbations()) {
    const Graph copy = perturb_attributes(graph, perturbation, seed);
    const std::string file = "perturbed/test-" + perturbation.name + ".safetensors";
    write_graph(folder / file, copy);
    record["conditions"][perturbation.name] = {{"file", file}, {"sha256", hash_of_attributes(copy)}};
  }
  write_file_atomically(folder / "perturbed.json", record.dump(1) + "\n");
  return record;
}

}  // namespace l0gm
