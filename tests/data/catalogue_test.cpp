#include "data/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "l0gm/error.h"
#include "support/real_data.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Catalogue, NamesAreUniqueAndHashesAreWhole) {
  std::set<std::string> names;
  for (const CatalogueEntry& entry : catalogue()) {
    std::set<std::string> paths;  // two entries may share files: ogbn-arxiv and arxiv-guesses do
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(entry.description.empty()) << entry.name;
    EXPECT_FALSE(entry.origin.empty()) << entry.name;
    for (const CatalogueFile& file : entry.files) {
      EXPECT_TRUE(paths.insert(file.path).second) << file.path;
      EXPECT_TRUE(file.sha256.empty() || file.sha256.size() == 64) << file.path;
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos) << file.path;
      EXPECT_TRUE(file.optional || !file.address.empty() || entry.modality == "graph") << file.path;
    }
  }
  EXPECT_EQ(names, (std::set<std::string>{"adult", "planted-table", "messy-table", "ctr-like", "csv", "tsv", "ogbn-products",
                                          "ogbn-arxiv", "arxiv-guesses", "amazon-computers", "coauthor-cs", "planted-graph",
                                          "products-like", "graph", "ogb", "npz"}));
  EXPECT_EQ(catalogue_entry("adult").files.size(), 20u);
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
  for (const char* name : {"planted-table", "messy-table", "ctr-like"}) {
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
  for (const char* name : {"adult", "arxiv-guesses", "amazon-computers", "coauthor-cs"}) {
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
