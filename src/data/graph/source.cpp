#include "data/graph/source.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/catalogue.h"
#include "data/fetch.h"
#include "data/graph/cache.h"
#include "data/graph/check_graph.h"
#include "data/graph/node_split.h"
#include "data/graph/npz.h"
#include "data/graph/ogb.h"
#include "data/graph/own_graph.h"
#include "data/graph/unused_options.h"
#include "data/locate.h"
#include "data/made/planted_graph.h"
#include "data/made/products_like.h"
#include "data/made/varied_graph.h"
#include "data/splits.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// To be increased when a reader or a generator makes another graph from the same files or seed.
constexpr int conversion_version = 2;

using NamedFiles = std::vector<std::pair<std::string, fs::path>>;  // by what they are

// A graph that is not read yet: its name, its files, the options that affect it, and the function that makes it.
struct Recipe {
  std::string name;
  NamedFiles files;
  nlohmann::json options;
  std::function<Graph()> make;
};

// Size and time of each file: these change when a file is written to.
std::vector<std::pair<uintmax_t, fs::file_time_type>> states_of(const NamedFiles& files) {
  std::vector<std::pair<uintmax_t, fs::file_time_type>> states;
  for (const auto& [what, path] : files) {
    std::error_code ignored;  // opening the file reports what is wrong with it
    states.emplace_back(fs::file_size(path, ignored), fs::last_write_time(path, ignored));
  }
  return states;
}

Graph prepare(const Recipe& recipe, const GraphOptions& graph_options) {
  std::vector<FileStamp> stamps;
  const auto before = states_of(recipe.files);
  nlohmann::json made_from = {{"version", conversion_version},
                              {"options", recipe.options},
                              {"undirected", graph_options.undirected}};
  for (const auto& [what, path] : recipe.files) {
    stamps.push_back({path, sha256_file(path)});
    made_from["files"][what] = stamps.back().sha256;
  }
  fs::path folder = graph_options.cache;
  if (folder.empty() && !user_cache_folder().empty()) folder = user_cache_folder() / "graphs";
  Graph graph = cached_graph(folder, sha256(made_from.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)), [&] {
    log_info(fmt::format("{}: converting it; later runs take it from the cache", recipe.name));
    Graph made = recipe.make();
    if (states_of(recipe.files) != before)
      throw UserError(
          fmt::format("{}: its files were written to while they were read. Try again when they are whole.", recipe.name));
    made.name = recipe.name;
    check_graph(made, recipe.name);
    return made;
  });
  // A cached graph may have been made from the same content under other paths.
  graph.name = recipe.name;
  graph.files = std::move(stamps);
  return graph;
}

// Links need no labels: without labels every node is a training node, and links are held out instead.
bool needs_labels(const GraphOptions& options) { return options.task != GraphTaskKind::links; }

void train_on_all_nodes(Graph& graph) {
  graph.train.resize(static_cast<size_t>(graph.nodes));
  std::iota(graph.train.begin(), graph.train.end(), int64_t{0});
}

void refuse_split_without_labels(const DataOptions& options) {
  const SplitOptions& split = options.split;
  for (const auto& [key, value] :
       {std::pair("train", &options.train), std::pair("valid", &options.valid), std::pair("test", &options.test),
        std::pair("split.column", &split.column), std::pair("label", &options.label)}) {
    if (value->empty()) continue;
    throw UserError(
        fmt::format("data.{} is set for a graph without labels: it divides or names labelled nodes, and graph.task = links needs "
                    "none. Remove it.",
                    key));
  }
  if (split.valid != SplitOptions().valid || split.test != SplitOptions().test) {
    throw UserError(
        "data.split.valid and data.split.test hold out labelled nodes, and there are none: link.valid and link.test hold out "
        "links. Remove them.");
  }
}

struct Shares {
  double valid = 0, test = 0;
  int64_t seed = 0;
};

NamedFiles stored_files(const fs::path& place, bool ogb, bool labelled) {
  return ogb ? ogb_files(place, labelled) : NamedFiles{{"npz", place}};
}

// Where the split of a stored graph comes from: files, masks inside the archive (the number of one, "" for the first), or shares.
struct StoredSplit {
  std::optional<SplitFiles> files = {};
  std::optional<std::string> mask = {};
  Shares shares = {};
};

// A graph in `place` (OGB's folder, or an npz archive) and its split.
Recipe stored_graph(const std::string& name, const fs::path& place, bool ogb, const StoredSplit& from, bool undirected) {
  Recipe recipe{.name = name, .files = stored_files(place, ogb, true), .options = {{"layout", ogb ? "ogb" : "npz"}}, .make = {}};
  const auto& [split, mask, shares] = from;
  if (mask) {
    recipe.options["mask"] = *mask;
  } else if (split) {
    for (size_t i = 0; i < 3; ++i) recipe.files.emplace_back(fmt::format("split {}", i), (*split)[i]);
  } else {
    recipe.options["drawn"] = {shares.valid, shares.test, shares.seed};
  }
  recipe.make = [=] {
    Graph graph = ogb ? read_ogb(place, undirected) : read_npz(place, undirected);
    if (from.mask) {
      read_npz_split(graph, place, *from.mask);
    } else if (from.files) {
      read_split(graph, *from.files);
    } else {
      draw_split(graph, from.shares.valid, from.shares.test, static_cast<uint64_t>(from.shares.seed));
    }
    return graph;
  };
  return recipe;
}

