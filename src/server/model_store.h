#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/served_model.h"
#include "server/server_metrics.h"

namespace l0gm {

struct ModelSource {
  std::string name;
  std::filesystem::path path;
  // PATH, served under the file's name without its ending, or NAME=PATH. UserError when that gives no name for an address.
  static ModelSource parse(const std::string& argument);
};

// The models that are served, by name. A file that changes is read again and takes the place of the one before; requests that
// began with that one end with it. A file that will not do changes nothing, and the metrics say so.
class ModelStore {
 public:
  using Open = std::function<std::shared_ptr<const ServedModel>(const std::string& name, const std::filesystem::path& path)>;
  // Reads all files; UserError when one will not do, or two have one name.
  ModelStore(const std::vector<ModelSource>& sources, ServerMetrics& metrics, Open open = ServedModel::open);

  struct Entry {
    std::shared_ptr<const ServedModel> model;
    ModelMetrics* metrics = nullptr;
  };
  Entry find(std::string_view name) const;  // without a model: there is none of that name
  std::vector<Entry> all() const;           // by name

  // Looks at the files once. A file is read when two looks in a row find it changed and alike: a copy may be half done.
  void look();

 private:
  struct Stamp {  // of a file; another one after each change
    int64_t seconds = 0, nanoseconds = 0, size = -1;
    uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Slot {
    ModelSource source;
    ModelMetrics* metrics;
    std::shared_ptr<const ServedModel> model;
    Stamp read, seen;  // of the file that was read last; at the last look
  };
  static Stamp stamp_of(const std::filesystem::path& path);
  void reload(Slot& slot);

  Open open_;
  mutable std::mutex mutex_;  // of the models of all slots
  std::map<std::string, Slot, std::less<>> slots_;
};

}  // namespace l0gm
