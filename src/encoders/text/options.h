#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "encode/text/transformer_config.h"
#include "l0gm/options.h"

namespace l0gm {

// The encoder of texts: where its weights come from, what of it is used, how it is trained.
struct EncoderOptions {
  std::string path;
  Pooling pooling = Pooling::mean;
  int64_t layers = 0;
  std::optional<int64_t> max_tokens;
  bool frozen = false;
  double layer_decay = 1;
  bool checkpoint_activations = false;
  std::optional<double> dropout;
  std::optional<double> attention_dropout;
  double drop_tokens = 0;
  std::string times_from;
  int64_t blocks = 16;
  int64_t width = 128;
  int64_t depth = 2;
  int64_t heads = 4;
  int64_t ffn = 512;
  int64_t vocabulary = 16000;

  static constexpr int64_t longest_text = 512, longest_text_from_scratch = 256;  // where max_tokens is unset

  template <class Visitor>
  void visit(Visitor& v) {
    v("path", path,
      "a folder in the Hugging Face layout (config.json, *.safetensors, a tokenizer) with the encoder to start from; empty: a "
      "small Transformer from scratch")
        .path()
        .read_by("model.name = pretrained");
    v("pooling", pooling, "the interface: the mean over all tokens of a text, or the state of its first token");
    v("layers", layers, "only the encoder's first layers are kept; 0: all", between(0, 256)).read_by("model.name = pretrained");
    v("max_tokens", max_tokens,
      "texts are cut to so many tokens, special ones included; unset: 512 or as many as the encoder has positions for, from "
      "scratch 256",
      between(2, 65536));
    v("frozen", frozen, "the encoder stays as it was read, and only gate and head are trained: texts are encoded once")
        .read_by("model.name = pretrained");
    v("layer_decay", layer_decay, "the learning rate of each layer is this share of that of the layer after it; 1: the same",
      Limit{0, 1, true, false});
    v("checkpoint_activations", checkpoint_activations,
      "layers are computed again for the gradient in place of being kept: less memory, about a third more time");
    v("dropout", dropout, "dropout of hidden states and embeddings; unset: as the encoder's config.json says, from scratch 0.1",
      Limit{0, 1, false, true});
    v("attention_dropout", attention_dropout, "dropout of attention weights; unset: as config.json says, from scratch 0",
      Limit{0, 1, false, true});
    v("drop_tokens", drop_tokens,
      "share of a text's tokens that a training step leaves out, others each time: the vocabulary is not learned by heart, and "
      "steps "
      "are shorter",
      Limit{0, 1, false, true})
        .read_by("encoder.frozen = false");
    v("times_from", times_from,
      "`gate.cost = latency`: a run whose measured times of an encoder with the same layers, however many, are taken, so that runs "
      "that are compared have the same prices; empty: measured when training starts")
        .path()
        .read_by("gate.cost = latency");
    v("blocks", blocks, "`gate.unit = group`: into how many blocks of dimensions the interface is divided", between(1, 65536))
        .read_by("gate.unit = group");
    v("width", width, "from scratch: dimensions of the states, the interface", between(1, 16384))
        .read_by("model.name = transformer");
    v("depth", depth, "from scratch: layers", between(1, 256)).read_by("model.name = transformer");
    v("heads", heads, "from scratch: attention heads; must divide the width", between(1, 256))
        .read_by("model.name = transformer");
    v("ffn", ffn, "from scratch: units of each layer's feed-forward part", between(1, 65536)).read_by("model.name = transformer");
    v("vocabulary", vocabulary, "from scratch: tokens that are learned from the training texts", between(100, 1000000))
        .read_by("model.name = transformer");
  }
};

}  // namespace l0gm