// The file name from its first dot on, which determines how the file is read.
std::string ending(const std::string& path) {
  const std::string name = lower(fs::path(path).filename().string());
  return name.substr(std::min(name.size(), name.find('.')));
}

Recipe own_graph(const DataOptions& options, const GraphOptions& graph_options) {
  const SplitOptions& split = options.split;
  const bool undirected = graph_options.undirected, labelled = !options.labels.empty() || needs_labels(graph_options);
  if (!labelled) refuse_split_without_labels(options);
  return {.name = fs::path(options.edges).filename().string(),
          .files = own_graph_files(options, labelled),
          .options = {{"layout", "own"},
                      {"delimiter", options.delimiter},
                      {"label", options.label},
                      {"column", split.column},
                      {"drawn", {split.valid, split.test, split.seed}},
                      {"array", options.features.ends_with(".npy")},
                      {"endings", {ending(options.edges), ending(options.features), ending(options.labels)}}},
          .make = [=] {
            Graph graph = read_own_graph(options, undirected);
            if (!labelled) train_on_all_nodes(graph);
            return graph;
          }};
}

fs::path own_graph_path(const DataOptions& options) {
  if (!options.graph.empty()) return options.graph;
  throw UserError(fmt::format("data.source is '{}', but data.graph is not set. Set it to {}.", options.source,
                              options.source == "ogb" ? "the folder that holds raw/ and split/" : "your .npz file"));
}

bool has_labels(const fs::path& place, bool ogb) { return ogb ? ogb_has_labels(place) : npz_has_labels(place); }

Recipe own_stored_graph(const DataOptions& options, const GraphOptions& graph_options) {
  const bool ogb = options.source == "ogb", undirected = graph_options.undirected;
  const fs::path place = own_graph_path(options);
  const std::string name = (place / "").parent_path().filename().string();
  if (!needs_labels(graph_options) && !has_labels(place, ogb)) {
    refuse_split_without_labels(options);
    return {.name = name,
            .files = stored_files(place, ogb, false),
            .options = {{"layout", ogb ? "ogb" : "npz"}, {"labels", false}},
            .make = [=] {
              Graph graph = ogb ? read_ogb(place, undirected, false) : read_npz(place, undirected, false);
              train_on_all_nodes(graph);
              return graph;
            }};
  }
  StoredSplit split{.shares = {options.split.valid, options.split.test, options.split.seed}};
  if (options.split.draw) return stored_graph(name, place, ogb, split, undirected);
  std::error_code ignored;
  if (!ogb && fs::is_regular_file(place, ignored) && npz_has_masks(place)) {  // a pipe is refused later, without being opened
    refuse_shares_beside_files(options, place);
    split.mask = options.protocol;
  } else if ((split.files = find_split_files(ogb ? place : fs::absolute(place).parent_path(), options.protocol))) {
    refuse_shares_beside_files(options, (*split.files)[0].parent_path());
  }
  return stored_graph(name, place, ogb, split, undirected);
}

// Finds or fetches all files of a catalogue graph and checks their content. Returns the path of the first.
fs::path obtain_graph(const CatalogueEntry& entry, const std::string& folder) {
  fs::path first;
  for (const CatalogueFile& file : entry.files) {
    try {
      const auto path = obtain_file(file, folder, FetchOptions::from_environment());
      if (first.empty() && path) first = *path;
    } catch (const UserError& error) {
      throw UserError(fmt::format("{} {}: {}", error.what(), entry.name, entry.origin));
    }
  }
  return first;
}

// The folder of arXiv's real graph may hold attributes that are not OGB's; results on them are not comparable with published
// ones.
void check_official_attributes(const std::string& name, const fs::path& folder) {
  const int64_t wanted = name == "ogbn-arxiv" ? 128 : 100, found = ogb_attributes(folder);
  if (found == wanted) return;
  throw UserError(fmt::format(
      "{}/raw/node-feat has {} columns, wanted {}: these are not the attributes of {}.{} Set data.dir to a folder with OGB's "
      "own files.",
      folder.string(), found, wanted, name,
      name == "ogbn-arxiv" && found == 40 ? " They are the guesses of `arxiv-guesses`; set data.source to that for them." : ""));
}

