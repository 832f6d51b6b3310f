#include "base/toml_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

TEST(TomlJson, HoldsAllThatAFileSays) {
  const TemporaryFolder folder;
  const auto file = folder.write("a.toml", "n = 3\nx = 1e-3\nyes = true\n[[part]]\nname = \"é\"\n[[part]]\n\"a.b\" = [1, 0.5]\n");
  const nlohmann::json wanted = {{"n", 3},
                                 {"x", 1e-3},
                                 {"yes", true},
                                 {"part", {{{"name", "é"}}, {{"a.b", nlohmann::json::array({1, 0.5})}}}}};
  EXPECT_EQ(read_toml_as_json(file), wanted);
}

TEST(TomlJson, SaysWhereItIsWrong) {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& text) {
    return message_of<UserError>([&] { read_toml_as_json(folder.write("b.toml", text)); });
  };
  EXPECT_NE(message("a = 1\nb = \n").find("b.toml line 2"), std::string::npos);
  EXPECT_NE(message("a = 1\nb = 2024-01-01\n").find("b.toml line 2: dates"), std::string::npos);
  EXPECT_THROW(read_toml_as_json(folder.path() / "none.toml"), UserError);
}

}  // namespace
}  // namespace l0gm
