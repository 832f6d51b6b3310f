#include <fmt/format.h>

#include "base/files.h"
#include "encode/text/tokenizer.h"
#include "l0gm/error.h"

namespace l0gm {

std::shared_ptr<const Tokenizer> read_tokenizer(const std::filesystem::path& folder) {
  const std::filesystem::path json = folder / "tokenizer.json";
  return tokenizer_from_json(read_file(json), json.string());
}

}  // namespace l0gm
