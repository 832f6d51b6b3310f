#include "data/text/export.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "base/line_reader.h"
#include "data/made/planted_text.h"
#include "data/text/small_tokenizer.h"
#include "data/text/source.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using Json = nlohmann::json;

std::vector<Json> lines_of(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<Json> lines;
  for (std::string_view line; reader.next(line);) lines.push_back(Json::parse(line));
  return lines;
}

TextData odd_texts() {
  TextData data;
  data.label = "kind";
  data.class_names = {"a", "b\t"};
  for (const char* text : {"tab\tand\nline", "\"quoted\"", "", "bad \xFF byte", "plain text"}) data.texts.add(text);
  data.labels = {0, 1, 0, 1, -1};
  data.split_rows = {{{0, 3}, {1}, {2, 4}}};
  finish(data);
  return data;
}

TEST(ExportTexts, MadeTextsAreReadAgainFromTheirFile) {
  const TemporaryFolder folder;
  const TextData made = make_planted_text(300, 5);
  write_texts(folder.path() / "made.tsv", made);
  DataOptions options;
  options.source = "tsv";
  options.train = (folder.path() / "made.tsv").string();
  options.text = "text";
  options.label = "label";
  options.split.column = "split";
  const TextData read = load_texts(options);
  EXPECT_EQ(read.texts.sha256(), made.texts.sha256());
  EXPECT_EQ(read.labels, made.labels);
  EXPECT_EQ(read.class_names, made.class_names);
  EXPECT_EQ(read.split_rows, made.split_rows);
  EXPECT_EQ(read.training_rows, made.training_rows);
}

TEST(ExportTexts, OddTextsAreQuoted) {
  const TemporaryFolder folder;
  write_texts(folder.path() / "odd.tsv", odd_texts());
  EXPECT_EQ(
      read_file(folder.path() / "odd.tsv"),
      "text\tlabel\tsplit\n\"tab\tand\nline\"\ta\ttrain\n\"\"\"quoted\"\"\"\t\"b\t\"\tvalid\n\ta\ttest\nbad \xFF byte\t\"b\t\""
      "\ttrain\nplain text\t\ttest\n");
  write_texts(folder.path() / "odd.csv", odd_texts());
  EXPECT_TRUE(read_file(folder.path() / "odd.csv").starts_with("text,label,split\n\"tab\tand\nline\",a,train\n"));
}

TEST(ExportTexts, PartsAsJsonLines) {
  const TemporaryFolder folder;
  const TextData data = odd_texts();
  folder.write("out/perturbed.json", "of another export");
  export_texts(data, folder.path() / "out");
  const std::vector<Json> train = lines_of(folder.path() / "out/train.jsonl"), test = lines_of(folder.path() / "out/test.jsonl");
  ASSERT_EQ(train.size(), 2u);
  EXPECT_EQ(train[0], (Json{{"row", 0}, {"label", "a"}, {"text", "tab\tand\nline"}}));
  EXPECT_EQ(train[1], (Json{{"row", 3}, {"label", "b\t"}, {"text", "bad \uFFFD byte"}}));
  EXPECT_EQ(test[0], (Json{{"row", 2}, {"label", "a"}, {"text", ""}}));
  EXPECT_EQ(lines_of(folder.path() / "out/valid.jsonl").size(), 1u);
  EXPECT_EQ(Json::parse(read_file(folder.path() / "out/split.json")), (Json{{"label", "kind"}, {"classes", {"a", "b\t"}}}));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out/perturbed.json"));
}

TEST(ExportTexts, PerturbedTokensWithTheirPlaces) {
  const TemporaryFolder folder;
  const TextData data = make_planted_text(100, 0);
  const SmallTokenizer tokenizer;
  const Tokens tokens = tokenize(data.texts, tokenizer, 64);
  const Json result = export_perturbed_texts(data, tokens, tokenizer, 7, folder.path() / "out");
  EXPECT_EQ(result["conditions"].size(), 6u);
  EXPECT_EQ(result["tokenizer"], tokenizer.sha256());
  EXPECT_EQ(result["mask"], 4);
  EXPECT_EQ(Json::parse(read_file(folder.path() / "out/perturbed.json")), result);
  for (const auto& [name, condition] : result["conditions"].items()) {
    const std::filesystem::path path = folder.path() / "out" / condition["file"].get<std::string>();
    EXPECT_EQ(sha256_file(path), condition["sha256"]);
    const std::vector<Json> lines = lines_of(path);
    ASSERT_EQ(lines.size(), data.rows(Split::test).size());
    for (const Json& line : lines) {
      const auto before = tokens.ids(line["row"]);
      ASSERT_EQ(line["ids"].size(), before.size());
      size_t masked = 0;
      for (size_t i = 0; i < before.size(); ++i) {
        const bool changed = line["ids"][i] != before[i];
        if (!changed) continue;
        EXPECT_EQ(line["masked"][masked++], i);
        EXPECT_EQ(line["ids"][i], 4);
      }
      EXPECT_EQ(line["masked"].size(), masked);
    }
  }
}

}  // namespace
}  // namespace l0gm
