#include <fmt/format.h>

#include "base/files.h"
#include "encode/text/folder_files.h"
#include "encode/text/tokenizer.h"
#include "l0gm/error.h"

namespace l0gm {

std::shared_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& folder) {
  using namespace folder_files;
  const auto has = [&](const char* name) { return std::filesystem::exists(folder / name); };
  const auto where = [&](const char* name) { return (folder / name).string(); };
  if (has("tokenizer.json")) return tokenizer_from_json(read_file(folder / "tokenizer.json"), where("tokenizer.json"));
  const Json config = read_config(folder);
  if (has("vocab.txt")) {
    return tokenizer_from_json(json_from_vocabulary(read_file(folder / "vocab.txt"), config, where("vocab.txt")),
                               where("vocab.txt"));
  }
  if (has("vocab.json") && has("merges.txt")) {
    return tokenizer_from_json(json_from_merges(read_file(folder / "vocab.json"), read_file(folder / "merges.txt"), config,
                                                where("merges.txt")),
                               where("merges.txt"));
  }
  if (has("spm.model")) {
    return tokenizer_from_json(json_from_pieces(read_file(folder / "spm.model"), config, where("spm.model")), where("spm.model"));
  }
  throw UserError(
      fmt::format("{}: no tokenizer found; wanted tokenizer.json, vocab.txt, vocab.json with merges.txt, or spm.model. Name the "
                  "folder of a model.",
                  folder.string()));
}

}  // namespace l0gm
