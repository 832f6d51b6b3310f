#include "data/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/hash.h"
#include "base/input_stream.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// Row numbers of the fixed splits: seed k uses split k mod 3. They have no public address; without them a split is drawn.
std::vector<CatalogueFile> adult_splits() {
  const std::vector<std::pair<std::string, std::string>> hashes = {
      {"openml/0/train", "065f711e701312480de434a8a6e54f6ea60cc0894fe7ccdfd0b60c95831df25b"},
      {"openml/0/valid", "6ed1e891cc96866cd9c4c0a15085d57ec17758c813c00e074826968a5bc52ba9"},
      {"openml/0/test", "f70f7bbde4e1397d04a4731198ac930fbb5352e11af110e7a045780f68ca4416"},
      {"openml/1/train", "bb886241943194a977d679691ad9eb0cf46dd7b02e7b5580e1b72b4a6d47f6d1"},
      {"openml/1/valid", "250a5aa978688fda1c805ea00a5b5d09c00ea23cbb823da8d8dc0deba4083fb7"},
      {"openml/1/test", "214eb9878abee24b8beb0bdad60025d2c92359c981a516eafea639b0c7e06555"},
      {"openml/2/train", "8f65a59537063bd822a1c3a11d587c2d88dee389a128e5ac47b69515c4a50624"},
      {"openml/2/valid", "e016bd50ce0c34a54a39ead5b036f3871cab616b8c7f0010d38bdcb91f80295f"},
      {"openml/2/test", "6df4c86e06b88af60edfddb88396a05f1675869465da2df3d2101af3c0c21ed5"},
      {"uci/0/train", "cd6722dd0d8caef5fab8ca67d9b3e97f124ca331b736e036905f5e673011edfd"},
      {"uci/0/valid", "c816bc2427e115e5fe51ceac363d9a77a2dd19df36b9ce6c2e1982e7d2196fbc"},
      {"uci/0/test", "a0a597720f3d68a4e7a16cfec77872edd9b59061da53c14dca52558f3216c1fc"},
      {"uci/1/train", "f8d03603c8ae4903b8e6e98bff1c4fab2fdb7694c39cd56c859de09c630b6611"},
      {"uci/1/valid", "1c1935d262a519a3919e1a331d4573a4dbbd44aa0b3904aa74584844bfe48d3b"},
      {"uci/1/test", "a0a597720f3d68a4e7a16cfec77872edd9b59061da53c14dca52558f3216c1fc"},
      {"uci/2/train", "5d2331c94bbc7e8a435f65b12672894f4f054d8d41b140fca5a05c149fa6d2c8"},
      {"uci/2/valid", "793630ca9741c809f8cd44556e7e097b465873ee595e56420cc719c2193da4f0"},
      {"uci/2/test", "a0a597720f3d68a4e7a16cfec77872edd9b59061da53c14dca52558f3216c1fc"},
  };
  std::vector<CatalogueFile> files;
  for (const auto& [name, hash] : hashes) {
    files.push_back(
        {.path = "adult/split/" + name + ".csv.gz", .compressed = {}, .address = {}, .sha256 = hash, .optional = true});
  }
  return files;
}

CatalogueFile adult_file(const std::string& name, const std::string& hash) {
  const std::string path = "adult/" + name;
  return {.path = path,
          .compressed = {path + ".xz", path + ".gz", path + ".zst"},
          .address = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/" + name,
          .sha256 = hash};
}

