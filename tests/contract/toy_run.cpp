#include "contract/toy_run.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "l0gm/error.h"
#include "training/gate_report.h"

namespace l0gm::testing_tools {

namespace {

// One point; what is drawn depends on the stream alone.
void perturb(double* numbers, const Perturbation& perturbation, const ToyRecord& record, RandomStream draws) {
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  const auto [begin, length] = draw_block(toy_numbers, perturbation.amount, draws);
  for (size_t j = 0; j < toy_numbers; ++j) {
    const double mean = record.mean[j], deviation = record.deviation[j];
    switch (perturbation.damage) {
      case Damage::missing:
        if (draws.uniform() < perturbation.amount) numbers[j] = missing;
        break;
      case Damage::noise:
        numbers[j] += perturbation.amount * deviation * draws.normal();
        break;
      case Damage::quantise:
        numbers[j] = nearest_level(mean - 3 * deviation, mean + 3 * deviation, numbers[j], perturbation.amount);
        break;
      case Damage::occlude:
        if (j >= begin && j < begin + length) numbers[j] = missing;
        break;
    }
  }
}

}  // namespace

ToyRun::ToyRun(const std::filesystem::path& path, const Machine& its_machine) : Run(ToyModality(), path, its_machine) {
  points = ToyRecord::from_json(folder.read_json(folder.schema()));
  model = ToyModality().make_model(points, config, 0);
  load_weights();
}

const ToyData& ToyRun::data() {
  if (dataset_ == nullptr) {
    dataset_ = ToyModality().load(config);
    const auto& found = dynamic_cast<const ToyData&>(*dataset_);
    if (sha256(found.rows(Split::train)) != points.training_rows) throw UserError("other points were trained on");
  }
  return dynamic_cast<const ToyData&>(*dataset_);
}

std::shared_ptr<ToyBatch> ToyRun::rows(Split split) { return toy_batch(data(), points, data().rows(split)); }

Predictions ToyRun::predict(Split split) { return predict_toy(*model, gate_state, *rows(split), points.classes); }

PerturbedPredictions ToyRun::predict_perturbed(Split split, const Perturbation& perturbation, bool keep_file) {
  if (keep_file) throw UserError("perturbed points are not written");
  const std::vector<int64_t>& numbers_of = data().rows(split);
  std::vector<double> values = data().values_of(numbers_of);
  const uint64_t key = mix_key(static_cast<uint64_t>(config.train.seed), perturbation_key(perturbation.name));
  for (size_t i = 0; i < numbers_of.size(); ++i) {
    perturb(&values[i * toy_numbers], perturbation, points, RandomStream(key, static_cast<uint64_t>(numbers_of[i])));
  }
  const std::shared_ptr<ToyBatch> perturbed = rows(split);
  perturbed->numbers = points.scaled(values);
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  return {predict_toy(*model, gate_state, *perturbed, points.classes), sha256(bytes)};
}

GateReport ToyRun::gates(Split split) {
  return report_gates(*this, [&] {
    c10::InferenceMode inference;
    const std::shared_ptr<ToyBatch> batch = rows(split);
    GatePass pass = GatePass::evaluation(gate_state, batch->example_ids);
    model->interface(*batch, pass);
    return pass.record(*model->interface_site())->gated.gates.cpu();
  });
}

std::optional<InputReport> ToyRun::inputs(Split) {
  const int64_t open = model->open_dimensions(gate_state).sum().item<int64_t>();
  InputReport report{toy_numbers, {}};
  for (const std::string& name : dynamic_cast<const ToyEncoder&>(model->encoder()).column_names())
    report.open.push_back({name, open, {}});
  return report;
}

void ToyRun::add_figures(Split split, Evaluation& evaluation) {
  const Predictions predictions = predict(split);
  double sum = 0;
  for (int64_t i = 0; i < predictions.size(); ++i) {
    std::vector<double> row(predictions.row(i).begin(), predictions.row(i).end());
    std::sort(row.begin(), row.end());
    sum += row[row.size() - 1] - row[row.size() - 2];
  }
  evaluation.further["mean_margin"] = sum / static_cast<double>(predictions.size());
}

}  // namespace l0gm::testing_tools
