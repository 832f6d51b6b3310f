#include "data/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/hash.h"
#include "l0gm/error.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Catalogue, EntriesInTheirOrder) {
  std::vector<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) names.push_back(entry.name);
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "adult",       "planted-table", "messy-table",  "varied-table",  "ctr-like",   "csv",           "tsv",
          "imdb",        "planted-text",  "jsonl",        "ogbn-products", "ogbn-arxiv", "arxiv-guesses", "amazon-computers",
          "coauthor-cs", "planted-graph", "varied-graph", "products-like", "graph",      "ogb",           "npz"}));
  EXPECT_EQ(&catalogue(), &catalogue());  // parsed once
}

TEST(Catalogue, NamesAreUniqueAndEntriesAreWhole) {
  const std::set<std::string> modalities = {"table", "graph", "text"};
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_TRUE(modalities.contains(entry.modality)) << entry.name << ": " << entry.modality;
    EXPECT_FALSE(entry.name.empty() || entry.description.empty() || entry.origin.empty()) << entry.name;
    EXPECT_EQ(std::set<std::string>(entry.protocols.begin(), entry.protocols.end()).size(), entry.protocols.size()) << entry.name;
    EXPECT_TRUE(!entry.own || (entry.files.empty() && entry.protocols.empty())) << entry.name;
  }
}

TEST(Catalogue, FilesHaveRelativePathsAndWholeHashes) {
  for (const CatalogueEntry& entry : catalogue()) {
    std::set<std::string> spellings;  // two entries may share files: ogbn-arxiv and arxiv-guesses do
    for (const CatalogueFile& file : entry.files) {
      for (const std::string& spelling : file.spellings()) {
        const std::filesystem::path path = spelling;
        EXPECT_TRUE(spellings.insert(spelling).second) << spelling;
        EXPECT_TRUE(path.is_relative() && path.has_filename()) << spelling;
        EXPECT_EQ(path.lexically_normal(), path) << spelling;
        EXPECT_NE(*path.begin(), "..") << spelling;
      }
      EXPECT_TRUE(file.sha256.empty() || file.sha256.size() == 64) << file.path;
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos) << file.path;
      EXPECT_TRUE(file.address.empty() || file.address.starts_with("http")) << file.path;
      // What is fetched can be checked, except where nobody could compute a hash yet: the first fetch records it.
      EXPECT_TRUE(file.address.empty() || !file.sha256.empty() || file.path == "imdb/aclImdb_v1.tar.gz") << file.path;
      for (const std::string& other : file.unless) EXPECT_TRUE(catalogue_file(entry, other).optional) << other;
      EXPECT_TRUE(file.optional || !file.address.empty() || entry.modality == "graph") << file.path;
    }
  }
}

TEST(Catalogue, WhatIsListedOfTheCensus) {
  const CatalogueEntry& adult = catalogue_entry("adult");
  EXPECT_EQ(adult.files.size(), 20u);
  EXPECT_EQ(adult.files[0].spellings(),
            (std::vector<std::string>{"adult/adult.data", "adult/adult.data.xz", "adult/adult.data.gz", "adult/adult.data.zst"}));
  EXPECT_EQ(adult.files[0].address, "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data");
  EXPECT_EQ(adult.files[0].sha256, "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d");
  EXPECT_FALSE(adult.files[0].optional);
  EXPECT_TRUE(catalogue_file(adult, "adult/split/uci/2/test.csv.gz").optional);
  EXPECT_TRUE(contains(catalogue_entry("ogb").description, "edge.csv.gz, …")) << "bytes beyond ASCII";
}

TEST(Catalogue, UnknownNameNamesTheNearest) {
  const std::string message = message_of<UserError>([] { catalogue_entry("adlut"); });
  EXPECT_TRUE(contains(message, "'adlut'")) << message;
  EXPECT_TRUE(contains(message, "Did you mean 'adult'?")) << message;
  EXPECT_TRUE(contains(message, "planted-table")) << message;
}

