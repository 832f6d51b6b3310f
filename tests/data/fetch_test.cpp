#include "data/fetch.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/hash.h"
#include "l0gm/error.h"
#include "support/environment.h"
#include "support/http_server.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
const std::string body = "39, State-gov\n50, Private\n";
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_fetch()) GTEST_SKIP() << "built without libcurl";
    options_.mirror = server_.address();
    options_.connect_timeout_s = 5;
    options_.stall_timeout_s = 5;
  }
  CatalogueFile file(const std::string& hash) const {
    return {.path = "set/data.csv", .compressed = {"set/data.csv.gz"}, .address = "http://127.0.0.1:9/closed", .sha256 = hash};
  }
  fs::path place() const { return folder_.path() / "set/data.csv"; }
  int files_there() const {
    int count = 0;
    for (const auto& item : fs::recursive_directory_iterator(folder_.path())) count += item.is_regular_file();
    return count;
  }
  std::string refusal(const CatalogueFile& wanted) {
    return message_of<UserError>([&] { fetch_file(wanted, folder_.path(), options_); });
  }

  ScopedVariable no_proxy_{"no_proxy", "127.0.0.1"}, no_data_{"L0GM_DATA", nullptr};
  HttpServer server_;
  TemporaryFolder folder_;
  ScopedVariable cache_{"XDG_CACHE_HOME", (folder_.path() / "cache").c_str()};
  FetchOptions options_;
};

TEST_F(Fetch, AGoodFileArrivesWhole) {
  server_.answer_with("/set/data.csv", body);
  EXPECT_EQ(fetch_file(file(sha256(body)), folder_.path(), options_), place());
  EXPECT_EQ(read_file(place()), body);
  EXPECT_EQ(files_there(), 1);
}

TEST_F(Fetch, ALargeFileArrivesWhole) {
  std::string large;
  for (int i = 0; i < 400000; ++i) large += std::to_string(i) + "\n";
  server_.answer_with("/set/data.csv", large);
  fetch_file(file(sha256(large)), folder_.path(), options_);
  EXPECT_EQ(read_file(place()), large);
}

TEST_F(Fetch, MirrorMayEndInASlash) {
  server_.answer_with("/set/data.csv", body);
  options_.mirror += "/";
  fetch_file(file(sha256(body)), folder_.path(), options_);
  EXPECT_EQ(read_file(place()), body);
}

TEST_F(Fetch, PublicAddressIsUsedWithoutAMirror) {
  server_.answer_with("/public/name", body);
  CatalogueFile wanted = file(sha256(body));
  wanted.address = server_.address() + "/public/name";
  options_.mirror.clear();
  fetch_file(wanted, folder_.path(), options_);
  EXPECT_EQ(read_file(place()), body);
}

TEST_F(Fetch, HttpErrorLeavesNothing) {
  const std::string message = refusal(file(sha256(body)));
  EXPECT_TRUE(contains(message, "HTTP status 404")) << message;
  EXPECT_TRUE(contains(message, server_.address() + "/set/data.csv")) << message;
  EXPECT_EQ(files_there(), 0);
}

