#include "run/run_folder.h"

#include <fmt/format.h>

#include <sstream>

#include "base/hash.h"
#include "base/version.h"
#include "l0gm/error.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

// Nothing but what create() makes before run.json: a process was killed in between.
bool is_unfinished_creation(const fs::path& path) {
  if (!fs::is_directory(path)) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == "checkpoint" || name == "predictions" ? entry.is_directory() && fs::is_empty(entry.path())
                                                                    : name.starts_with(".l0gm-") && name.ends_with(".tmp");
    if (!ours) return false;
  }
  return true;
}

bool was_never_started(const fs::path& path) {
  try {
    return !RunFolder::open(path).started();
  } catch (const UserError&) {
    return false;  // a run, though a damaged one
  }
}

std::string_view last_line(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
}

// 0 where the line tells none.
int64_t step_of(std::string_view line) {
  const nlohmann::json parsed = nlohmann::json::parse(line, nullptr, false);
  return parsed.is_object() && parsed.contains("step") && parsed["step"].is_number_integer() ? parsed["step"].get<int64_t>() : 0;
}

}  // namespace

bool RunFolder::is_run(const fs::path& path) { return fs::is_regular_file(path / "run.json"); }

void RunFolder::require_free(const fs::path& path) {
  const bool run = is_run(path);
  if (run && !was_never_started(path)) {
    throw UserError(fmt::format("{} already holds a run: continue it with --resume, or choose another --out", path.string()));
  }
  if (!run && fs::exists(path) && !is_unfinished_creation(path)) {
    throw UserError(fmt::format("{} exists and is not a run: choose an --out that does not exist yet", path.string()));
  }
}

void RunFolder::remove_if_never_started(const fs::path& path) {
  if (!is_run(path) || !was_never_started(path)) return;
  const std::unique_ptr<FileLock> lock = FileLock::try_take(path / "lock");
  std::error_code ignored;
  if (lock != nullptr) fs::remove_all(path, ignored);  // else another process is about to start there
}

RunFolder RunFolder::create(const fs::path& path, const std::string& modality) {
  require_free(path);
  std::error_code error;
  fs::create_directories(path / "checkpoint", error);
  if (!error) fs::create_directories(path / "predictions", error);
  if (error) throw UserError(fmt::format("{} cannot be created: {}", path.string(), error.message()));
  RunFolder folder(path);
  folder.record_ = {{"format", format_version},
                    {"l0gm", version},
                    {"modality", modality},
                    {"state", "creating"},
                    {"sealed", nlohmann::json::object()}};
  folder.save_record();
  return folder;
}

RunFolder RunFolder::open(const fs::path& path) {
  if (!fs::exists(path)) throw UserError(fmt::format("{} does not exist", path.string()));
  if (!is_run(path)) throw UserError(fmt::format("{} is not a run: it has no run.json", path.string()));
  RunFolder folder(path);
  folder.record_ = folder.read_json(path / "run.json");
  const auto& record = folder.record_;
  if (!record.is_object() || !record.contains("format") || !record["format"].is_number_integer() || !record.contains("sealed") ||
      !record["sealed"].is_object() || !record.contains("state") || !record["state"].is_string() ||
      (record.contains("modality") && !record["modality"].is_string())) {
    throw UserError(fmt::format("{}/run.json is damaged: train the run again, or restore the folder", path.string()));
  }
  if (record["format"].get<int64_t>() > format_version) {
    throw UserError(fmt::format("{} was written by a newer l0gm (run format {}, this one reads up to {}): update l0gm",
                                path.string(), record["format"].get<int64_t>(), format_version));
  }
  if (record["format"].get<int64_t>() < format_version) {
    throw UserError(fmt::format(
        "{} was written by an older l0gm (run format {}, this one reads {}), whose tables were encoded in another way: "
        "train it again",
        path.string(), record["format"].get<int64_t>(), format_version));
  }
  for (const auto& [name, hash] : record["sealed"].items()) {
    if (!hash.is_string() || !fs::exists(path / name) || sha256_file(path / name) != hash.get<std::string>()) {
      throw UserError(fmt::format("{} was altered or lost since training: the run cannot be trusted; restore it or train again",
                                  (path / name).string()));
    }
  }
  return folder;
}

