#include "data/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
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
  return made_table("ctr-like", {}, "a click log of 12 identifiers, 2 counters and tags, in part told by pairs only; the last tenth is the test");
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

}  // namespace

std::vector<std::string> CatalogueFile::spellings() const {
  std::vector<std::string> all = {path};
  all.insert(all.end(), compressed.begin(), compressed.end());
  return all;
}

const std::vector<CatalogueEntry>& catalogue() {
  static const std::vector<CatalogueEntry> entries = {adult(), planted_table(), messy_table(), ctr_like(),
                                                      own_table("csv", "commas (or data.delimiter)"), own_table("tsv", "tabs")};
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
    throw UserError(fmt::format("data.protocol is '{}', but {} has no protocols: {}. Remove data.protocol.", wanted, entry.name,
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
