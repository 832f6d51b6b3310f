#include "training/started_folder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/log.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

// The options of a configuration but for paths: what lies there is compared by its bytes.
nlohmann::json without_paths(Config& config) {
  const OptionList options = OptionList::of(config);
  nlohmann::json json = options.json();
  for (const Option& option : options.options()) {
    if (option.is_path) json.erase(option.key);
  }
  return json;
}

// The resolved configurations must agree; the first option that differs is named with both values.
void require_same_config(const Modality& modality, Config given, const std::filesystem::path& path) {
  if (to_toml(given) == read_file(path)) return;
  Config stored = read_run_config(modality, path);
  const nlohmann::json now = without_paths(given), then = without_paths(stored);
  nlohmann::json keys = now;
  keys.update(then);
  const auto shown = [](const nlohmann::json& options, const std::string& key) {
    return options.contains(key) ? options[key].dump() : "unset";
  };
  for (const auto& [key, unused] : keys.items()) {
    if (shown(now, key) == shown(then, key)) continue;
    throw UserError(fmt::format(
        "--resume: the configuration is not that of {}: {} = {}, there {}. Give the same one, or choose another --out.",
        path.string(), key, shown(now, key), shown(then, key)));
  }
}

// Resuming is bit for bit on one machine and thread count; elsewhere the result differs by rounding.
void warn_of_another_machine(const nlohmann::json& then, const nlohmann::json& now) {
  for (const char* key : {"l0gm", "libtorch", "device", "cpu_capability", "threads"}) {
    if (!then.contains(key) || then[key] == now[key]) continue;
    log_warning(
        fmt::format("--resume: {} is {} now and was {} when the run was started: the result will not be equal bit for bit", key,
                    now[key].dump(), then[key].dump()));
  }
}

// The same bytes may lie elsewhere by now: paths do not count.
nlohmann::json without_file_paths(nlohmann::json record) {
  for (auto& file : record.at("files")) file.erase("path");
  return record;
}

void require_same_data(const nlohmann::json& stored, const Record& given, const std::filesystem::path& out) {
  if (stored.value("teacher", "") != given.teacher) {
    throw UserError(
        fmt::format("--resume: the teacher's weights (distill.from) are not those that {} was started with", out.string()));
  }
  if (without_file_paths(stored) != without_file_paths(given.to_json())) {
    throw UserError(fmt::format("--resume: the data differs from what {} was started with", out.string()));
  }
}

}  // namespace

std::unique_ptr<Record> stored_record(const Modality& modality, const std::filesystem::path& out, bool resume) {
  if (!resume || !RunFolder::is_run(out)) return nullptr;
  const RunFolder folder = RunFolder::open(out);
  return folder.started() ? modality.read_record(folder.read_json(folder.schema())) : nullptr;
}

RunFolder open_folder(const Modality& modality, const Config& config, const std::filesystem::path& out, bool resume,
                      const Record& record, const Machine& machine) {
  const nlohmann::json environment = describe_environment(machine, config.train.seed);
  if (resume && RunFolder::is_run(out)) {
    RunFolder folder = RunFolder::open(out);
    if (folder.started()) {
      folder.lock();
      require_same_config(modality, config, folder.config());
      require_same_data(modality.read_record(folder.read_json(folder.schema()))->to_json(), record, out);
      warn_of_another_machine(folder.read_json(folder.environment()), environment);
      return folder;
    }
  }
  RunFolder folder = RunFolder::create(out, std::string(modality.name()));
  folder.lock();
  folder.write_sealed(folder.config(), to_toml(config));
  folder.write_sealed(folder.schema(), record.to_json().dump(1) + "\n");
  folder.write_json(folder.environment(), environment);
  return folder;
}

}  // namespace l0gm
