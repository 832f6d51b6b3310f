#pragma once

#include "encoders/text/text_encoder.h"
#include "training/text/text_record.h"
#include "training/text/text_task.h"

namespace l0gm {

// What a frozen encoder says of the texts of a split, before scaling: [rows, width] on the device, computed once and kept in the
// user cache under the hashes of texts, tokenizer and weights.
torch::Tensor frozen_features(Model& model, const TextRows& texts, const TextRecord& record, const std::string& texts_sha256,
                              const Config& config, torch::Device device);

// Scales the interface of a frozen encoder to mean 0 and deviation 1 over these features of training texts.
void fit_scaling(TextEncoder& encoder, const torch::Tensor& features);

}  // namespace l0gm
