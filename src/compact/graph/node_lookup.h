#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "compact/graph/graph_parity.h"
#include "runtime/table_net.h"

namespace l0gm {

// Nodes of a fixed graph as a table model with one categorical column, `node`: what the encoder says of each was computed ahead,
// so that the runtime serves it without LibTorch. A name that is not there gets the classes' shares among training nodes.
struct NodeLookup {
  Schema schema;
  TableNet<Matrix> net;
  bool folded = false;  // the table holds logits, else open channels: whatever is narrower
};
NodeLookup make_node_lookup(TrainedGraph& trained, std::span<const int64_t> nodes);

// Proves and writes such a file for the nodes `which`: all, valid, test, or a csv that names them. Returns what `l0gm compact
// --json` prints.
nlohmann::json write_node_lookup(TrainedGraph& trained, const std::filesystem::path& out, const std::filesystem::path& card,
                                 const std::string& which);

}  // namespace l0gm
