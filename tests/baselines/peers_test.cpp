#include "baselines/peers.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

TEST(Peers, AreFoundByName) {
  EXPECT_EQ(peer_named("catboost with exact values").flags, std::vector<std::string>{"--exact-values"});
  EXPECT_NE(message_of<UserError>([] { peer_named("lightgmb"); }).find("Did you mean 'lightgbm'?"), std::string::npos);
  for (const Peer& peer : table_peers())
    EXPECT_GE(points_of(peer.space), 100) << peer.name << ": a budget of a hundred shall not run out of points";
  EXPECT_EQ(peer_named("pyg sage").script, "graph.py");
  EXPECT_EQ(peer_named("tabm").script, "train.py");
  EXPECT_EQ(peer_named("pyg gat").modules.back(), "torch_geometric");
  EXPECT_EQ(peer_named("catboost with exact values").modules.back(), "catboost");
}

TEST(Peers, WantProgramsAndTheirPython) {
  const TemporaryFolder folder;
  folder.write("peers/train.py", "");
  EXPECT_FALSE(find_peers(folder.path() / "peers"));
  const auto python = folder.write(".venv-peers/bin/python", "#!/bin/sh\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const auto found = find_peers(folder.path() / "peers");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->python, python);
  EXPECT_FALSE(find_peers(folder.path() / "elsewhere"));
  // Another python than that of the environment.
  const auto other = folder.write("python3", "#!/bin/sh\n");
  EXPECT_FALSE(find_peers(folder.path() / "peers", other)) << "it cannot be run";
  std::filesystem::permissions(other, std::filesystem::perms::owner_all);
  EXPECT_EQ(find_peers(folder.path() / "peers", other)->python, other);
  EXPECT_EQ(find_peers(folder.path() / "peers", other)->identity(peer_named("xgboost")), found->identity(peer_named("xgboost")));
}

TEST(Peers, SayWhatTheirPythonLacks) {
  const TemporaryFolder folder;
  const auto python = folder.write("it's a python", "#!/bin/sh\nfor name in \"$@\"; do last=$name; done\necho \"$last\"\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  const PeerPrograms programs{folder.path(), python};
  EXPECT_EQ(programs.lacking({"numpy", "catboost"}), std::vector<std::string>{"catboost"});
  EXPECT_NE(why_missing({"numpy", "catboost"}, programs).find("has no catboost"), std::string::npos);
  EXPECT_NE(why_missing({}, std::nullopt).find("peers/setup"), std::string::npos);
  EXPECT_EQ(why_missing({"numpy"}, PeerPrograms{folder.path(), folder.path() / "no python"}), "") << "its cell will say so";
}

TEST(Peers, APythonIsAskedWithoutImporting) {
  const std::filesystem::path python = "/usr/bin/python3";
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "no " << python;
  const PeerPrograms programs{"", python};
  EXPECT_EQ(programs.lacking({"json", "no_such_module_of_anybody"}), std::vector<std::string>{"no_such_module_of_anybody"});
}

TEST(Peers, AreWhatAllTheirProgramsSay) {
  const TemporaryFolder folder;
  folder.write("peers/train.py", "one");
  folder.write("peers/methods.py", "two");
  const PeerPrograms programs{folder.path() / "peers", ""};
  const Peer &trees = peer_named("xgboost"), &network = peer_named("pyg gcn");
  const std::string before = programs.identity(trees), of_graphs = programs.identity(network);
  folder.write("peers/README.md", "a word more");
  EXPECT_EQ(programs.identity(trees), before);
  folder.write("peers/methods.py", "three");
  const std::string changed = programs.identity(trees);
  EXPECT_NE(changed, before);
  folder.write("bench/peers/pyg_graph.py", "four");
  EXPECT_EQ(programs.identity(trees), changed) << "what graphs need is no part of it";
  EXPECT_NE(programs.identity(network), of_graphs);
  folder.write("peers/requirements.txt", "catboost==2");
  EXPECT_NE(programs.identity(trees), changed);
}

}  // namespace
}  // namespace l0gm
