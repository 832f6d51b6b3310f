#include "data/graph/sampling.h"

#include <fmt/format.h>

#include <numeric>
#include <stdexcept>

namespace l0gm {

void NodeNumbering::start(int64_t limit) {
  nodes_.clear();
  if (entries_.size() < static_cast<size_t>(limit)) entries_.resize(static_cast<size_t>(limit), 0);
  if (++stamp_ == 0) {  // after 2^32 starts old stamps would look like new ones
    std::fill(entries_.begin(), entries_.end(), 0);
    stamp_ = 1;
  }
}

void NodeNumbering::number_all(std::span<int32_t> nodes) {
  constexpr size_t ahead = 16;  // entries are scattered in memory: fetch them before they are needed
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + ahead < nodes.size()) __builtin_prefetch(&entries_[static_cast<size_t>(nodes[i + ahead])], 1);
    nodes[i] = number(nodes[i]);
  }
}

SamplerScratch& SamplerScratch::of_this_thread() {
  thread_local SamplerScratch scratch;
  return scratch;
}

AliasTable::AliasTable(std::span<const double> weights) : keep_(weights.size(), 1.0F), other_(weights.size()) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0)) throw std::invalid_argument("an alias table needs weights that add up to more than 0");
  std::iota(other_.begin(), other_.end(), 0);
  std::vector<double> mass(weights.size());
  std::vector<int32_t> small, large;
  int32_t heaviest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    mass[i] = weights[i] / sum * static_cast<double>(weights.size());
    (mass[i] < 1 ? small : large).push_back(static_cast<int32_t>(i));
    if (mass[i] > mass[static_cast<size_t>(heaviest)]) heaviest = static_cast<int32_t>(i);
  }
  while (!small.empty() && !large.empty()) {
    const auto from = static_cast<size_t>(small.back()), to = static_cast<size_t>(large.back());
    small.pop_back();
    keep_[from] = static_cast<float>(mass[from]);
    other_[from] = large.back();
    mass[to] -= 1 - mass[from];
    if (mass[to] < 1) {
      small.push_back(large.back());
      large.pop_back();
    }
  }
  // Rounding may leave places without an alias; one of weight 0 must never be drawn.
  for (const int32_t left : small) {
    if (weights[static_cast<size_t>(left)] > 0) continue;
    keep_[static_cast<size_t>(left)] = 0;
    other_[static_cast<size_t>(left)] = heaviest;
  }
}

int64_t AliasTable::draw(RandomStream& random) const {
  const auto place = static_cast<size_t>(random.below(keep_.size()));
  return random.uniform() < keep_[place] ? static_cast<int64_t>(place) : other_[place];
}

EpochOrder::EpochOrder(std::span<const int64_t> nodes, int64_t batch, uint64_t seed)
    : nodes_(nodes), batch_(batch), seed_(seed), recent_{{{-1, nullptr}, {-1, nullptr}}} {
  if (batch < 1) throw std::invalid_argument("a batch has at least one node");
}

int64_t EpochOrder::steps() const { return (static_cast<int64_t>(nodes_.size()) + batch_ - 1) / batch_; }

std::vector<int64_t> EpochOrder::batch(int64_t epoch, int64_t index) const {
  if (epoch < 0 || index < 0 || index >= steps()) {
    throw std::out_of_range(fmt::format("step {} of epoch {} was asked for; an epoch has {} steps", index, epoch, steps()));
  }
  const Order all = order(epoch);
  const int64_t from = index * batch_, to = std::min(from + batch_, static_cast<int64_t>(nodes_.size()));
  std::vector<int64_t> nodes(static_cast<size_t>(to - from));
  for (int64_t i = from; i < to; ++i)
    nodes[static_cast<size_t>(i - from)] = nodes_[static_cast<size_t>((*all)[static_cast<size_t>(i)])];
  return nodes;
}

EpochOrder::Order EpochOrder::order(int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  auto& [known_epoch, known] = recent_[static_cast<size_t>(epoch % 2)];
  if (known_epoch != epoch) {
    RandomStream random(mix_key(seed_, 0x6f72646572, static_cast<uint64_t>(epoch)));
    known = std::make_shared<const std::vector<int64_t>>(random.permutation(static_cast<int64_t>(nodes_.size())));
    known_epoch = epoch;
  }
  return known;
}

std::vector<double> column_norms(const Graph& graph) {
  std::vector<double> norms(static_cast<size_t>(graph.nodes), 0.0);
  for (int64_t v = 0; v < graph.nodes; ++v) {
    const double share = 1.0 / static_cast<double>(graph.degree(v) + 1);
    for (const int32_t u : graph.in_neighbours(v)) norms[static_cast<size_t>(u)] += share;
  }
  for (int64_t u = 0; u < graph.nodes; ++u) norms[static_cast<size_t>(u)] /= static_cast<double>(graph.degree(u) + 1);
  return norms;
}

std::shared_ptr<const MessageBlock> make_block(const Graph& graph, std::span<const int64_t> nodes, std::vector<int64_t> offsets,
                                               std::vector<int32_t> neighbours, std::vector<float> weights) {
  auto block = std::make_shared<MessageBlock>();
  block->sources = static_cast<int64_t>(nodes.size());
  block->targets = static_cast<int64_t>(offsets.size()) - 1;
  std::vector<float> degrees(nodes.size());
  std::transform(nodes.begin(), nodes.end(), degrees.begin(),
                 [&](int64_t node) { return static_cast<float>(graph.degree(node)); });
  block->offsets = std::move(offsets);
  block->neighbours = std::move(neighbours);
  if (!weights.empty()) block->weights = std::move(weights);
  block->source_degree = std::move(degrees);
  block->target_degree = {block->source_degree.owner(), block->source_degree.span().first(static_cast<size_t>(block->targets))};
  return block;
}

}  // namespace l0gm
