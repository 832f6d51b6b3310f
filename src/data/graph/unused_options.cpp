#include "data/graph/unused_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "l0gm/error.h"

namespace l0gm {
namespace {

template <class Value>
void refuse(const std::string& key, const Value& value, const Value& standard, const std::string& reason) {
  if (value == standard) return;
  throw UserError(fmt::format("{} is {}, but {}. Remove {}.", key, value, reason, key));
}

void refuse_shares(const DataOptions& options, const std::string& reason, bool with_seed) {
  const SplitOptions standard;
  refuse("data.split.valid", options.split.valid, standard.valid, reason);
  refuse("data.split.test", options.split.test, standard.test, reason);
  if (with_seed) refuse("data.split.seed", options.split.seed, standard.seed, reason);
}

// Texts that name files or columns, other than those in `used`.
void refuse_texts(const DataOptions& options, const std::vector<std::string>& used, const std::string& reason) {
  const std::vector<std::pair<std::string, std::string>> texts = {
      {"graph", options.graph},       {"edges", options.edges},
      {"features", options.features}, {"labels", options.labels},
      {"train", options.train},       {"valid", options.valid},
      {"test", options.test},         {"delimiter", options.delimiter},
      {"label", options.label},       {"split.column", options.split.column}};
  for (const auto& [key, value] : texts) {
    if (std::find(used.begin(), used.end(), key) == used.end()) refuse("data." + key, value, std::string(), reason);
  }
  if (!options.types.empty()) throw UserError("data.types is set, but a graph's attributes are numbers. Remove data.types.");
}

void refuse_for_own(const DataOptions& options) {
  if (options.source != "graph") {
    refuse_texts(options, {"graph"},
                 fmt::format("data.source = \"{}\" reads data.graph and the split beside it", options.source));
    return;
  }
  refuse_texts(options, {"edges", "features", "labels", "train", "valid", "test", "delimiter", "label", "split.column"},
               "data.source = \"graph\" reads data.edges, data.features and data.labels");
  refuse("data.protocol", options.protocol, std::string(),
         "the split of your own graph comes from data.split or from data.train, data.valid and data.test");
  const SplitOptions standard;
  refuse("data.split.draw", options.split.draw, false, "nothing else is done where your own graph names no split");
  if (!options.split.column.empty()) {
    refuse_shares(options, fmt::format("data.split.column = \"{}\" says which nodes are held out", options.split.column), true);
  }
  if (!options.valid.empty())
    refuse("data.split.valid", options.split.valid, standard.valid, "data.valid names a file for these nodes");
  if (!options.test.empty())
    refuse("data.split.test", options.split.test, standard.test, "data.test names a file for these nodes");
  if (!options.valid.empty() && !options.test.empty()) {
    refuse("data.split.seed", options.split.seed, standard.seed, "data.valid and data.test name files, so nothing is drawn");
  }
}

}  // namespace

void refuse_shares_beside_files(const DataOptions& options, const std::filesystem::path& place) {
  refuse_shares(options, fmt::format("the split is in {} (data.split.draw = true draws another one)", place.string()), true);
}

void refuse_unused_options(const CatalogueEntry& entry, const DataOptions& options, const GraphOptions& graph) {
  const bool made = !entry.own && entry.files.empty();
  if (entry.name != "planted-graph") {
    refuse("data.rows", options.rows, DataOptions().rows,
           entry.name == "products-like"  ? "graph.scale says how large products-like is"
           : entry.name == "varied-graph" ? "its seed says how many nodes varied-graph has"
                                          : "the graph brings its own nodes");
  }
  if (entry.name != "products-like")
    refuse("graph.scale", graph.scale, GraphOptions().scale, "only products-like comes in sizes");
  if (made)
    refuse("graph.undirected", graph.undirected, true, fmt::format("{} is made with both directions of every edge", entry.name));
  if (entry.own) {
    refuse_for_own(options);
    return;
  }
  protocol_of(entry, options.protocol);
  const std::string reason = fmt::format("data.source = \"{}\" brings its own", entry.name);
  refuse_texts(options, {}, reason + "; set data.source to graph, ogb or npz for your own graph");
  if (!options.split.draw) {
    refuse_shares(options, reason + " split" + (made ? "" : " (data.split.draw = true draws another one)"), !made);
  } else if (made) {
    throw UserError(fmt::format("data.split.draw is set, but {} is made with its split. Remove data.split.draw.", entry.name));
  }
}

}  // namespace l0gm
