#include "data/graph/cache.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/array_file.h"
#include "base/log.h"
#include "data/graph/check_graph.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
constexpr int format_version = 1;

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

void read_description(Graph& graph, const ArrayFile& reader) {
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
  const ArrayFile reader(path, "a converted graph");
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
      set_damaged_aside(path, damage.what(), "The graph");
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