TEST(Catalogue, Protocols) {
  const CatalogueEntry& adult = catalogue_entry("adult");
  EXPECT_EQ(protocol_of(adult, ""), "openml");
  EXPECT_EQ(protocol_of(adult, "uci"), "uci");
  const std::string message = message_of<UserError>([&] { protocol_of(adult, "openlm"); });
  EXPECT_TRUE(contains(message, "Did you mean 'openml'?")) << message;
  EXPECT_EQ(protocol_of(catalogue_entry("csv"), ""), "");
  const std::string own = message_of<UserError>([] { protocol_of(catalogue_entry("csv"), "uci"); });
  EXPECT_TRUE(contains(own, "data.valid and data.test. Remove data.protocol")) << own;
  for (const char* name : {"messy-table", "ctr-like"}) {
    EXPECT_EQ(protocol_of(catalogue_entry(name), ""), "");
    const std::string made = message_of<UserError>([&] { protocol_of(catalogue_entry(name), "global"); });
    EXPECT_TRUE(contains(made, "one split only. Remove data.protocol")) << made;
  }
}

TEST(Catalogue, MadeTablesSayThatTheirTruthIsKnown) {
  for (const char* name : {"planted-table", "messy-table", "ctr-like", "planted-text"}) {
    const CatalogueEntry& entry = catalogue_entry(name);
    EXPECT_TRUE(entry.files.empty() && !entry.own) << name;
    EXPECT_TRUE(contains(entry.description, "the best possible AUC is known")) << entry.description;
  }
}

TEST(Catalogue, GraphsAreFoundInEitherFolderAndSayWhereTheyComeFrom) {
  const CatalogueEntry& products = catalogue_entry("ogbn-products");
  EXPECT_EQ(products.files[0].spellings(),
            (std::vector<std::string>{"graph/ogbn_products/raw/edge.csv.gz", "ogbn_products/raw/edge.csv.gz",
                                      "graph/ogbn_products/raw/edge.csv", "ogbn_products/raw/edge.csv"}));
  EXPECT_TRUE(contains(products.origin, "http://snap.stanford.edu/ogb/data/nodeproppred/products.zip")) << products.origin;
  EXPECT_TRUE(contains(catalogue_entry("arxiv-guesses").description, "NOT OGB's"));
  EXPECT_EQ(catalogue_entry("coauthor-cs").files[0].spellings()[1], "coauthor_cs/coauthor_cs.npz");
}

TEST(Catalogue, HashIsOfThePlainContentWhereTheFileIsCompressed) {
  const TemporaryFolder folder;
  const CatalogueFile file{.path = "set/data", .compressed = {"set/data.gz"}, .address = {}, .sha256 = sha256("hello\n")};
  const auto plain = folder.write("set/data", "hello\n");
  const std::vector<unsigned char> gzip = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0xcb, 0x48, 0xcd,
                                           0xc9, 0xc9, 0xe7, 0x02, 0x00, 0x20, 0x30, 0x3a, 0x36, 0x06, 0x00, 0x00, 0x00};
  const auto compressed = folder.write("set/data.gz", std::string(gzip.begin(), gzip.end()));
  EXPECT_EQ(content_sha256(file, plain), file.sha256);
  EXPECT_EQ(content_sha256(file, compressed), file.sha256);
  EXPECT_NE(sha256_file(compressed), file.sha256);
  EXPECT_NO_THROW(check_content(file, compressed));
}

TEST(Catalogue, WrongContentIsRefusedWithBothHashes) {
  const TemporaryFolder folder;
  const CatalogueFile file{.path = "set/data", .compressed = {}, .address = "http://x/", .sha256 = sha256("hello\n")};
  const auto path = folder.write("set/data", "hell");
  const std::string message = message_of<UserError>([&] { check_content(file, path); });
  EXPECT_TRUE(contains(message, sha256("hello\n"))) << message;
  EXPECT_TRUE(contains(message, sha256("hell"))) << message;
  EXPECT_TRUE(contains(message, "l0gm data get")) << message;
  CatalogueFile unlisted = file;
  unlisted.sha256.clear();
  EXPECT_NO_THROW(check_content(unlisted, path));
}

TEST(Catalogue, ListedHashesAreThoseOfTheRealFiles) {
  const std::filesystem::path data = real_data_folder();
  if (!std::filesystem::exists(data / "adult")) GTEST_SKIP() << "no real data: set L0GM_DATA";
  for (const char* name : {"adult", "imdb", "arxiv-guesses", "amazon-computers", "coauthor-cs"}) {
    int checked = 0;
    for (const CatalogueFile& file : catalogue_entry(name).files) {
      for (const std::string& spelling : file.spellings()) {
        if (!std::filesystem::exists(data / spelling)) continue;
        EXPECT_EQ(content_sha256(file, data / spelling), file.sha256) << spelling;
        checked += 1;
      }
    }
    EXPECT_GE(checked, 2) << name;
  }
}

}  // namespace
}  // namespace l0gm