Recipe catalogue_graph(const CatalogueEntry& entry, const DataOptions& options, bool undirected) {
  const fs::path first = obtain_graph(entry, options.dir);
  const bool ogb = first.extension() != ".npz";
  const fs::path folder = ogb ? first.parent_path().parent_path() : first.parent_path();
  if (entry.name == "ogbn-arxiv" || entry.name == "ogbn-products") check_official_attributes(entry.name, folder);
  std::error_code ignored;
  if (options.split.draw) {
    const SplitOptions& shares = options.split;
    return stored_graph(entry.name, ogb ? folder : first, ogb, {.shares = {shares.valid, shares.test, shares.seed}}, undirected);
  }
  std::optional<SplitFiles> split;
  if (ogb || fs::is_directory(folder / "split", ignored)) split = find_split_files(folder, protocol_of(entry, options.protocol));
  if (!split)
    log_info(fmt::format("{}: the files of its split are not there; drew 60 / 20 / 20 % of the nodes, stratified.", entry.name));
  return stored_graph(entry.name, ogb ? folder : first, ogb, {.files = split, .shares = {.valid = 0.2, .test = 0.2, .seed = 0}},
                      undirected);
}

// The folder with the real labels and split of ogbn-products, if it is complete, else ""; its files go into `files`.
std::string real_products(const std::string& folder, NamedFiles& files) {
  for (const fs::path& place : data_folders(folder)) {
    for (const fs::path& real : {place / "graph" / "ogbn_products", place / "ogbn_products"}) {
      NamedFiles found;
      for (const std::string name : {"raw/node-label.csv", "split/sales_ranking/train.csv", "split/sales_ranking/valid.csv"}) {
        if (const auto path = find_data_file({real}, {name + ".gz", name})) found.emplace_back(name, *path);
      }
      if (found.size() < 3) continue;
      files = std::move(found);
      return real.string();
    }
  }
  return {};
}

Recipe products_like(const DataOptions& options, const GraphOptions& graph) {
  Recipe recipe{.name = "products-like",
                .files = {},
                .options = {{"layout", "products-like"}, {"scale", graph.scale}, {"seed", options.split.seed}},
                .make = {}};
  const std::string real = real_products(options.dir, recipe.files);
  recipe.make = [scale = graph.scale, seed = static_cast<uint64_t>(options.split.seed), real] {
    return make_products_like(scale, seed, real);
  };
  return recipe;
}

Graph load_as_split(const DataOptions& options, const GraphOptions& graph) {
  if (options.source.empty()) {
    throw UserError(
        "data.source is not set. Set it to a dataset's name (`l0gm data list`), or to graph, ogb or npz for your own graph.");
  }
  const CatalogueEntry& entry = catalogue_entry(options.source);
  if (entry.modality != "graph")
    throw UserError(fmt::format("data.source = \"{}\" is a {}, wanted a graph.", entry.name, entry.modality));
  refuse_unused_options(entry, options, graph);
  if (entry.name == "planted-graph" || entry.name == "varied-graph") {
    const auto seed = static_cast<uint64_t>(options.split.seed);
    Graph made = entry.name == "planted-graph" ? make_planted_graph(options.rows, seed) : make_varied_graph(seed);
    check_graph(made, entry.name);
    return made;
  }
  if (entry.name == "products-like") return prepare(products_like(options, graph), graph);
  if (entry.name == "graph") return prepare(own_graph(options, graph), graph);
  if (entry.own) return prepare(own_stored_graph(options, graph), graph);
  return prepare(catalogue_graph(entry, options, graph.undirected), graph);
}

}  // namespace

Graph load_graph(const DataOptions& options, const GraphOptions& graph) {
  Graph read = load_as_split(options, graph);
  if (!options.split.folds) return read;
  if (graph.task == GraphTaskKind::links) {
    throw UserError("data.split.folds deals nodes with labels into folds, and graph.task is links. Remove one of them.");
  }
  read.name += fold_suffix(options.split);
  apply_folds(options.split, read.train, read.valid, read.test, [&](const std::vector<int64_t>& nodes) {
    std::vector<int32_t> labels;
    for (const int64_t node : nodes) labels.push_back(read.labels[node]);
    return labels;
  });
  return read;
}

Graph load_graph_to_predict(const DataOptions& options, const GraphOptions& graph) {
  const bool ogb = options.source == "ogb", stored = ogb || options.source == "npz";
  if (options.source != "graph" && !stored) return load_graph(options, graph);
  DataOptions unlabelled = options;  // labels and their split are not used for prediction
  unlabelled.split = {};
  for (std::string* key : {&unlabelled.labels, &unlabelled.label, &unlabelled.train, &unlabelled.valid, &unlabelled.test})
    key->clear();
  refuse_unused_options(catalogue_entry(options.source), unlabelled, graph);
  Graph read;
  if (stored) {
    const fs::path place = own_graph_path(options);
    read = ogb ? read_ogb(place, graph.undirected, false) : read_npz(place, graph.undirected, false);
  } else {
    for (const auto& [key, path] : {std::pair("edges", &options.edges), std::pair("features", &options.features)}) {
      if (!path->empty()) continue;
      throw UserError(fmt::format(
          "data.source is 'graph', but data.{} is not set. To predict, your own graph needs data.edges and data.features.", key));
    }
    read = read_own_graph(unlabelled, graph.undirected);
  }
  check_graph(read, read.name, false);
  return read;
}

}  // namespace l0gm
