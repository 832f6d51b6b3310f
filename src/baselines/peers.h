#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "baselines/search_space.h"

// Other libraries that are trained on the same rows by small programs of theirs (peers/), in an environment of their own.
namespace l0gm {

struct Peer {
  std::string name;                  // in tables: "catboost with exact values"
  std::string method;                // what peers/train.py calls it
  std::vector<std::string> flags;    // of peers/train.py
  SearchSpace space;                 // its own settings, for a search with the same budget as ours
  std::vector<std::string> modules;  // of python, that it imports
  std::string script = "train.py";
  std::string file = {};   // of an export, that it reads; "": the folder
  bool on_device = false;  // whether it can use a GPU
};

// Boosted trees as they come, and CatBoost with exact values.
const std::vector<Peer>& table_peers();
// Networks for tables, with their authors' defaults: nothing of theirs is searched.
const std::vector<Peer>& table_networks();
// Networks of PyTorch Geometric.
const std::vector<Peer>& graph_peers();
const Peer& peer_named(const std::string& name);  // UserError naming those there are

// Where the programs and their python are.
struct PeerPrograms {
  std::filesystem::path scripts, python;
  // Of all that decides on what a peer computes: the bytes of the programs, the list of libraries. Versions that another python
  // has are in each run's summary.json.
  std::string identity(const Peer& peer) const;
  // Those of the modules that their python does not find; none where it cannot be asked.
  std::vector<std::string> lacking(const std::vector<std::string>& modules) const;
};
// Why a peer is missing: there are no programs, or their python lacks what it imports; "": it can be run.
std::string why_missing(const std::vector<std::string>& modules, const std::optional<PeerPrograms>& programs);
// `given`, $L0GM_PEERS, or the folder peers/ beside this program's or above it; their python is `python`, $L0GM_PEERS_PYTHON or
// that of the environment .venv-peers beside the folder. None: no programs, or no python.
std::optional<PeerPrograms> find_peers(const std::filesystem::path& given, const std::filesystem::path& python = {});

}  // namespace l0gm
