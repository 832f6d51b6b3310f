#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command.h"
#include "data/catalogue.h"
#include "data/fetch.h"
#include "data/locate.h"
#include "l0gm/error.h"

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
  if (entry.files.empty() && !entry.own) {
    for (const std::string& protocol : entry.protocols.empty() ? std::vector<std::string>{""} : entry.protocols) {
      Config config;
      config.data.source = entry.name;
      config.data.protocol = protocol;
      const DataReport truth = modality_of(modalities(), config.data).known_truth(config);
      if (truth.text.empty()) continue;
      json["truth"][protocol.empty() ? "default" : protocol] = truth.json;
      text += fmt::format("  {}{}\n", protocol.empty() ? "" : protocol + ": ", truth.text);
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

void run_make(const DataArguments& arguments, const Common& common) {
  Config config;
  config.data.source = arguments.name;
  config.data.protocol = arguments.protocol;
  config.data.rows = arguments.rows;
  config.data.split.seed = arguments.seed;
  OptionList::of(config).set(fmt::format("graph.scale={}", arguments.scale));
  const CatalogueEntry& entry = catalogue_entry(arguments.name);
  const bool made =
      !entry.own && std::all_of(entry.files.begin(), entry.files.end(), [](const CatalogueFile& file) { return file.optional; });
  if (!made) throw UserError(fmt::format("'{}' is not made but read; `l0gm data get` fetches it", arguments.name));
  const DataReport report = modality_of(modalities(), config.data).make_data(config, arguments.out);
  print_result(common, report.json, report.text);
}

void run_export(const DataArguments& arguments, const Common& common) {
  const Config config = read_config(arguments.config, arguments.assignments);
  const DataReport report = modality_of(modalities(), config.data).export_data(config, arguments.out, arguments.perturb);
  print_result(common, report.json, report.text);
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
