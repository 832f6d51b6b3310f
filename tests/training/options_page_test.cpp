#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

TEST(OptionsPage, IsWhatTheOptionsSay) {
  const std::filesystem::path page = std::filesystem::path(L0GM_SOURCE_DIR) / "docs" / "options.md";
  if (!std::filesystem::exists(page)) GTEST_SKIP() << page << " is absent";
  EXPECT_EQ(read_file(page), options_page(modalities())) << "run: l0gm options > docs/options.md";
}

}  // namespace
}  // namespace l0gm
