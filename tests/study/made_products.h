#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/random.h"
#include "metrics/predictions.h"
#include "run/evaluation.h"
#include "study/cell.h"

namespace l0gm::testing_tools {

// Predictions of a model whose logits are the true ones plus noise: the larger the noise, the worse. Rows and labels are the same
// for all of a seed.
inline Predictions noisy_model(double noise, uint64_t seed, int64_t rows = 400) {
  RandomStream truth(seed), error(seed, mix_key(7, static_cast<uint64_t>(1e6 * noise)));
  Predictions out;
  out.classes = {"no", "yes"};
  for (int64_t i = 0; i < rows; ++i) {
    const double logit = 1.5 * truth.normal(), p = 1 / (1 + std::exp(-logit));
    out.rows.push_back(i);
    out.labels.push_back(truth.uniform() < p ? 1 : 0);
    const double said = 1 / (1 + std::exp(-(logit + noise * error.normal())));
    out.probabilities.insert(out.probabilities.end(), {1 - said, said});
  }
  return out;
}

// What a cell leaves behind that was trained and judged, without training it.
inline void make_product(const StudyFolder& folder, const std::string& key, const std::string& step,
                         const Predictions& predictions, double active, const std::vector<std::string>& open = {},
                         Split split = Split::valid) {
  Evaluation evaluation;
  evaluation.run = "somewhere";
  evaluation.split = name_of_enum(split);
  evaluation.summary = metrics_summary(predictions, Calibrator{});
  evaluation.facts = RunFacts{};
  evaluation.facts->projected_units = 1;
  GateReport gates;
  gates.units = 200;
  gates.open_units = static_cast<int64_t>(std::lround(200 * active));
  gates.active_fraction = active;
  gates.parameters = gates.open_units * 10;
  gates.test_rule = "threshold";
  evaluation.gates = gates;
  if (!open.empty()) {
    InputReport inputs;
    inputs.columns = 5;
    for (const std::string& name : open) inputs.open.push_back({name, 1, {}, {}, {}});
    evaluation.inputs = inputs;
  }
  std::filesystem::create_directories(folder.run(key) / "predictions");
  write_file_atomically(folder.product(key, step), evaluation.to_json().dump());
  write_predictions(folder.run(key) / "predictions" / (std::string(name_of_enum(split)) + ".csv"), predictions);
}

}  // namespace l0gm::testing_tools
