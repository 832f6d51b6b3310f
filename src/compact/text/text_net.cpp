#include <ATen/Functions.h>

#include "compact/text/text_file.h"
#include "heads/deep.h"
#include "heads/sum.h"

namespace l0gm {

namespace {

const TextEncoder& encoder_of_texts(const Model& model) { return dynamic_cast<const TextEncoder&>(model.encoder()); }

}  // namespace

TextNet text_net_of(const Model& model, int64_t classes) {
  const TextEncoder& encoder = encoder_of_texts(model);
  TextNet net;
  net.encoder = encoder.config();
  net.pooling = encoder.pooling();
  net.classes = classes;
  net.members = dynamic_cast<const SumHead&>(model.head()).bias().size(0);
  net.scaled = encoder.learned_buffers().contains("feature_mean");
  net.token_factors = encoder.has_token_factors();
  if (model.selected().defined()) {
    const torch::Tensor kept = model.selected().cpu();
    net.selected.assign(kept.data_ptr<int64_t>(), kept.data_ptr<int64_t>() + kept.numel());
  }
  return net;
}

std::shared_ptr<Model> make_model(const TextNet& net) {
  EncoderOptions options;
  options.pooling = net.pooling;
  options.frozen = net.scaled;
  auto encoder = std::make_shared<TextEncoder>(std::make_shared<Transformer>(net.encoder), options);
  if (net.token_factors) encoder->fix_token_gates(at::ones({TextEncoder::token_blocks, net.encoder.hidden}));
  auto head = std::make_shared<SumHead>(std::vector<int64_t>(static_cast<size_t>(net.classes), 1), net.members);
  head->add("linear", std::make_shared<DeepHead>(net.head_width(), 0, 0, net.outputs(), net.members, 0));
  GateOptions none;
  none.unit = UnitKind::none;
  auto model = std::make_shared<Model>(encoder, head, 0, none);
  if (!net.selected.empty()) model->select(at::tensor(net.selected, torch::kInt64));
  return model;
}

bool narrow_text_model(Model& model, const GateState& state) {
  for (const GateSite* site : model.sites()) {
    if (site->gate->has_instance_logits()) return false;
  }
  torch::NoGradGuard no_grad;
  auto& encoder = dynamic_cast<TextEncoder&>(model.encoder());
  encoder.narrow_structure(state);
  if (const GateSite* tokens = encoder.token_site()) encoder.fix_token_gates(tokens->gate->test_values(state));
  return model.narrow(state);
}

TensorMap tensors_of_text_model(const Model& model) {
  TensorMap tensors = model.weights();
  for (const auto& [name, buffer] : model.encoder().learned_buffers()) tensors["encoder." + name] = buffer;
  return tensors;
}

}  // namespace l0gm
