#include "data/graph/cache.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/safetensors.h"
#include "data/graph/check_graph.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
constexpr int format_version = 1;

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, int64_t>) return DType::i64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, char>) return DType::u8;
}

template <class T>
TensorBytes tensor_of(std::span<const T> values) {
  return {dtype_of<T>(),
          {static_cast<int64_t>(values.size())},
          {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
}

// Arrays out of a file that stays mapped as long as one of them is used.
class CacheReader {
 public:
  explicit CacheReader(const fs::path& path) : path_(path.string()), file_(std::make_shared<const SafetensorsFile>(path)) {}

  template <class T>
  SharedArray<T> array(const std::string& name) const {
    const TensorBytes& tensor = file_->tensor(name);
    const bool aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(T) == 0;
    if (tensor.dtype != dtype_of<T>() || tensor.shape.size() != 1 || !aligned)
      fail(fmt::format("tensor '{}' has another type or shape", name));
    return {file_, {reinterpret_cast<const T*>(tensor.bytes.data()), static_cast<size_t>(tensor.shape[0])}};
  }
  template <class T>
  std::vector<T> vector(const std::string& name) const {
    const SharedArray<T> values = array<T>(name);
    return {values.begin(), values.end()};
  }
  bool has(const std::string& name) const { return file_->has(name); }
  [[noreturn]] void fail(const std::string& what) const {
    throw UserError(fmt::format("'{}' cannot be read as a converted graph: {}. Remove it; it will be made again.", path_, what));
  }

 private:
  std::string path_;
  std::shared_ptr<const SafetensorsFile> file_;
};

// Everything that is not an array, as JSON. It is a tensor too, so that the file's hash covers it.
std::string describe(const Graph& graph) {
  nlohmann::json files = nlohmann::json::array();
  for (const FileStamp& file : graph.files) files.push_back({{"path", file.path.string()}, {"sha256", file.sha256}});
  const nlohmann::json json = {{"format", format_version},       {"name", graph.name},
                               {"nodes", graph.nodes},           {"symmetric", graph.symmetric},
                               {"attributes", graph.attributes}, {"attribute_names", graph.attribute_names},
                               {"classes", graph.classes},       {"node_names", graph.node_names},
                               {"planted", graph.planted},       {"files", files}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void read_description(Graph& graph, const CacheReader& reader) {
  const SharedArray<char> text = reader.array<char>("description");
  try {
    const nlohmann::json json = nlohmann::json::parse(text.begin(), text.end());
    if (json.at("format") != format_version) reader.fail("another version of l0gm wrote it");
    json.at("name").get_to(graph.name);
    json.at("nodes").get_to(graph.nodes);
    json.at("symmetric").get_to(graph.symmetric);
    json.at("attributes").get_to(graph.attributes);
    json.at("attribute_names").get_to(graph.attribute_names);
    json.at("classes").get_to(graph.classes);
    json.at("node_names").get_to(graph.node_names);
    json.at("planted").get_to(graph.planted);
    for (const nlohmann::json& file : json.at("files"))
      graph.files.push_back({file.at("path").get<std::string>(), file.at("sha256")});
  } catch (const nlohmann::json::exception& error) {
    reader.fail(error.what());
  }
}

void set_aside(const fs::path& path, const std::string& why) {
  fs::path aside = path;
  aside += ".damaged";
  std::error_code error;
  fs::rename(path, aside, error);
  log_warning(fmt::format("{}{} {}", why, why.ends_with('.') ? "" : ".",
                          error ? "The graph is made again." : fmt::format("It was set aside as {}.", aside.string())));
}

}  // namespace

void write_graph(const fs::path& path, const Graph& graph) {
  const std::string description = describe(graph);
  std::map<std::string, TensorBytes> tensors;
  tensors["description"] = tensor_of<char>(description);
  tensors["offsets"] = tensor_of(graph.offsets.span());
  tensors["neighbours"] = tensor_of(graph.neighbours.span());
  tensors["labels"] = tensor_of(graph.labels.span());
  tensors["train"] = tensor_of<int64_t>(graph.train);
  tensors["valid"] = tensor_of<int64_t>(graph.valid);
  tensors["test"] = tensor_of<int64_t>(graph.test);
  if (graph.is_sparse()) {
    tensors["sparse.offsets"] = tensor_of(graph.sparse.offsets.span());
    tensors["sparse.columns"] = tensor_of(graph.sparse.columns.span());
    tensors["sparse.values"] = tensor_of(graph.sparse.values.span());
  } else {
    tensors["dense"] = tensor_of(graph.dense.span());
  }
  write_safetensors(path, tensors, {{"kind", "l0gm graph"}});
}

Graph read_graph(const fs::path& path) {
  const CacheReader reader(path);
  Graph graph;
  read_description(graph, reader);
  graph.offsets = reader.array<int64_t>("offsets");
  graph.neighbours = reader.array<int32_t>("neighbours");
  graph.labels = reader.array<int32_t>("labels");
  graph.train = reader.vector<int64_t>("train");
  graph.valid = reader.vector<int64_t>("valid");
  graph.test = reader.vector<int64_t>("test");
  if (reader.has("dense")) {
    graph.dense = reader.array<float>("dense");
  } else {
    graph.sparse = {reader.array<int64_t>("sparse.offsets"), reader.array<int32_t>("sparse.columns"),
                    reader.array<float>("sparse.values")};
  }
  check_graph(graph, path.string());
  return graph;
}

Graph cached_graph(const fs::path& folder, const std::string& key, const std::function<Graph()>& make) {
  if (folder.empty()) return make();
  const fs::path path = folder / (key + ".graph");
  std::error_code error;
  if (fs::exists(path, error)) {
    try {
      Graph graph = read_graph(path);
      log_detail(fmt::format("{}: read from the cache, {}", graph.name, path.string()));
      return graph;
    } catch (const UserError& damage) {
      set_aside(path, damage.what());
    }
  }
  Graph graph = make();
  try {
    fs::create_directories(folder);
    write_graph(path, graph);
    log_detail(fmt::format("{}: cached as {}", graph.name, path.string()));
  } catch (const std::exception& failure) {
    log_warning(
        fmt::format("the converted graph could not be stored in {}: {}. It will be converted again next time; "
                    "graph.cache names another folder.",
                    folder.string(), failure.what()));
  }
  return graph;
}

}  // namespace l0gm
