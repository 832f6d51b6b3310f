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
}

}  // namespace
}  // namespace l0gm
