#include "training/text/text_run.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "data/text/perturb.h"
#include "data/text/source.h"
#include "encoders/text/text_encoder.h"
#include "l0gm/error.h"
#include "training/gate_report.h"
#include "training/text/frozen_features.h"
#include "training/text/perturbed_texts.h"
#include "training/text/text_modality.h"

namespace l0gm {

namespace fs = std::filesystem;

void choose_matmul(Model& model, const Config& config, const Machine& machine) {
  const Matmul standard =
      machine.device.is_cuda() && config.train.precision == Precision::float32 ? Matmul::bfloat16 : Matmul::float32;
  if (config.train.matmul.value_or(standard) == Matmul::bfloat16) {
    dynamic_cast<TextEncoder&>(model.encoder()).compute_in(torch::kBFloat16);
  }
}

TextRun::TextRun(const fs::path& path, const Machine& its_machine) : Run(TextModality(), path, its_machine) {
  text = TextRecord::from_json(folder.read_json(folder.schema()));
  model = TextModality().make_model(text, config, 0);
  if (config.encoder.frozen) {  // its weights are where they were: the run holds what was trained
    for (const FileStamp& file : text.weights) {
      std::error_code gone;
      if (!fs::exists(file.path, gone) || sha256_file(file.path) != file.sha256) {
        throw UserError(fmt::format("{}: the run's encoder is frozen and is read from {}, which is {}. Put it back there.",
                                    path.string(), file.path.string(),
                                    fs::exists(file.path, gone) ? "not the same file any more" : "gone"));
      }
    }
    Config found = config;  // the folder may have been named from elsewhere
    found.encoder.path = text.weights.at(0).path.parent_path().string();
    TextModality().start(*model, found);
  }
  load_weights();
  choose_matmul(*model, config, machine);
}

std::shared_ptr<Model> TextRun::served() {
  if (!structure()) return model;
  if (narrowed_ == nullptr) {
    narrowed_ = TextModality().make_model(text, config, 0);
    place(*narrowed_, machine.device, dtype_of(config.train.precision));
    copy_into(model->state(), narrowed_->state(), folder.best().string());
    dynamic_cast<TextEncoder&>(narrowed_->encoder()).narrow_structure(gate_state);
    choose_matmul(*narrowed_, config, machine);
    narrowed_->eval();
  }
  return narrowed_;
}

std::optional<StructureReport> TextRun::structure() const {
  const StructureGates* gates = dynamic_cast<const TextEncoder&>(model->encoder()).structure();
  if (gates == nullptr) return std::nullopt;
  return gates->report(gate_state);
}

Nouns TextRun::nouns() const { return {"texts", "inputs"}; }

const TextDataset& TextRun::dataset() {
  if (dataset_ == nullptr) {
    auto read = std::make_shared<TextDataset>(load_texts(config.data));
    require_unchanged(folder, text.files, read->data.files);
    dataset_ = std::move(read);
  }
  auto& texts = dynamic_cast<TextDataset&>(*dataset_);
  if (texts.tokens.texts() == 0) {
    texts.tokens = cached_tokens(token_cache_folder(), texts.data.texts, *text.tokenizer, text.max_tokens);
  }
  return texts;
}

TextRows TextRun::rows(Split split) {
  const TextDataset& texts = dataset();
  if (texts.data.rows(split).empty()) throw UserError(fmt::format("{} has no {} texts", texts.data.name, name_of_enum(split)));
  return {&texts.tokens, texts.data.rows(split), texts.data.labels, {}, {}};
}

Predictions TextRun::predict(Split split) {
  TextRows texts = rows(split);
  if (config.encoder.frozen) {
    const torch::Tensor features = frozen_features(*model, texts, text, dataset().data.texts.sha256(), config, machine.device);
    texts.features = dynamic_cast<TextEncoder&>(model->encoder()).scaled(features);
  }
  return predict_texts(*served(), gate_state, texts, text.classes, machine.device);
}

PerturbedPredictions TextRun::predict_perturbed(Split split, const Perturbation& perturbation, bool) {
  const PerturbedTexts perturbed(rows(split), perturbation, static_cast<uint64_t>(config.train.seed), *text.tokenizer,
                                 dynamic_cast<TextEncoder&>(model->encoder()));
  return {predict_texts(*served(), gate_state, perturbed.rows(), text.classes, machine.device), perturbed.sha256()};
}

torch::Tensor TextRun::interface_of(Split split) {
  c10::InferenceMode inference;
  const std::shared_ptr<Model> its = served();
  its->eval();
  const TextRows texts = rows(split);
  torch::Tensor all = at::empty({static_cast<int64_t>(texts.rows.size()), its->encoder().width()}, torch::kFloat32);
  for_each_block(texts, machine.device, [&](std::span<const int64_t> positions, TextBatch& batch) {
    GatePass pass = GatePass::evaluation(gate_state, batch.example_ids);
    all.index_copy_(0, at::tensor(std::vector<int64_t>(positions.begin(), positions.end()), torch::kInt64),
                    its->encoder().forward(batch, pass).to(torch::kCPU, torch::kFloat32));
  });
  return all;
}

GateReport TextRun::gates(Split split) {
  GateReport report = report_gates(*this, [&] {
    c10::InferenceMode inference;
    model->eval();
    const TextRows texts = rows(split);
    torch::Tensor gates = at::ones({static_cast<int64_t>(texts.rows.size()), model->encoder().width()});
    for_each_block(texts, machine.device, [&](std::span<const int64_t> positions, TextBatch& batch) {
      GatePass pass = GatePass::evaluation(gate_state, batch.example_ids);
      model->forward(batch, pass);
      if (const GateSite* site = model->interface_site()) {
        const torch::Tensor of_block = pass.record(*site)->gated.gates.to(torch::kCPU, torch::kFloat32);
        gates.index_copy_(0, at::tensor(std::vector<int64_t>(positions.begin(), positions.end()), torch::kInt64),
                          of_block.expand({batch.examples(), gates.size(1)}));
      }
    });
    return gates;
  });
  if (structure()) report.parameters -= model->encoder().shared_parameters() - served()->encoder().shared_parameters();
  return report;
}

void TextRun::add_figures(Split, Evaluation& evaluation) {
  if (text.bayes_auc > 0) evaluation.bayes_auc = text.bayes_auc;
  evaluation.further["max_tokens"] = text.max_tokens;
  evaluation.further["truncated_share"] = text.truncated_share;
  if (const std::optional<StructureReport> left = structure()) {
    evaluation.further["layers"] = left->layers;
    evaluation.further["layers_dense"] = left->layers_dense;
    evaluation.further["heads"] = left->heads;
    evaluation.further["heads_dense"] = left->heads_dense;
    evaluation.further["neurons"] = left->neurons;
    evaluation.further["neurons_dense"] = left->neurons_dense;
    evaluation.further["speedup_by_cost"] = left->speedup;
    evaluation.further["gate_cost"] = name_of_enum(config.gate.cost);
  }
}

}  // namespace l0gm
