#include "evaluation/served_pupil.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compact/compact_run.h"
#include "run/run_folder.h"
#include "serving/latency.h"
#include "training/pupil.h"

namespace l0gm {

namespace {

constexpr double noticeable = 0.02;  // of the teacher's NLL: a pupil that is worse by more is told how to do better

double median_of(const nlohmann::json& measured, int64_t batch) {
  for (const nlohmann::json& line : measured["results"]) {
    if (line["input"] == "numbers" && line["batch"] == batch) return line["median_us"].get<double>();
  }
  return 0;
}

std::string compared(const Evaluation& of_teacher, const Evaluation& of_pupil, const Config& config, const Config& pupil) {
  const double taught = of_pupil.summary.raw.nll, teacher = of_teacher.summary.raw.nll;
  std::string text = fmt::format("  validation NLL {:.4f}, its teacher's {:.4f}\n", taught, teacher);
  const bool without = pupil.table.statistics == Statistics::none && config.table.statistics != Statistics::none;
  if (without && taught > (1 + noticeable) * teacher) {
    text +=
        "  the teacher has target statistics and the pupil none; this lets it look up those that are worth their time:\n"
        "    [serve]\n"
        "    settings = { \"table.statistics\" = \"auto\", \"gate.cost\" = \"serving\", \"gate.target_active\" = \"0.25\" }\n";
  }
  return text;
}

}  // namespace

ServedPupil serve_pupil(const std::filesystem::path& run, const Evaluation& of_teacher, const Evaluation& of_pupil,
                        const Config& config, const Config& pupil) {
  const std::filesystem::path file = run / "served.l0gm";
  const CompactResult made = compact_run(compact_kinds(), pupil_folder(run), file, {});
  LatencyOptions options;
  options.batches = {1, 1024};
  const nlohmann::json measured = measure_latency(file, options);
  const RunFolder folder = RunFolder::open(pupil_folder(run));
  folder.write_json(folder.latency(), measured);
  ServedPupil served;
  served.json = {{"file", file.string()}, {"bytes", made.json["bytes"]}, {"latency", measured["results"]}};
  served.text = fmt::format(
      "{}: the pupil as it is served, {} bytes; on one thread of this machine {:.2f} microseconds for a row alone, {:.2f} for "
      "one of 1,024\n",
      file.string(), with_thousands(made.json["bytes"].get<int64_t>()), median_of(measured, 1), median_of(measured, 1024));
  served.text += compared(of_teacher, of_pupil, config, pupil);
  return served;
}

}  // namespace l0gm
