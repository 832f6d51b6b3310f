#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// tokenizer.json made of the other files that a model's folder may have; tokenizer_from_json() then reads and checks it.
namespace l0gm::folder_files {

using Json = nlohmann::json;

// The texts and flags of tokenizer_config.json that matter here; an empty object if there is no such file.
Json read_config(const std::filesystem::path& folder);
std::string token_name(const Json& config, const char* key,
                       std::string otherwise);  // "unk_token": a text or an object with `content`

std::string json_from_vocabulary(std::string_view lines, const Json& config, const std::string& where);  // vocab.txt: WordPiece
std::string json_from_merges(std::string_view vocabulary, std::string_view merges, const Json& config,
                             const std::string& where);  // vocab.json and merges.txt: byte-level BPE
std::string json_from_pieces(std::string_view model, const Json& config, const std::string& where);  // spm.model: unigram

// Parts that the three share.
Json added_token(const std::string& content, int64_t id, bool special, bool strip_left = false);
Json layout(Json added, Json normalizer, Json splits, Json post_processor, Json model);
Json around_text(const std::string& cls, int64_t cls_id, const std::string& sep, int64_t sep_id);
void check_utf8(std::string_view text, const std::string& where);

}  // namespace l0gm::folder_files