void RunFolder::lock() {
  lock_ = FileLock::try_take(path_ / "lock");
  if (lock_ == nullptr)
    throw UserError(fmt::format("{} is in use by another process: wait for it, or stop it first", path_.string()));
}

void RunFolder::save_record() const { write_json(path_ / "run.json", record_); }

void RunFolder::write_sealed(const fs::path& file, std::string_view bytes) {
  write_file_atomically(file, bytes);
  record_["sealed"][fs::relative(file, path_).string()] = sha256(bytes);
  save_record();
}

void RunFolder::set_started() {
  record_["state"] = "training";
  save_record();
}

void RunFolder::set_finished() {
  record_["state"] = "finished";
  save_record();
}

void RunFolder::require_finished() const {
  if (finished()) return;
  throw UserError(
      fmt::format("{} has not finished training: continue it with `l0gm train CONFIG --out {} --resume`, or end it at its last "
                  "checkpoint with --resume --finish",
                  path_.string(), path_.string()));
}

void RunFolder::append_metrics(const EpochRecord& r) const {
  const nlohmann::ordered_json line = {{"step", r.step},
                                       {"epoch", r.epoch},
                                       {"phase", r.phase},
                                       {"tau", r.tau},
                                       {"lambda", r.lambda},
                                       {"mu", r.mu},
                                       {"train_loss", r.train_loss},
                                       {"valid_nll", r.valid_nll},
                                       {"active_fraction", r.active_fraction},
                                       {"expected_active_fraction", r.expected_active_fraction},
                                       {"seconds", r.seconds}};
  if (!r.gates.empty()) {  // before the metrics: keep_metrics() drops what they do not know
    nlohmann::ordered_json look = {{"step", r.step}};
    for (const GateHistogram& histogram : r.gates) look["sites"][histogram.site] = histogram.counts;
    append_to_file(gate_history(), look.dump() + '\n');
  }
  append_to_file(metrics(), line.dump() + '\n');
}

void RunFolder::keep_metrics(int64_t lines) const {
  if (!fs::exists(metrics())) {
    if (lines == 0) return;
    throw UserError(
        fmt::format("{} is lost though the checkpoint knows {} lines of it: the run is damaged", metrics().string(), lines));
  }
  const std::string text = read_file(metrics());
  size_t end = 0;
  for (int64_t i = 0; i < lines; ++i) {
    const size_t next = text.find('\n', end);
    if (next == std::string::npos) {
      throw UserError(fmt::format("{} has fewer lines than its checkpoint knows: the run is damaged", metrics().string()));
    }
    end = next + 1;
  }
  write_file_atomically(metrics(), std::string_view(text).substr(0, end));
  keep_gate_history(step_of(last_line(std::string_view(text).substr(0, end))));
}

void RunFolder::keep_gate_history(int64_t until) const {
  if (!fs::exists(gate_history())) return;
  std::istringstream text(read_file(gate_history()));
  std::string kept;
  for (std::string line; std::getline(text, line);) {
    const int64_t step = step_of(line);
    if (step == 0 || step > until) break;
    kept += line + '\n';
  }
  write_file_atomically(gate_history(), kept);
}

double RunFolder::seconds_so_far() const {
  const std::string text = fs::exists(metrics()) ? read_file(metrics()) : "";
  const nlohmann::json line = nlohmann::json::parse(last_line(text), nullptr, false);
  return line.is_object() && line.contains("seconds") && line["seconds"].is_number() ? line["seconds"].get<double>() : 0;
}

nlohmann::json RunFolder::read_json(const fs::path& file) const {
  try {
    return nlohmann::json::parse(read_file(file));
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("{} is damaged: {}", file.string(), error.what()));
  }
}

void RunFolder::write_json(const fs::path& file, const nlohmann::json& value) const {
  write_file_atomically(file, value.dump(2) + "\n");
}

}  // namespace l0gm
