#include "report/study_tables.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace l0gm {
namespace {

constexpr const char* page =
    "# Sweep\n\nThe **smallest** within\n.01 of `best`.\n\n| lambda | AUC |\n|:---|---:|\n| 1e-4 | .91 |\n| a \\| b | **.90** "
    "|\n\nEnd.\n";

TEST(MarkdownParts, HeadingsTextAndTables) {
  EXPECT_EQ(markdown_parts(page), nlohmann::json::parse(R"([{"heading": "Sweep"}, {"text": "The smallest within .01 of best."},
    {"head": ["lambda", "AUC"], "rows": [["1e-4", ".91"], ["a | b", ".90"]]}, {"text": "End."}])"));
  EXPECT_TRUE(markdown_parts("").empty());
}

TEST(MarkdownParts, MarkupStaysText) {
  EXPECT_EQ(markdown_parts("<script>alert(1)</script>\n")[0]["text"], "<script>alert(1)</script>");
}

TEST(StudyTables, OnlyOfAStudysFolder) {
  const TemporaryFolder folder;
  folder.write("sweep.md", page);
  folder.write("sweep.json", "{}");
  folder.write("notes.md", "# mine\n");
  EXPECT_TRUE(study_tables(folder.path()).empty()) << "a folder of runs is no study";
  std::filesystem::create_directories(folder.path() / "cells");
  const nlohmann::json studies = study_tables(folder.path());
  ASSERT_EQ(studies.size(), 1u) << "notes.md has no figures beside it";
  EXPECT_EQ(studies[0]["name"], "sweep");
  EXPECT_EQ(studies[0]["parts"].size(), 4u);
}

}  // namespace
}  // namespace l0gm
