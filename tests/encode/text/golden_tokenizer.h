#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "encode/text/tokenizer.h"

// The small tokenizers of tests/reference/tokenizers.
namespace l0gm::testing_tools {

inline std::filesystem::path golden_folder() { return std::filesystem::path(L0GM_TEST_REFERENCE_DIR) / "tokenizers"; }

inline nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(read_file(golden_folder() / (name + ".json")));
}

inline std::shared_ptr<const Tokenizer> golden_tokenizer(const std::string& name) {
  return tokenizer_from_json(read_file(golden_folder() / (name + ".json")), name);
}

inline std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text, int64_t max_tokens = 0) {
  std::vector<int32_t> ids;
  tokenizer.encode(text, max_tokens, ids);
  return ids;
}

}  // namespace l0gm::testing_tools
