// Folders without tokenizer.json: the same ids, and a tokenizer.json made of their files.
#include <gtest/gtest.h>

#include "encode/text/golden_tokenizer.h"
#include "encode/text/spm_model.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

void expect_same_ids(const Tokenizer& found, const Tokenizer& wanted) {
  const json cases = golden_json("cases");
  for (const json& text : cases["texts"])
    EXPECT_EQ(ids_of(found, text.get<std::string>()), ids_of(wanted, text.get<std::string>())) << text;
  const auto again = tokenizer_from_json(found.json(), "again");
  EXPECT_EQ(again->sha256(), found.sha256());
  EXPECT_EQ(ids_of(*again, "ban [MASK] kast"), ids_of(found, "ban [MASK] kast"));
}

std::string vocabulary_lines() {
  std::vector<std::string> tokens;
  const json file = golden_json("wordpiece");
  for (const auto& [token, id] : file["model"]["vocab"].items()) {
    tokens.resize(std::max(tokens.size(), id.get<size_t>() + 1));
    tokens[id.get<size_t>()] = token;
  }
  std::string lines;
  for (const std::string& token : tokens) lines += token + "\n";
  return lines;
}

TEST(ReadTokenizer, TokenizerJsonComesFirst) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", read_file(golden_folder() / "byte_pairs.json"));
  folder.write("vocab.txt", "nonsense");
  EXPECT_EQ(read_tokenizer(folder.path())->json(), read_file(golden_folder() / "byte_pairs.json"));
}

TEST(ReadTokenizer, VocabularyLines) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", vocabulary_lines());
  expect_same_ids(*read_tokenizer(folder.path()), *golden_tokenizer("wordpiece"));
  folder.write("tokenizer_config.json", R"({"do_lower_case": false, "unk_token": {"content": "[UNK]"}})");
  json cased = golden_json("wordpiece");
  cased["normalizer"]["lowercase"] = false;
  expect_same_ids(*read_tokenizer(folder.path()), *tokenizer_from_json(cased.dump(), "cased"));
  folder.write("vocab.txt", vocabulary_lines() + "[PAD]\n");
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find("'[PAD]' is there twice"), std::string::npos);
  folder.write("vocab.txt", "[UNK]\na\n");
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find("'[CLS]' or '[SEP]'"), std::string::npos);
  folder.write("vocab.txt", "a\xFF\n");
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find("byte 1 is no UTF-8"), std::string::npos);
  folder.write("tokenizer_config.json", R"({"do_lower_case": "yes"})");
  EXPECT_THROW(read_tokenizer(folder.path()), UserError);
}

TEST(ReadTokenizer, VocabularyAndMerges) {
  json wanted = golden_json("byte_pairs");
  json vocabulary = wanted["model"]["vocab"];
  vocabulary["<mask>"] = vocabulary.size();
  std::string merges = "#version: 0.2\n";
  for (const json& merge : wanted["model"]["merges"])
    merges += merge.is_string() ? merge.get<std::string>() + "\n"
                                : merge[0].get<std::string>() + " " + merge[1].get<std::string>() + "\n";
  const TemporaryFolder folder;
  folder.write("vocab.json", vocabulary.dump());
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find("no tokenizer found"), std::string::npos);
  folder.write("merges.txt", merges);
  expect_same_ids(*read_tokenizer(folder.path()), *golden_tokenizer("byte_pairs"));
  folder.write("merges.txt", merges + "a\n");
  EXPECT_THROW(read_tokenizer(folder.path()), UserError);
}

TEST(ReadTokenizer, SentencePiece) {
  const TemporaryFolder folder;
  const std::string model = read_file(golden_folder() / "spm.model");
  folder.write("spm.model", model);
  expect_same_ids(*read_tokenizer(folder.path()), *golden_tokenizer("unigram"));
  EXPECT_EQ(read_spm_model(model, "here").unknown_id, 3);
  EXPECT_EQ(read_spm_model(model, "here").pieces[1].text, "[CLS]");
  EXPECT_EQ(read_spm_model(model, "here").pieces[1].kind, PieceKind::control);
  folder.write("spm.model", model.substr(0, 100));
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find("spm.model"), std::string::npos);
  folder.write("spm.model", "");
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find("no pieces"), std::string::npos);
}

TEST(ReadTokenizer, NothingThere) {
  const TemporaryFolder folder;
  EXPECT_NE(message_of<UserError>([&] { read_tokenizer(folder.path()); }).find(folder.path().string()), std::string::npos);
  EXPECT_THROW(read_tokenizer(folder.path() / "none"), UserError);
}

}  // namespace
}  // namespace l0gm