CatalogueEntry adult() {
  CatalogueEntry entry{.name = "adult",
                       .modality = "table",
                       .protocols = {"openml", "uci"},
                       .description = "census income: does a person earn more than 50,000 a year; 48,842 rows, 14 columns",
                       .origin = "UCI Machine Learning Repository (Becker and Kohavi, 1996), CC BY 4.0",
                       .files = {adult_file("adult.data", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"),
                                 adult_file("adult.test", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05")}};
  const std::vector<CatalogueFile> splits = adult_splits();
  entry.files.insert(entry.files.end(), splits.begin(), splits.end());
  return entry;
}

CatalogueEntry made_table(const std::string& name, const std::vector<std::string>& protocols, const std::string& what) {
  return {.name = name,
          .modality = "table",
          .protocols = protocols,
          .description = fmt::format("made: {}; the best possible AUC is known", what),
          .origin = "made on this machine from data.split.seed; nothing is fetched",
          .files = {}};
}

CatalogueEntry planted_table() {
  return made_table("planted-table", {"global", "instance"},
                    "30 fields, 6 informative (two only through their product), 4 decoys");
}

CatalogueEntry messy_table() {
  return made_table("messy-table", {}, "17 columns with spikes, codes, heavy tails, long-tailed categories and missing cells");
}

CatalogueEntry ctr_like() {
  return made_table("ctr-like", {},
                    "a click log of 12 identifiers, 2 counters and tags, in part told by pairs only; the last tenth is the test");
}

CatalogueEntry own_table(const std::string& name, const std::string& separator) {
  return {.name = name,
          .modality = "table",
          .protocols = {},
          .description =
              fmt::format("your own table, cells separated by {}: data.train, data.label; plain, gzip, xz or zstd", separator),
          .origin = "yours",
          .files = {},
          .own = true};
}

// Graphs lie in graph/FOLDER or in FOLDER.
CatalogueFile graph_file(const std::string& path, const std::string& hash = {}, bool optional = false) {
  CatalogueFile file{.path = "graph/" + path, .compressed = {path}, .address = {}, .sha256 = hash, .optional = optional};
  if (hash.empty() && path.ends_with(".csv.gz")) {
    const std::string plain = path.substr(0, path.size() - 3);
    file.compressed.insert(file.compressed.end(), {"graph/" + plain, plain});
  }
  return file;
}

CatalogueEntry npz_graph(const std::string& name, const std::string& folder, const std::string& what,
                         const std::array<std::string, 4>& hashes) {
  CatalogueEntry entry{
      .name = name,
      .modality = "graph",
      .protocols = {"random60"},
      .description = what,
      .origin =
          "Shchur and others, Pitfalls of Graph Neural Network Evaluation, 2018; there is no public address for this "
          "file and split",
      .files = {graph_file(fmt::format("{}/{}.npz", folder, folder), hashes[0])}};
  const std::array<std::string, 3> parts = {"train", "valid", "test"};
  for (size_t i = 0; i < 3; ++i) {
    entry.files.push_back(graph_file(fmt::format("{}/split/random60/{}.csv.gz", folder, parts[i]), hashes[i + 1], true));
  }
  return entry;
}

CatalogueEntry amazon_computers() {
  return npz_graph("amazon-computers", "amazon_computers", "products bought together: 13,752 nodes, 767 attributes, 10 classes",
                   {"a6942db609f196b53503d91b99a02ad8d052d5d9be8ef41db976fb65f66ed1f3",
                    "c9d367e0ba5a28eeace73216f9f9d92cc2731c21fe021fb40b1a4b40de52722c",
                    "87e0496de3040b45c64162e6389990a391f6ea616541950d4539b0648eb0ab6c",
                    "0cabcc0dfea6bfe4f7f7ab481f10253132b0971086bc49c5ec9e1102136c4937"});
}

CatalogueEntry coauthor_cs() {
  return npz_graph("coauthor-cs", "coauthor_cs", "authors who wrote together: 18,333 nodes, 6,805 attributes, 15 classes",
                   {"7b7b51bf270d341f1c4231834c58a526bb04db003fd76a6d2f51ad7d252005ed",
                    "dd0c95389a8c2e4484585188c81a56a56fc275a1f7f9bec0d921965cda8ffa99",
                    "d44f51a4adf2d2f46f1288bce418ac7b189edf71688c44c300069f24c61852b7",
                    "96d07aafb25b811d007937d2135d75af5277e064326557966da37d20fedca91d"});
}

const std::vector<std::string>& ogb_names() {
  static const std::vector<std::string> names = {"raw/edge", "raw/node-feat", "raw/node-label", "raw/num-node-list",
                                                 "raw/num-edge-list"};
  return names;
}

// OGB offers whole archives only, which are unpacked by hand.
CatalogueEntry ogb_graph(const std::string& name, const std::string& folder, const std::string& split, const std::string& archive,
                         const std::string& what) {
  CatalogueEntry entry{.name = name, .modality = "graph", .protocols = {split}, .description = what, .origin = {}, .files = {}};
  entry.origin = fmt::format(
      "Open Graph Benchmark, ODC-BY; download http://snap.stanford.edu/ogb/data/nodeproppred/{}.zip and unpack it so that {}/raw "
      "lies in "
      "the data folder or in graph/ there",
      archive, folder);
  for (const std::string& file : ogb_names()) entry.files.push_back(graph_file(fmt::format("{}/{}.csv.gz", folder, file)));
  for (const std::string part : {"train", "valid", "test"}) {
    entry.files.push_back(graph_file(fmt::format("{}/split/{}/{}.csv.gz", folder, split, part)));
  }
  return entry;
}

CatalogueEntry arxiv_guesses() {
  CatalogueEntry entry{.name = "arxiv-guesses",
                       .modality = "graph",
                       .protocols = {"time"},
                       .description =
                           "ogbn-arxiv's citations, labels and split under attributes that are NOT OGB's (40 columns: guessed "
                           "categories); never to be compared with the leaderboard",
                       .origin =
                           "Open Graph Benchmark, ODC-BY, with attributes made by a language model; there is no public address",
                       .files = {}};
  const std::vector<std::pair<std::string, std::string>> files = {
      {"raw/edge", "6128cfa34df9cfcbb12f89ddf7eb2ce48e3a25cd92ac2d2e32f741ce14e9a0a0"},
      {"raw/node-feat", "0db847c60fe1d7ece96a6c03bb6751132a35a0bd0cc92d4b89dd61f56a27f809"},
      {"raw/node-label", "b06e7cf75d909de66ce49bc4188a6dc525224f85dd6dcb36137de3d9321830d1"},
      {"raw/num-node-list", "9aa60a342efd209408933ace51e6b0a814e81c2894a993c44f9b173e477e2e82"},
      {"raw/num-edge-list", "430f1e00ae204bbb3208c5f494ab70170e9f2995fd3548d1754a74a8f59250d1"},
      {"split/time/train", "84983391900af45194e5db8d977ec9e01d4eda96e20328f3d7575fdd45c6797c"},
      {"split/time/valid", "ebe6cdcd77c75eedbce2064a05a49bc28e2c4a631f49d66b9e9ff317eef993eb"},
      {"split/time/test", "588fb66ce57bcaef51ac0235f0a49a056370ac31fc27c8ebf556d3f5cdd02545"}};
  for (const auto& [name, hash] : files) entry.files.push_back(graph_file("ogbn_arxiv/" + name + ".csv.gz", hash));
  return entry;
}

CatalogueEntry made_graph(const std::string& name, const std::string& what) {
  return {.name = name,
          .modality = "graph",
          .protocols = {},
          .description = "made: " + what,
          .origin = "made on this machine from data.split.seed; nothing is fetched",
          .files = {}};
}

CatalogueEntry own_graph(const std::string& name, const std::string& what) {
  return {.name = name,
          .modality = "graph",
          .protocols = {},
          .description = "your own graph: " + what,
          .origin = "yours",
          .files = {},
          .own = true};
}

std::vector<CatalogueEntry> graphs() {
  return {ogb_graph("ogbn-products", "ogbn_products", "sales_ranking", "products",
                    "products bought together: 2,449,029 nodes, 100 attributes, 47 classes"),
          ogb_graph("ogbn-arxiv", "ogbn_arxiv", "time", "arxiv",
                    "papers that cite each other: 169,343 nodes, 128 attributes, 40 classes"),
          arxiv_guesses(),
          amazon_computers(),
          coauthor_cs(),
          made_graph("planted-graph",
                     "32 attributes, 8 informative, and those only after aggregation; data.rows nodes, 4 classes"),
          made_graph("products-like",
                     "a graph of ogbn-products' size and kind, or graph.scale times it; its real labels and split where they are "
                     "there"),
          own_graph("graph", "data.edges, data.features, data.labels; csv, tsv or npy"),
          own_graph("ogb", "data.graph, a folder in OGB's layout (raw/edge.csv.gz, …)"),
          own_graph("npz", "data.graph, an archive with CSR adjacency and attributes")};
}

}  // namespace

std::vector<std::string> CatalogueFile::spellings() const {
  std::vector<std::string> all = {path};
  all.insert(all.end(), compressed.begin(), compressed.end());
  return all;
}

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = [] {
    std::vector<CatalogueEntry> all = {adult(),
                                       planted_table(),
                                       messy_table(),
                                       ctr_like(),
                                       own_table("csv", "commas (or data.delimiter)"),
                                       own_table("tsv", "tabs")};
    for (CatalogueEntry& graph : graphs()) all.push_back(std::move(graph));
    return all;
  }();
  return entries;
}

const CatalogueEntry& catalogue_entry(std::string_view name) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw UserError(fmt::format("there is no dataset '{}'; known are: {}.{} `l0gm data list` says what each of them is.", name,
                              join(names, ", "), did_you_mean(name, names)));
}

const CatalogueFile& catalogue_file(const CatalogueEntry& entry, std::string_view path) {
  for (const CatalogueFile& file : entry.files) {
    if (file.path == path) return file;
  }
  throw std::logic_error(fmt::format("the catalogue's {} has no file {}", entry.name, path));
}

std::string protocol_of(const CatalogueEntry& entry, const std::string& wanted) {
  if (entry.protocols.empty()) {
    if (wanted.empty()) return wanted;
    throw UserError(
        fmt::format("data.protocol is '{}', but {} has no protocols: {}. Remove data.protocol.", wanted, entry.name,
                    entry.own ? "its split comes from data.split or from data.valid and data.test" : "it has one split only"));
  }
  if (wanted.empty()) return entry.protocols.front();
  if (std::find(entry.protocols.begin(), entry.protocols.end(), wanted) != entry.protocols.end()) return wanted;
  throw UserError(fmt::format("{} has no protocol '{}'; it has: {}.{} Set data.protocol to one of them.", entry.name, wanted,
                              join(entry.protocols, ", "), did_you_mean(wanted, entry.protocols)));
}

std::string content_sha256(const CatalogueFile& file, const std::filesystem::path& path) {
  if (path.filename() == std::filesystem::path(file.path).filename()) return sha256_file(path);
  Sha256 digest;
  const auto input = InputStream::open(path);
  std::vector<char> buffer(1 << 16);
  while (const size_t size = input->read(buffer)) digest.update(buffer.data(), size);
  return digest.hex();
}

void check_content(const CatalogueFile& file, const std::filesystem::path& path) {
  if (file.sha256.empty()) return;
  const std::string found = content_sha256(file, path);
  if (found == file.sha256) return;
  throw UserError(
      fmt::format("{} is not the file the catalogue knows as {}: its SHA-256 is {}, wanted is {}. It may be cut off or "
                  "changed; move it away{}.",
                  path.string(), file.path, found, file.sha256,
                  file.address.empty() ? "" : " and fetch it again with `l0gm data get`"));
}

}  // namespace l0gm