TEST_F(Fetch, CutOffBodyLeavesNothingEvenWithoutAHash) {
  server_.answer("/set/data.csv", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" + body);
  for (const std::string& hash : {std::string(), sha256(body)}) {
    const std::string message = refusal(file(hash));
    EXPECT_TRUE(contains(message, "ended after 26 bytes")) << message;
    EXPECT_EQ(files_there(), 0);
  }
}

TEST_F(Fetch, EmptyAnswerIsRefused) {
  server_.answer_with("/set/data.csv", "");
  EXPECT_TRUE(contains(refusal(file("")), "empty"));
  EXPECT_EQ(files_there(), 0);
}

TEST_F(Fetch, RedirectIsFollowed) {
  server_.answer("/set/data.csv",
                 "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nConnection: close\r\nContent-Length: 5\r\n\r\nmoved");
  server_.answer_with("/elsewhere", body);
  fetch_file(file(sha256(body)), folder_.path(), options_);
  EXPECT_EQ(read_file(place()), body);
  EXPECT_EQ(server_.requests(), 2);
}

TEST_F(Fetch, RedirectLoopEnds) {
  server_.answer("/set/data.csv",
                 "HTTP/1.1 302 Found\r\nLocation: /set/data.csv\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  refusal(file(""));
  EXPECT_EQ(server_.requests(), 11);
  EXPECT_EQ(files_there(), 0);
}

TEST_F(Fetch, RedirectToALocalFileIsRefused) {
  const fs::path secret = folder_.write("secret", "secret");
  server_.answer("/set/data.csv", "HTTP/1.1 302 Found\r\nLocation: file://" + secret.string() +
                                      "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  refusal(file(""));
  EXPECT_EQ(files_there(), 1);
}

TEST_F(Fetch, WrongContentIsSetAsideWithBothHashes) {
  server_.answer_with("/set/data.csv", "<html>sorry</html>");
  const std::string message = refusal(file(sha256(body)));
  EXPECT_TRUE(contains(message, sha256(body))) << message;
  EXPECT_TRUE(contains(message, sha256("<html>sorry</html>"))) << message;
  EXPECT_TRUE(contains(message, "listed in the catalogue")) << message;
  EXPECT_TRUE(contains(message, place().string() + ".refused")) << message;
  EXPECT_FALSE(fs::exists(place()));
  EXPECT_EQ(read_file(place().string() + ".refused"), "<html>sorry</html>");
  EXPECT_EQ(files_there(), 1);
}

TEST_F(Fetch, WithoutAListedHashTheFirstFetchRecordsItAndTheNextIsHeldToIt) {
  server_.answer_with("/set/data.csv", body);
  fetch_file(file(""), folder_.path(), options_);
  EXPECT_EQ(read_file(place().string() + ".sha256"), sha256(body) + "  data.csv\n");
  fs::remove(place());
  fetch_file(file(""), folder_.path(), options_);
  EXPECT_EQ(read_file(place()), body);

  server_.answer_with("/set/data.csv", "changed\n");
  const std::string message = refusal(file(""));
  EXPECT_TRUE(contains(message, "recorded by the first fetch")) << message;
  EXPECT_EQ(read_file(place()), body);
  EXPECT_EQ(read_file(place().string() + ".refused"), "changed\n");
}

TEST_F(Fetch, DamagedRecordIsNamed) {
  folder_.write("set/data.csv.sha256", "not a hash\n");
  server_.answer_with("/set/data.csv", body);
  EXPECT_TRUE(contains(refusal(file("")), "data.csv.sha256"));
  EXPECT_FALSE(fs::exists(place()));
}

TEST_F(Fetch, ClosedPortAndStrangeAddressesAreUserErrors) {
  options_.mirror = "http://127.0.0.1:1";
  EXPECT_TRUE(contains(refusal(file("")), "http://127.0.0.1:1/set/data.csv"));
  options_.mirror = "file:///etc";
  refusal(file(""));
  options_.mirror = "not an address";
  refusal(file(""));
  EXPECT_EQ(files_there(), 0);
}

TEST_F(Fetch, ObtainPrefersWhatIsThereAndFetchesOtherwise) {
  const std::string folder = folder_.path().string();
  server_.answer_with("/set/data.csv", body);
  EXPECT_EQ(obtain_file(file(sha256(body)), folder, options_), place());
  EXPECT_EQ(server_.requests(), 1);
  EXPECT_EQ(obtain_file(file(sha256(body)), folder, options_), place());
  EXPECT_EQ(server_.requests(), 1);
  EXPECT_EQ(obtain_file(file(sha256(body)), "", options_), folder_.path() / "cache/l0gm/set/data.csv");
  EXPECT_EQ(server_.requests(), 2);
}

TEST_F(Fetch, ObtainRefusesAWrongFileAndSkipsAnAbsentOptionalOne) {
  const std::string folder = folder_.path().string();
  folder_.write("set/data.csv", "changed\n");
  EXPECT_TRUE(contains(message_of<UserError>([&] { obtain_file(file(sha256(body)), folder, options_); }), sha256("changed\n")));
  CatalogueFile optional = file("");
  optional.path = "set/other.csv";
  optional.compressed = {};
  optional.optional = true;
  EXPECT_EQ(obtain_file(optional, folder, options_), std::nullopt);
  EXPECT_EQ(server_.requests(), 0);
}

TEST_F(Fetch, ObtainSaysWhereItLookedAndWhyFetchingFailed) {
  const std::string message = message_of<UserError>([&] { obtain_file(file(""), folder_.path().string(), options_); });
  EXPECT_TRUE(contains(message, folder_.path().string())) << message;
  EXPECT_TRUE(contains(message, "404")) << message;
}

TEST_F(Fetch, GetRenamesAWrongFileAndFetchesAgain) {
  const CatalogueEntry entry{
      .name = "set", .modality = "table", .protocols = {}, .description = {}, .origin = {}, .files = {file(sha256(body))}};
  const std::string folder = folder_.path().string();
  folder_.write("set/data.csv", "cut o");
  server_.answer_with("/set/data.csv", body);
  const auto obtained = get_dataset(entry, folder, options_);
  ASSERT_EQ(obtained.size(), 1u);
  EXPECT_TRUE(obtained[0].fetched);
  EXPECT_EQ(read_file(place()), body);
  EXPECT_EQ(read_file(place().string() + ".refused"), "cut o");
  EXPECT_FALSE(get_dataset(entry, folder, options_)[0].fetched);
  EXPECT_EQ(server_.requests(), 1);
}

TEST_F(Fetch, GetSkipsWhatOtherFilesReplace) {
  server_.answer_with("/set/data.csv", body);
  CatalogueEntry entry;
  entry.files = {file(""), file(""), file("")};
  entry.files[1] = {.path = "set/a", .compressed = {}, .address = {}, .sha256 = {}, .optional = true};
  entry.files[2] = {.path = "set/b", .compressed = {}, .address = {}, .sha256 = {}, .optional = true};
  entry.files[0].unless = {"set/a", "set/b"};
  folder_.write("set/a", "a");
  EXPECT_FALSE(is_replaced(entry, entry.files[0], folder_.path().string()));
  folder_.write("set/b", "b");
  EXPECT_TRUE(is_replaced(entry, entry.files[0], folder_.path().string()));
  EXPECT_EQ(get_dataset(entry, folder_.path().string(), options_).size(), 2u);
  EXPECT_FALSE(fs::exists(place()));
  fs::remove(folder_.path() / "set/b");
  EXPECT_EQ(get_dataset(entry, folder_.path().string(), options_).size(), 2u);
  EXPECT_TRUE(fs::exists(place()));
}

TEST_F(Fetch, GetRefusesWhatHasNoFiles) {
  EXPECT_TRUE(contains(message_of<UserError>([&] { get_dataset(catalogue_entry("planted-table"), "", options_); }), "made"));
  EXPECT_TRUE(contains(message_of<UserError>([&] { get_dataset(catalogue_entry("csv"), "", options_); }), "you bring"));
}

TEST(FetchOptions, MirrorComesFromTheEnvironment) {
  const ScopedVariable mirror("L0GM_MIRROR", "http://mirror.example");
  EXPECT_EQ(FetchOptions::from_environment().mirror, "http://mirror.example");
}

}  // namespace
}  // namespace l0gm
