#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/split.h"
#include "run/observer.h"

namespace l0gm {

// clang-format off
// A run is a folder:
//   run.json           format version, modality, state (creating, training, finished), SHA-256 of the files below that never change
//   config.toml        complete and resolved
//   schema.json        what was learned from training rows
//   metrics.jsonl      a line per look at the validation rows
//   checkpoint/        state.safetensors (to resume), best.safetensors (the result); before_hardening.safetensors while gates move
//   predictions/       SPLIT.csv
//   evaluation/        SPLIT.json
//   gates.json         P(open) of the units once gates are fixed, with their names; none of a dense model
//   gates.jsonl        how P(open) was spread over the units of each site, a line per look at the validation rows; gated runs only
//   latency.json       what `l0gm bench latency --run` measured
//   summary.json, environment.json
//   trees.json         boosted trees beside the net, and their share; tables only, where validation rows gain by them
//   trials.json        settings that were tried before training, where any were
//   teacher.csv        what a dense model that was trained first and not kept said of the training rows (distill.dense)
//   tensorboard/       with --tensorboard: event files
//   pupil/             with serve.pupil: the run of the small model that learned from this one
//   served.l0gm, .md   and that model's compact file with its card
// clang-format on
class RunFolder {
 public:
  static constexpr int format_version = 2;

  // A new run; a folder that holds a run or anything else is refused. What a process left behind that ended before training
  // started (killed, or refused its configuration) is not a run.
  // UserError when the path holds a run that was started, or anything else.
  static void require_free(const std::filesystem::path& path);
  static RunFolder create(const std::filesystem::path& path, const std::string& modality);
  // An existing run: refused when it is not a run, is damaged, or was written by a newer version.
  static RunFolder open(const std::filesystem::path& path);
  static bool is_run(const std::filesystem::path& path);
  // Removes what create() made, if training never started there: its configuration was refused. Anything else is left alone.
  static void remove_if_never_started(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.toml"; }
  std::filesystem::path schema() const { return path_ / "schema.json"; }
  std::filesystem::path metrics() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path state() const { return path_ / "checkpoint" / "state.safetensors"; }
  std::filesystem::path best() const { return path_ / "checkpoint" / "best.safetensors"; }
  std::filesystem::path before_hardening() const { return path_ / "checkpoint" / "before_hardening.safetensors"; }
  std::filesystem::path predictions(Split split) const { return in_folder("predictions", split, ".csv"); }
  std::filesystem::path evaluation(Split split) const { return in_folder("evaluation", split, ".json"); }
  std::filesystem::path gates() const { return path_ / "gates.json"; }
  std::filesystem::path gate_history() const { return path_ / "gates.jsonl"; }
  std::filesystem::path latency() const { return path_ / "latency.json"; }
  std::filesystem::path summary() const { return path_ / "summary.json"; }
  std::filesystem::path trees() const { return path_ / "trees.json"; }
  std::filesystem::path trials() const { return path_ / "trials.json"; }
  std::filesystem::path teacher() const { return path_ / "teacher.csv"; }
  std::filesystem::path environment() const { return path_ / "environment.json"; }

  // Held while a process trains; a UserError when another one does.
  void lock();

  std::string modality() const { return record_.value("modality", ""); }  // "table", …; "": written before runs said it

  // Writes a file that never changes again and remembers its hash: open() refuses the run when it was altered.
  void write_sealed(const std::filesystem::path& file, std::string_view bytes);
  void set_started();  // everything that training needs is written
  bool started() const { return record_.value("state", "") != "creating"; }
  void set_finished();
  bool finished() const { return record_.value("state", "") == "finished"; }
  void require_finished() const;  // UserError that says how to go on

  void append_metrics(const EpochRecord& record) const;  // on the disk on return: the next checkpoint counts its lines
  void keep_metrics(int64_t lines) const;                // drops what an interrupted run wrote after its last checkpoint
  double seconds_so_far() const;                         // by the last line of the metrics; 0 without one
  nlohmann::json read_json(const std::filesystem::path& file) const;
  void write_json(const std::filesystem::path& file, const nlohmann::json& value) const;

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  void save_record() const;
  void keep_gate_history(int64_t until) const;  // a step
  std::filesystem::path in_folder(const char* folder, Split split, const char* ending) const {
    return path_ / folder / (std::string(name_of_enum(split)) + ending);
  }
  std::filesystem::path path_;
  nlohmann::json record_;
  std::unique_ptr<FileLock> lock_;
};

}  // namespace l0gm
