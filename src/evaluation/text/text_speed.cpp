#include "evaluation/text/text_speed.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <ctime>

#include "base/text.h"
#include "evaluation/training_clock.h"
#include "l0gm/error.h"
#include "serving/latency.h"
#include "training/text/text_modality.h"
#include "training/text/text_run.h"
#include "training/train.h"

namespace l0gm {

nlohmann::json measure_text_inference(const std::filesystem::path& path, const Machine& machine, const SpeedOptions& options) {
  using Clock = std::chrono::steady_clock;
  TextRun run(path, machine);
  const TextRows texts = run.rows(Split::test);
  int64_t tokens = 0;
  for (const int64_t row : texts.rows) tokens += texts.tokens->length(row);
  reset_peak(machine);
  std::vector<double> seconds, processor_seconds;
  for (int64_t time = 0; time < options.warmup + options.inferences; ++time) {
    wait_for(machine.device);
    const Clock::time_point start = Clock::now();
    const std::clock_t processor = std::clock();                                            // of all threads together
    predict_texts(*run.served(), run.gate_state, texts, run.text.classes, machine.device);  // probabilities are on the host
    if (time < options.warmup) continue;
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    processor_seconds.push_back(static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC);
  }
  const double median = percentile(seconds, 0.5);
  return {{"what", path.string()},
          {"dataset", run.text.dataset},
          {"texts", texts.rows.size()},
          {"tokens", tokens},
          {"inference_seconds", median},
          {"processor_seconds", percentile(processor_seconds, 0.5)},
          {"texts_per_second", static_cast<double>(texts.rows.size()) / median},
          {"peak_bytes", peak_bytes(machine)}};
}

nlohmann::json measure_text_training(Config config, const std::filesystem::path& work, const Machine& machine,
                                     const SpeedOptions& options) {
  const TextModality text;
  if (!text.reads(config.data)) throw UserError("bench text times texts; data.source is something else");
  const TemporaryFolder folder{work};
  nlohmann::json result = measure_training(text, std::move(config), work, machine, options);
  result.update(measure_text_inference(work, machine, options));
  return result;
}

std::string describe_text_speed(const nlohmann::json& result) {
  std::string text = fmt::format("{}: {} test texts, {} tokens\n", result["dataset"].get<std::string>(),
                                 with_thousands(result["texts"].get<int64_t>()), with_thousands(result["tokens"].get<int64_t>()));
  if (result.contains("epoch_seconds")) {
    text += fmt::format("  training    {:.2f} s an epoch ({} steps)\n", result["epoch_seconds"].get<double>(),
                        result["steps_per_epoch"].get<int64_t>());
  }
  return text + fmt::format("  inference   {:.2f} s, {:.0f} texts a second\n", result["inference_seconds"].get<double>(),
                            result["texts_per_second"].get<double>());
}

}  // namespace l0gm
