#include <fmt/format.h>

#include <set>

#include "encode/text/folder_files.h"
#include "encode/text/precompiled.h"
#include "encode/text/spm_model.h"
#include "encode/text/tokenizer_json.h"

// A SentencePiece model as DeBERTa's converter in the reference makes a tokenizer of it.
namespace l0gm::folder_files {
namespace {

using tokenizer_json::flag_or;
using tokenizer_json::refuse;
using tokenizer_json::refuse_kind;

Json pieces_normalizer(const SpmModel& model, const Json& config, const std::string& where) {
  Json steps = Json::array();
  if (flag_or(config, where, "do_lower_case", false)) steps.push_back({{"type", "Lowercase"}});
  steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  if (!model.characters_map.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(model.characters_map)}});
  steps.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
}

Json pieces_splits(const Json& config, const std::string& where) {
  Json steps = Json::array();
  if (flag_or(config, where, "split_by_punct", false)) steps.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
  steps.push_back({{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}, {"split", true}});
  return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
}

}  // namespace

std::string json_from_pieces(std::string_view bytes, const Json& config, const std::string& where) {
  const SpmModel model = read_spm_model(bytes, where);
  if (model.model_type != 1)
    refuse_kind(where, "the SentencePiece model of type", std::to_string(model.model_type), "1 (unigram)");
  const std::string cls = token_name(config, "cls_token", "[CLS]"), sep = token_name(config, "sep_token", "[SEP]");
  const std::set<std::string> named = {cls, sep, token_name(config, "unk_token", "[UNK]"),
                                       token_name(config, "pad_token", "[PAD]"), token_name(config, "mask_token", "[MASK]")};
  Json vocabulary = Json::array(), added = Json::array();
  std::set<std::string> found;
  int64_t cls_id = -1, sep_id = -1;
  for (const SpmPiece& piece : model.pieces) {
    check_utf8(piece.text, where);
    const auto id = static_cast<int64_t>(vocabulary.size());
    const bool special = named.contains(piece.text);
    if (special || piece.kind == PieceKind::control || piece.kind == PieceKind::user_defined)
      added.push_back(added_token(piece.text, id, special || piece.kind == PieceKind::control));
    if (special) found.insert(piece.text);
    if (piece.text == cls) cls_id = id;
    if (piece.text == sep) sep_id = id;
    vocabulary.push_back(Json::array({piece.text, static_cast<double>(piece.score)}));
  }
  auto next_id = static_cast<int64_t>(vocabulary.size());
  for (const std::string& name : named) {
    if (found.contains(name)) continue;
    if (name == cls) cls_id = next_id;
    if (name == sep) sep_id = next_id;
    added.push_back(added_token(name, next_id++, true));
  }
  const Json json = {{"type", "Unigram"},
                     {"unk_id", model.unknown_id},
                     {"vocab", std::move(vocabulary)},
                     {"byte_fallback", model.byte_fallback}};
  return layout(std::move(added), pieces_normalizer(model, config, where), pieces_splits(config, where),
                around_text(cls, cls_id, sep, sep_id), json)
      .dump();
}

}  // namespace l0gm::folder_files
