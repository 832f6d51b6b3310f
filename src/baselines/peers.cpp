#include "baselines/peers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/hash.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

SearchSpace space_of_xgboost() {
  return {axis_of("learning_rate", {"0.02", "0.05", "0.1"}),  axis_of("max_depth", {"4", "6", "8", "10"}),
          axis_of("min_child_weight", {"1", "5", "20"}),      axis_of("subsample", {"0.7", "1.0"}),
          axis_of("colsample_bytree", {"0.5", "0.7", "1.0"}), axis_of("reg_lambda", {"1", "10"})};
}

SearchSpace space_of_lightgbm() {
  return {axis_of("learning_rate", {"0.02", "0.05", "0.1"}),
          axis_of("num_leaves", {"15", "31", "63", "127"}),
          axis_of("min_data_in_leaf", {"5", "20", "100"}),
          {"bagging_fraction", {{"bagging_fraction=1.0"}, {"bagging_fraction=0.7", "bagging_freq=1"}}},
          axis_of("feature_fraction", {"0.5", "0.7", "1.0"}),
          axis_of("lambda_l2", {"0", "1", "10"})};
}

SearchSpace space_of_catboost() {
  return {axis_of("learning_rate", {"0.02", "0.05", "0.1"}),
          axis_of("depth", {"4", "6", "8"}),
          axis_of("l2_leaf_reg", {"1", "3", "10"}),
          axis_of("random_strength", {"0.5", "1", "3"}),
          {"bootstrap_type",
           {{"bootstrap_type=MVS"},
            {"bootstrap_type=Bayesian", "bagging_temperature=0"},
            {"bootstrap_type=Bayesian", "bagging_temperature=1"}}}};
}

SearchSpace space_of_hist_gradient_boosting() {
  return {axis_of("learning_rate", {"0.02", "0.05", "0.1"}), axis_of("max_leaf_nodes", {"15", "31", "63", "127"}),
          axis_of("min_samples_leaf", {"5", "20", "100"}), axis_of("l2_regularization", {"0", "1", "10"})};
}

// As one word of a shell's command line.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::filesystem::path environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What peers/train.py imports, and the library itself.
std::vector<std::string> of_tables(const char* library) { return {"numpy", "pandas", library}; }

}  // namespace

const std::vector<Peer>& table_peers() {
  static const char *const sklearn = "hist-gradient-boosting", *const exact = "catboost with exact values";
  static const std::vector<Peer> peers = {{"xgboost", "xgboost", {}, space_of_xgboost(), of_tables("xgboost")},
                                          {"lightgbm", "lightgbm", {}, space_of_lightgbm(), of_tables("lightgbm")},
                                          {"catboost", "catboost", {}, space_of_catboost(), of_tables("catboost")},
                                          {exact, "catboost", {"--exact-values"}, space_of_catboost(), of_tables("catboost")},
                                          {sklearn, sklearn, {}, space_of_hist_gradient_boosting(), of_tables("sklearn")}};
  return peers;
}

const std::vector<Peer>& table_networks() {
  static const std::vector<Peer> peers = {{"realmlp", "realmlp", {}, {}, of_tables("pytabkit")},
                                          {"tabm", "tabm", {}, {}, of_tables("pytabkit")}};
  return peers;
}

const std::vector<Peer>& graph_peers() {
  static const std::vector<Peer> peers = [] {
    std::vector<Peer> all;
    for (const char* method : {"gcn", "sage", "gat"}) {
      all.push_back({std::string("pyg ") + method,
                     method,
                     {},
                     {},
                     {"numpy", "torch", "torch_geometric"},
                     "graph.py",
                     "graph.safetensors",
                     true});
    }
    return all;
  }();
  return peers;
}

const Peer& peer_named(const std::string& name) {
  std::vector<std::string> names;
  for (const std::vector<Peer>* peers : {&table_peers(), &table_networks(), &graph_peers()}) {
    for (const Peer& peer : *peers) {
      if (peer.name == name) return peer;
      names.push_back(peer.name);
    }
  }
  throw UserError(fmt::format("there is no peer '{}'.{} There are: {}", name, did_you_mean(name, names), join(names, ", ")));
}

// peers/graph.py takes two modules from the programs that time peers.
std::string PeerPrograms::identity(const Peer& peer) const {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(scripts)) {
    if (entry.path().extension() == ".py" || entry.path().filename() == "requirements.txt") files.push_back(entry.path());
  }
  const fs::path shared = scripts.parent_path() / "bench" / "peers";
  for (const char* name : {"graph_file.py", "pyg_graph.py"}) {
    if (peer.script == "graph.py" && fs::exists(shared / name)) files.push_back(shared / name);
  }
  std::vector<std::string> lines;
  for (const fs::path& file : files) lines.push_back(file.filename().string() + " " + sha256_file(file));
  std::sort(lines.begin(), lines.end());
  return sha256(join(lines, "\n"));
}

std::vector<std::string> PeerPrograms::lacking(const std::vector<std::string>& modules) const {
  constexpr const char* question =
      "import importlib.util, sys; [print(name) for name in sys.argv[1:] if importlib.util.find_spec(name) is None]";
  std::string command = quoted(python.string()) + " -c " + quoted(question);
  for (const std::string& name : modules) command += " " + quoted(name);
  const std::unique_ptr<FILE, int (*)(FILE*)> answer(::popen((command + " 2>/dev/null").c_str(), "r"), ::pclose);
  std::vector<std::string> found;
  std::array<char, 256> line{};
  while (answer && std::fgets(line.data(), static_cast<int>(line.size()), answer.get()) != nullptr)
    found.emplace_back(trim(line.data()));
  return found;
}

std::string why_missing(const std::vector<std::string>& modules, const std::optional<PeerPrograms>& programs) {
  if (!programs) return "not installed: peers/setup makes the environment";
  const std::vector<std::string> lacking = programs->lacking(modules);
  if (lacking.empty()) return "";
  return fmt::format("not installed: the peers' python has no {}; peers/setup makes an environment with all",
                     join(lacking, ", "));
}

std::optional<PeerPrograms> find_peers(const std::filesystem::path& given, const std::filesystem::path& python) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<fs::path> places;
  if (!given.empty()) {
    places.push_back(given);
  } else if (const fs::path named = environment("L0GM_PEERS"); !named.empty()) {
    places.push_back(named);
  } else {
    for (fs::path folder = fs::read_symlink("/proc/self/exe", ignored).parent_path(); !folder.empty();
         folder = folder.parent_path()) {
      places.push_back(folder / "peers");
      if (folder == folder.root_path()) break;
    }
  }
  const fs::path named = python.empty() ? environment("L0GM_PEERS_PYTHON") : python;
  for (const fs::path& scripts : places) {
    const fs::path found = named.empty() ? scripts.parent_path() / ".venv-peers" / "bin" / "python" : named;
    if (fs::exists(scripts / "train.py", ignored) && ::access(found.c_str(), X_OK) == 0)
      return PeerPrograms{fs::absolute(scripts), fs::absolute(found)};
  }
  return std::nullopt;
}

}  // namespace l0gm
