#include "server/serve.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "server/listen.h"
#include "support/environment.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

TEST(Serve, OnlyThisMachineUnlessAsked) {
  EXPECT_TRUE(is_loopback(ServeOptions{}.host));
  for (const char* local : {"127.0.0.1", "127.8.9.1", "::1"}) EXPECT_TRUE(is_loopback(local)) << local;
  for (const char* open : {"0.0.0.0", "::", "192.168.1.1"}) EXPECT_FALSE(is_loopback(open)) << open;
  EXPECT_THROW(is_loopback("not an address"), UserError);
}

TEST(Serve, OthersNeedAToken) {
  const TemporaryFolder folder;
  const ScopedVariable none("L0GM_TOKEN", nullptr);
  EXPECT_EQ(read_token({}), "");
  EXPECT_THROW(read_token({.models = {}, .host = "0.0.0.0", .token_file = {}}), UserError);
  const auto token = [&](const std::string& text) {
    return read_token({.models = {}, .host = "0.0.0.0", .token_file = folder.write("token", text).string()});
  };
  EXPECT_EQ(token("0123456789abcdef\n"), "0123456789abcdef");
  EXPECT_THROW(token(""), UserError);
  EXPECT_THROW(token("short"), UserError);
  EXPECT_THROW(token("0123456789 abcdef"), UserError);
  const ScopedVariable some("L0GM_TOKEN", "fedcba9876543210");
  EXPECT_EQ(read_token({.models = {}, .host = "0.0.0.0", .token_file = {}}), "fedcba9876543210");
  EXPECT_EQ(token("0123456789abcdef"), "0123456789abcdef") << "the file comes first";
}

}  // namespace
}  // namespace l0gm
