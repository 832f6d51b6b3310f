#include "data/locate.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

TEST(Locate, CacheFollowsXdgThenHome) {
  const ScopedVariable home("HOME", "/home/somebody");
  {
    const ScopedVariable cache("XDG_CACHE_HOME", "/var/somewhere");
    EXPECT_EQ(user_cache_folder(), "/var/somewhere/l0gm");
  }
  {
    const ScopedVariable relative("XDG_CACHE_HOME", "not/absolute");
    EXPECT_EQ(user_cache_folder(), "/home/somebody/.cache/l0gm");
  }
  const ScopedVariable cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(user_cache_folder(), "/home/somebody/.cache/l0gm");
}

TEST(Locate, WithoutHomeThereIsNoCacheAndFetchingSaysSo) {
  const ScopedVariable cache("XDG_CACHE_HOME", nullptr), home("HOME", nullptr), data("L0GM_DATA", nullptr);
  EXPECT_TRUE(user_cache_folder().empty());
  EXPECT_TRUE(data_folders("").empty());
  EXPECT_NE(message_of<UserError>([] { fetch_folder(""); }).find("data.dir"), std::string::npos);
}

TEST(Locate, NamedFolderThenVariableThenCache) {
  const TemporaryFolder named;
  const ScopedVariable data("L0GM_DATA", "/variable"), cache("XDG_CACHE_HOME", "/cache");
  const std::vector<std::filesystem::path> expected = {named.path(), "/variable", "/cache/l0gm"};
  EXPECT_EQ(data_folders(named.path().string()), expected);
  EXPECT_EQ(data_folders("").front(), "/variable");
  EXPECT_EQ(fetch_folder(named.path().string()), named.path());
  EXPECT_EQ(fetch_folder(""), "/cache/l0gm");
}

TEST(Locate, NamedFolderThatIsNotThereIsAnError) {
  const TemporaryFolder folder;
  const std::string absent = (folder.path() / "absent").string();
  EXPECT_NE(message_of<UserError>([&] { data_folders(absent); }).find(absent), std::string::npos);
  const std::string file = folder.write("file", "x").string();
  EXPECT_THROW(data_folders(file), UserError);
}

TEST(Locate, FolderOrderGoesBeforeSpellingOrder) {
  const TemporaryFolder first, second;
  first.write("set/data.xz", "1");
  second.write("set/data", "2");
  const std::vector<std::string> spellings = {"set/data", "set/data.xz"};
  EXPECT_EQ(find_data_file({first.path(), second.path()}, spellings), first.path() / "set/data.xz");
  EXPECT_EQ(find_data_file({second.path(), first.path()}, spellings), second.path() / "set/data");
  EXPECT_EQ(find_data_file({"/nowhere"}, spellings), std::nullopt);
  std::filesystem::create_directories(first.path() / "set/folder");
  EXPECT_EQ(find_data_file({first.path()}, {"set/folder"}), std::nullopt);
}

}  // namespace
}  // namespace l0gm
