#include "training/text/part_times.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <numeric>

#include "base/log.h"
#include "model/text_model.h"
#include "training/text/text_run.h"

namespace l0gm {

namespace {

// Seconds so far: on a processor those that it worked for us, by thread, so that what else the machine does hardly matters.
double seconds_now(const Machine& machine) {
  if (machine.device.is_cpu()) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC / at::get_num_threads();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr int64_t tokens_on_processor = 8192, tokens_on_gpu = 1 << 18;  // of the texts that are timed
constexpr int64_t least_texts = 16;
constexpr int rounds = 7, warmup = 2;
constexpr double most_seconds = 60;   // all in all, once each shape had its warm-up and a round
constexpr double least_share = 1e-3;  // of a layer: no part is free, whatever a noisy clock says

// Rows from the shortest text to the longest, evenly, of about so many tokens.
std::vector<int64_t> sample(const TextRows& texts, int64_t tokens) {
  std::vector<int64_t> sorted(texts.rows.begin(), texts.rows.end()), some;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](int64_t a, int64_t b) { return texts.tokens->length(a) < texts.tokens->length(b); });
  double all = 0;
  for (const int64_t row : sorted) all += static_cast<double>(texts.tokens->length(row));
  const double each = all / static_cast<double>(sorted.size());
  const int64_t wanted = std::max(least_texts, static_cast<int64_t>(static_cast<double>(tokens) / each));
  const int64_t size = std::ssize(sorted), count = std::min(size, wanted);
  for (int64_t i = 0; i < count; ++i) some.push_back(sorted[static_cast<size_t>((2 * i + 1) * size / (2 * count))]);
  return some;
}

// Every layer with these heads and neurons.
TransformerConfig narrowed(TransformerConfig shape, int64_t heads, int64_t neurons) {
  shape.narrowed.assign(static_cast<size_t>(shape.layers), {heads, neurons});
  return shape;
}

}  // namespace

TextClock::TextClock(const TextRows& texts, const Config& config, const Machine& machine)
    : texts_(texts),
      rows_(sample(texts, machine.device.is_cpu() ? tokens_on_processor : tokens_on_gpu)),
      config_(config),
      machine_(machine) {
  texts_.rows = rows_;
}

std::vector<double> TextClock::microseconds(const std::vector<TransformerConfig>& shapes) const {
  const std::vector<std::string> classes = {"0", "1"};
  GateOptions dense;
  dense.unit = UnitKind::none;
  std::vector<std::shared_ptr<Model>> models;
  for (const TransformerConfig& shape : shapes) {
    EncoderOptions encoder = config_.encoder;
    encoder.max_tokens.reset();
    models.push_back(make_text_model(shape, {{1, 1}, false, {}, {}}, config_.model, encoder, dense, 0));
    place(*models.back(), machine_.device, dtype_of(config_.train.precision));
    choose_matmul(*models.back(), config_, machine_);
  }
  std::vector<double> best(shapes.size(), INFINITY);
  const double start = seconds_now(machine_);
  for (int round = -warmup; round < rounds; ++round) {
    for (size_t i = 0; i < models.size(); ++i) {
      const double begin = seconds_now(machine_);
      predict_texts(*models[i], {}, texts_, classes, machine_.device);
      const double taken = 1e6 * (seconds_now(machine_) - begin) / static_cast<double>(rows_.size());
      if (round >= 0) best[i] = std::min(best[i], taken);
    }
    if (round >= 0 && seconds_now(machine_) - start > most_seconds) break;
  }
  return best;
}

PartTimes measure_parts(const TextClock& clock, const TransformerConfig& shape) {
  const int64_t heads = shape.heads, neurons = shape.intermediate, few_heads = heads / 2,
                few_neurons = neurons / 2 / FusedLayers::neuron_step * FusedLayers::neuron_step;
  TransformerConfig deep = shape, flat = shape;
  flat.layers = clock.pooling() == Pooling::mean ? 0 : 1;
  if (shape.layers == flat.layers) deep.layers = flat.layers + 1;
  const std::vector<double> taken =
      clock.microseconds({deep, flat, narrowed(deep, few_heads, neurons), narrowed(deep, heads, few_neurons)});
  const auto layers = static_cast<double>(deep.layers);
  const double layer = std::max((taken[0] - taken[1]) / (layers - static_cast<double>(flat.layers)), 1e-6),
               least = least_share * layer;
  const auto of_part = [&](double without, int64_t parts) {
    const double saved = (taken[0] - without) / layers / static_cast<double>(parts);
    return std::max(saved, least / static_cast<double>(parts));
  };
  PartTimes times;
  times.head = of_part(taken[2], heads - few_heads);
  times.neuron = of_part(taken[3], neurons - few_neurons);
  double inside = times.head * static_cast<double>(heads) + times.neuron * static_cast<double>(neurons);
  if (const double most = (1 - least_share) * layer; inside > most) {  // halves that save more than half: the rest is nothing
    times.head *= most / inside;
    times.neuron *= most / inside;
    inside = most;
  }
  times.rest = layer - inside;
  times.besides = std::max(taken[0] - layers * layer, least);
  log_info(
      fmt::format("measured here, microseconds of a text: a layer {:.1f} (a head {:.3g}, a neuron {:.3g}, the rest {:.1f}), "
                  "beside the layers {:.1f}",
                  layer, times.head, times.neuron, times.rest, times.besides));
  return times;
}

}  // namespace l0gm
