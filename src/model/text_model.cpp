#include "model/text_model.h"

#include <ATen/Context.h>

#include "encoders/text/encoder_shape.h"
#include "heads/deep.h"
#include "heads/sum.h"

namespace l0gm {

std::vector<std::string> text_model_names() { return {"transformer", "pretrained"}; }

std::shared_ptr<Model> make_text_model(const TransformerConfig& config, const TextFacts& facts, const ModelOptions& options,
                                       const EncoderOptions& encoder, const GateOptions& gate, uint64_t seed) {
  longest_input(config, encoder);  // refuses more tokens than positions before anything is made
  at::manual_seed(seed);
  auto transformer = std::make_shared<Transformer>(config);
  transformer->draw_weights();
  auto text_encoder = std::make_shared<TextEncoder>(std::move(transformer), encoder);
  const std::vector<int64_t> classes = facts.balanced ? std::vector<int64_t>(facts.class_rows.size(), 1) : facts.class_rows;
  auto head = std::make_shared<SumHead>(classes, options.members);
  const int64_t outputs = outputs_for(static_cast<int64_t>(classes.size()));
  head->add("linear", std::make_shared<DeepHead>(text_encoder->width(), 0, 0, outputs, options.members, 0));
  if (gate.unit != UnitKind::none && gate.on_structure()) {
    text_encoder->set_part_costs(
        part_costs(config, {encoder.pooling, outputs * options.members}, facts.lengths, gate.cost, facts.times));
  }
  return std::make_shared<Model>(text_encoder, head, options.interface_dropout, gate);
}

std::vector<std::string> load_pretrained(Model& model, const std::filesystem::path& folder) {
  return load_weights(folder, dynamic_cast<TextEncoder&>(model.encoder()).transformer());
}

}  // namespace l0gm
