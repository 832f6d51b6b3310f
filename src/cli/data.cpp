#include <fmt/format.h>

#include <algorithm>

#include "base/csv.h"
#include "base/text.h"
#include "cli/command.h"
#include "data/catalogue.h"
#include "data/fetch.h"
#include "data/graph/cache.h"
#include "data/graph/source.h"
#include "data/locate.h"
#include "data/made/planted_table.h"
#include "data/table/perturb.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "training/config.h"

namespace l0gm {

namespace {

struct DataArguments {
  std::string name, folder, out, config, protocol;
  std::vector<std::string> assignments;
  int64_t rows = 20000, seed = 0;
  double scale = 1;
  bool perturb = false;
};

nlohmann::json entry_json(const CatalogueEntry& entry, const std::string& folder) {
  nlohmann::json files = nlohmann::json::array();
  for (const CatalogueFile& file : entry.files) {
    const auto found = find_data_file(data_folders(folder), file.spellings());
    files.push_back({{"path", file.path},
                     {"address", file.address},
                     {"sha256", file.sha256},
                     {"optional", file.optional},
                     {"found", found ? nlohmann::json(found->string()) : nlohmann::json()}});
  }
  return {{"name", entry.name},           {"modality", entry.modality},
          {"protocols", entry.protocols}, {"description", entry.description},
          {"origin", entry.origin},       {"files", files}};
}

void run_list(const Common& common) {
  nlohmann::json list = nlohmann::json::array();
  std::string text;
  for (const CatalogueEntry& entry : catalogue()) {
    list.push_back(entry_json(entry, ""));
    text += fmt::format("{:<16} {:<6} {}\n", entry.name, entry.modality, entry.description);
  }
  print_result(common, {{"datasets", list}}, text);
}

// What is known of a made table, the same for any number of rows.
nlohmann::json truth_json(const TableDataset& data) {
  nlohmann::json json = {{"planted", data.planted}, {"bayes_auc", data.bayes_auc}};
  if (data.bayes_nll > 0) json["bayes_nll"] = data.bayes_nll;
  return json;
}

std::string truth_text(const TableDataset& data) {
  const std::string loss = data.bayes_nll > 0 ? fmt::format(", the best possible NLL {:.4f}", data.bayes_nll) : "";
  return fmt::format("informative: {}; the best possible AUC is {:.4f}{}", join(data.planted, ", "), data.bayes_auc, loss);
}

void run_info(const DataArguments& arguments, const Common& common) {
  const CatalogueEntry& entry = catalogue_entry(arguments.name);
  nlohmann::json json = entry_json(entry, arguments.folder);
  std::string text = fmt::format("{} ({})\n  {}\n  origin: {}\n  protocols: {}\n", entry.name, entry.modality, entry.description,
                                 entry.origin, join(entry.protocols, ", "));
  for (const auto& file : json["files"]) {
    text += fmt::format("  {}{}: {}\n", file["path"].get<std::string>(), file["optional"].get<bool>() ? " (optional)" : "",
                        !file["found"].is_null() ? file["found"].get<std::string>()
                        : file["address"].get<std::string>().empty()
                            ? "not here, and it has no public address: put it into one of the folders below"
                            : "not here; `l0gm data get " + entry.name + "` fetches it");
  }
  if (!entry.files.empty()) {
    std::vector<std::string> folders;
    for (const auto& folder : data_folders(arguments.folder)) folders.push_back(folder.string());
    text +=
        fmt::format("  looked for in: {}\n", folders.empty() ? "no folder; set L0GM_DATA or --data-dir" : join(folders, ", "));
  }
  if (entry.files.empty() && !entry.own && entry.modality == "table") {
    for (const std::string& protocol : entry.protocols.empty() ? std::vector<std::string>{""} : entry.protocols) {
      DataOptions options;
      options.source = entry.name;
      options.protocol = protocol;
      options.rows = 100;
      const TableDataset data = load_table(options, 0);
      json["truth"][protocol.empty() ? "default" : protocol] = truth_json(data);
      text += fmt::format("  {}{}\n", protocol.empty() ? "" : protocol + ": ", truth_text(data));
    }
  }
  print_result(common, json, text);
}

void run_get(const DataArguments& arguments, const Common& common) {
  const CatalogueEntry& entry = catalogue_entry(arguments.name);
  nlohmann::json files = nlohmann::json::array();
  std::string text;
  for (const ObtainedFile& file : get_dataset(entry, arguments.folder, FetchOptions::from_environment())) {
    files.push_back({{"path", file.path.string()}, {"fetched", file.fetched}});
    text += fmt::format("{}: {}\n", file.path.string(), file.fetched ? "fetched" : "was there");
  }
  print_result(common, {{"files", files}}, text);
}

nlohmann::json graph_json(const Graph& graph) {
  return {{"dataset", graph.name},           {"nodes", graph.nodes},
          {"edges", graph.edges()},          {"attributes", graph.attributes},
          {"classes", graph.classes.size()}, {"train", graph.train.size()},
          {"valid", graph.valid.size()},     {"test", graph.test.size()},
          {"planted", graph.planted}};
}

// A graph as one mapped file, which `bench/peers/graph_file.py` reads too.
void store_graph(const Graph& graph, const std::string& path, const Common& common) {
  write_graph(path, graph);
  nlohmann::json result = graph_json(graph);
  result["output"] = path;
  print_result(common, result,
               fmt::format("{}: {} nodes, {} edges, {} attributes, {} classes{}\n", path, with_thousands(graph.nodes),
                           with_thousands(graph.edges()), graph.attributes, graph.classes.size(),
                           graph.planted.empty() ? "" : "; informative: " + join(graph.planted, ", ")));
}

void run_make(const DataArguments& arguments, const Common& common) {
  DataOptions options;
  options.source = arguments.name;
  options.protocol = arguments.protocol;
  options.rows = arguments.rows;
  options.split.seed = arguments.seed;
  const CatalogueEntry& entry = catalogue_entry(arguments.name);
  const bool made =
      !entry.own && std::all_of(entry.files.begin(), entry.files.end(), [](const CatalogueFile& file) { return file.optional; });
  if (!made) throw UserError(fmt::format("'{}' is not made but read; `l0gm data get` fetches it", arguments.name));
  if (entry.modality == "graph") {
    GraphOptions graph;
    graph.scale = arguments.scale;
    store_graph(load_graph(options, graph), arguments.out, common);
    return;
  }
  const TableDataset data = load_table(options, 0);
  write_csv(arguments.out, data.table);
  nlohmann::json result = {{"rows", data.table.rows()}, {"output", arguments.out}};
  result.update(truth_json(data));
  print_result(common, result,
               fmt::format("{}: {} rows; {}\n", arguments.out, with_thousands(data.table.rows()), truth_text(data)));
}

void run_export(const DataArguments& arguments, const Common& common) {
  const Config config = read_config(arguments.config, arguments.assignments);
  if (is_graph(config)) {
    if (arguments.perturb)
      throw UserError("--perturb writes perturbed tables; a graph's attributes are perturbed by `l0gm eval --perturb`");
    std::filesystem::create_directories(arguments.out);
    store_graph(load_graph(config.data, config.graph), (std::filesystem::path(arguments.out) / "graph.safetensors").string(),
                common);
    return;
  }
  const TableDataset data = load_table(config.data, config.train.seed);
  const Schema schema = export_table(data, config.table, config.columns, config.data.types, arguments.out);
  nlohmann::json result = {{"dataset", data.name},
                           {"output", arguments.out},
                           {"train", data.train.size()},
                           {"valid", data.valid.size()},
                           {"test", data.test.size()}};
  std::string text = fmt::format("{}: train.csv {}, valid.csv {}, test.csv {} rows of {}\n", arguments.out, data.train.size(),
                                 data.valid.size(), data.test.size(), data.name);
  if (arguments.perturb) {
    result["perturbed"] = export_perturbed(data, schema, static_cast<uint64_t>(config.train.seed), arguments.out);
    text += fmt::format("{}: {} perturbed copies of test.csv, drawn by seed {}\n",
                        (std::filesystem::path(arguments.out) / "perturbed").string(), result["perturbed"]["conditions"].size(),
                        config.train.seed);
  }
  print_result(common, result, text);
}

}  // namespace

void add_data(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<DataArguments>();
  CLI::App* verb = app.add_subcommand("data", "datasets: list, get, info, make, export");
  verb->require_subcommand(1);
  verb->add_subcommand("list", "the catalogue")->callback([&common] { run_list(common); });
  const auto named = [&](const char* name, const char* help) {
    CLI::App* sub = verb->add_subcommand(name, help);
    sub->add_option("name", arguments->name, "catalogue name")->required();
    return sub;
  };
  CLI::App* info = named("info", "where it comes from and which of its files are here");
  info->add_option("--data-dir", arguments->folder, "look here first");
  info->callback([arguments, &common] { run_info(*arguments, common); });
  CLI::App* get = named("get", "fetch it from its public address and check it");
  get->add_option("--data-dir", arguments->folder, "put it here; default: the user cache");
  get->callback([arguments, &common] { run_get(*arguments, common); });
  CLI::App* make = named("make", "write a made dataset: a table as csv, a graph as one binary file");
  make->add_option("--protocol", arguments->protocol, "its variant");
  make->add_option("--rows", arguments->rows, "number of rows, or of nodes of planted-graph")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{100}, int64_t{1} << 40));
  make->add_option("--scale", arguments->scale, "products-like: size in proportion to the real graph")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  make->add_option("--seed", arguments->seed, "of the rows")->capture_default_str()->check(CLI::NonNegativeNumber);
  make->add_option("-o,--out", arguments->out, "file to write")->required();
  make->callback([arguments, &common] { run_make(*arguments, common); });
  CLI::App* exported =
      verb->add_subcommand("export",
                           "the data of a configuration for other tools: a table's split as csv files, a graph as one file");
  exported->add_option("config", arguments->config, "configuration (TOML)")->required();
  exported->add_option("--set", arguments->assignments, "key=value, overrides the configuration; may be repeated");
  exported->add_option("-o,--out", arguments->out, "folder to write")->required();
  exported->add_flag("--perturb", arguments->perturb,
                     "also the test rows under the twelve perturbations of `l0gm eval --perturb`");
  exported->callback([arguments, &common] { run_export(*arguments, common); });
}

}  // namespace l0gm
