#include "server/model_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t longest_name = 64;

bool fits_address(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

// What clients of the model before rely on. Columns may change with a new gate; they are named in the log.
void check_replaces(const ServedModel& before, const ServedModel& after) {
  if (before.predictor().classes() != after.predictor().classes()) {
    throw UserError(fmt::format("it has the classes {}, the model that is served has {}: start the server again to serve it",
                                list_some(after.predictor().classes()), list_some(before.predictor().classes())));
  }
  if (before.predictor().reads_texts() != after.predictor().reads_texts()) {
    throw UserError("it reads texts where the model that is served reads rows, or the other way round: start the server again");
  }
}

std::string missing_from(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  std::vector<std::string> missing;
  for (const std::string& name : some) {
    if (std::find(others.begin(), others.end(), name) == others.end()) missing.push_back(name);
  }
  return missing.empty() ? "" : list_some(missing);
}

}  // namespace

ModelSource ModelSource::parse(const std::string& argument) {
  const size_t equals = argument.find('=');
  ModelSource source;
  source.path = equals == std::string::npos ? argument : argument.substr(equals + 1);
  source.name = equals == std::string::npos ? source.path.stem().string() : argument.substr(0, equals);
  if (fits_address(source.name)) return source;
  throw UserError(fmt::format("'{}' is no name for an address: 1 to {} letters, digits, - _ and . are. Name the model: NAME={}",
                              source.name, longest_name, source.path.string()));
}

ModelStore::Stamp ModelStore::stamp_of(const std::filesystem::path& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) return {};
  return {found.st_mtim.tv_sec, found.st_mtim.tv_nsec, found.st_size, found.st_ino};
}

ModelStore::ModelStore(const std::vector<ModelSource>& sources, ServerMetrics& metrics, Open open) : open_(std::move(open)) {
  if (sources.empty()) throw UserError("there is no model to serve: name a compact file (.l0gm)");
  for (const ModelSource& source : sources) {
    if (const auto found = slots_.find(source.name); found != slots_.end()) {
      throw UserError(fmt::format("{} and {} would both be served as '{}': give one a name of its own, NAME={}",
                                  found->second.source.path.string(), source.path.string(), source.name, source.path.string()));
    }
    const Stamp stamp = stamp_of(source.path);
    Slot slot{source, &metrics.add_model(source.name), open_(source.name, source.path), stamp, stamp};
    slot.metrics->loaded(*slot.model);
    slots_.emplace(source.name, std::move(slot));
  }
}

ModelStore::Entry ModelStore::find(std::string_view name) const {
  const auto found = slots_.find(name);
  if (found == slots_.end()) return {};
  const std::lock_guard lock(mutex_);
  return {found->second.model, found->second.metrics};
}

std::vector<ModelStore::Entry> ModelStore::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (const auto& [name, slot] : slots_) entries.push_back({slot.model, slot.metrics});
  return entries;
}

void ModelStore::look() {
  for (auto& [name, slot] : slots_) {
    const Stamp stamp = stamp_of(slot.source.path);
    const bool settled = stamp == slot.seen;
    slot.seen = stamp;
    if (stamp == slot.read || !settled) continue;
    slot.read = stamp;
    reload(slot);
  }
}

void ModelStore::reload(Slot& slot) {
  const std::string& name = slot.source.name;
  try {
    std::shared_ptr<const ServedModel> model = open_(name, slot.source.path);
    check_replaces(*slot.model, *model);
    const auto &before = slot.model->predictor().columns(), &after = model->predictor().columns();
    const std::string added = missing_from(after, before), dropped = missing_from(before, after);
    slot.metrics->loaded(*model);
    log_info(fmt::format("model '{}': the file has changed and is served now, version {}{}{}", name, model->version(),
                         added.empty() ? "" : fmt::format("; it also reads {}", added),
                         dropped.empty() ? "" : fmt::format("; it no longer reads {}", dropped)));
    const std::lock_guard lock(mutex_);
    slot.model = std::move(model);
  } catch (const std::exception& error) {  // also memory that is not there
    slot.metrics->refused_reload(error.what());
    log_warning(fmt::format("model '{}': the file has changed and is refused; version {} goes on serving. {}", name,
                            slot.model->version(), error.what()));
  }
}

}  // namespace l0gm
