#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "metrics/calibrator.h"
#include "runtime/probabilities.h"
#include "runtime/text/sample_text.h"

// A text model computed in double precision, straight from its definition (docs/format.md): what the runtime is compared with.
namespace l0gm::testing_tools {

class ReferenceText {
 public:
  ReferenceText(const TextHeader& header, const DrawnTensors& tensors) : header_(header), tensors_(tensors) {}

  std::vector<double> probabilities(const std::string& text) const {
    std::vector<int32_t> ids;
    header_.tokenizer->encode(text, header_.max_tokens, ids);
    const std::vector<double> logits = logits_of(ids);
    std::vector<double> p(header_.classes.size());
    mean_probabilities(logits.data(), header_.net.members, header_.net.outputs(), p.data());
    return p;
  }

 private:
  using Rows = std::vector<std::vector<double>>;
  const std::vector<float>& tensor(const std::string& name) const { return tensors_.at(name).values; }

  std::vector<double> mapped(const std::string& name, const std::vector<double>& x) const {
    const DrawnTensor& weight = tensors_.at(name + ".weight");
    std::vector<double> y;
    for (int64_t i = 0; i < weight.shape[0]; ++i) {
      double sum = tensor(name + ".bias")[static_cast<size_t>(i)];
      for (size_t j = 0; j < x.size(); ++j) sum += weight.values[static_cast<size_t>(i) * x.size() + j] * x[j];
      y.push_back(sum);
    }
    return y;
  }
  std::vector<double> normed(const std::string& name, std::vector<double> x) const {
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / static_cast<double>(x.size());
    for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
    for (size_t j = 0; j < x.size(); ++j) {
      x[j] = (x[j] - mean) / std::sqrt(variance + header_.net.encoder.norm_epsilon) * tensor(name + ".weight")[j] +
             tensor(name + ".bias")[j];
    }
    return x;
  }
  double activated(double x) const {
    switch (header_.net.encoder.activation) {
      case Activation::gelu:
        return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
      case Activation::gelu_tanh:
        return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
      case Activation::relu:
        return std::max(0.0, x);
    }
    return x;
  }
  static std::vector<double> sum_of(std::vector<double> a, const std::vector<double>& b) {
    for (size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  }
  std::vector<double> attended(const Rows& qkv, size_t query) const {
    const auto width = static_cast<size_t>(header_.net.encoder.head_width());
    const size_t hidden = qkv[0].size() / 3;  // of the heads that there are
    std::vector<double> out(hidden, 0);
    for (size_t head = 0; head < hidden; head += width) {
      std::vector<double> weights;
      double top = -INFINITY, total = 0;
      for (const auto& key : qkv) {
        double score = 0;
        for (size_t i = head; i < head + width; ++i)
          score += qkv[query][i] * key[hidden + i] / std::sqrt(static_cast<double>(width));
        weights.push_back(score);
        top = std::max(top, score);
      }
      for (double& w : weights) total += w = std::exp(w - top);
      for (size_t k = 0; k < qkv.size(); ++k)
        for (size_t i = head; i < head + width; ++i) out[i] += weights[k] / total * qkv[k][2 * hidden + i];
    }
    return out;
  }

  Rows states_of(const std::vector<int32_t>& ids) const {
    const TransformerConfig& config = header_.net.encoder;
    const auto hidden = static_cast<size_t>(config.hidden);
    const std::string encoder = "encoder.transformer.";
    Rows states;
    for (size_t t = 0; t < ids.size(); ++t) {
      std::vector<double> x;
      for (size_t j = 0; j < hidden; ++j) {
        double v = tensor(encoder + "embeddings.words")[static_cast<size_t>(ids[t]) * hidden + j];
        v += tensor(encoder + "embeddings.positions")[(t + static_cast<size_t>(config.first_position())) * hidden + j];
        if (config.token_types > 0) v += tensor(encoder + "embeddings.types")[j];
        x.push_back(v);
      }
      states.push_back(normed(encoder + "embeddings.norm", x));
    }
    for (int64_t i = 0; i < config.layers; ++i) {
      if (header_.net.token_factors && i + 1 == config.layers) scale_tokens(states);
      const std::string layer = encoder + "layer" + std::to_string(i) + ".";
      Rows qkv, next;
      for (const auto& x : states) qkv.push_back(mapped(layer + "attention.qkv", x));
      for (size_t t = 0; t < states.size(); ++t) {
        const std::vector<double> y =
            normed(layer + "attention_norm", sum_of(states[t], mapped(layer + "attention.out", attended(qkv, t))));
        std::vector<double> wide = mapped(layer + "feed_forward.in", y);
        for (double& v : wide) v = activated(v);
        next.push_back(normed(layer + "feed_forward_norm", sum_of(y, mapped(layer + "feed_forward.out", wide))));
      }
      states = std::move(next);
    }
    return states;
  }
  void scale_tokens(Rows& states) const {
    for (size_t t = 0; t < states.size(); ++t) {
      const size_t block = t >= 256 ? 3 : t >= 128 ? 2 : t >= 64 ? 1 : 0;
      for (size_t j = 0; j < states[t].size(); ++j) states[t][j] *= tensor("encoder.token_factors")[block * states[t].size() + j];
    }
  }

  std::vector<double> logits_of(const std::vector<int32_t>& ids) const {
    const TextNet& net = header_.net;
    const Rows states = states_of(ids);
    std::vector<double> r = states.front();
    if (net.pooling == Pooling::mean) {
      for (size_t t = 1; t < states.size(); ++t) r = sum_of(r, states[t]);
      for (double& v : r) v /= static_cast<double>(states.size());
    }
    if (net.scaled) {
      for (size_t j = 0; j < r.size(); ++j)
        r[j] = (r[j] - tensor("encoder.feature_mean")[j]) * tensor("encoder.feature_factor")[j];
    }
    std::vector<double> logits;
    for (int64_t m = 0; m < net.members; ++m) {
      for (int64_t o = 0; o < net.outputs(); ++o) {
        double sum = tensor("head.bias")[static_cast<size_t>(m * net.outputs() + o)];
        for (int64_t j = 0; j < net.head_width(); ++j) {
          const auto from = static_cast<size_t>(net.selected.empty() ? j : net.selected[static_cast<size_t>(j)]);
          sum += r[from] * tensor("head.linear.weight0")[static_cast<size_t>((m * net.head_width() + j) * net.outputs() + o)];
        }
        logits.push_back(sum);
      }
    }
    return logits;
  }

  const TextHeader& header_;
  const DrawnTensors& tensors_;
};

}  // namespace l0gm::testing_tools
