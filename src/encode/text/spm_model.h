#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A SentencePiece model file: protocol buffers, read by hand and checked.
//   const SpmModel model = read_spm_model(bytes, "spm.model");
namespace l0gm {

enum class PieceKind { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

struct SpmPiece {
  std::string text;
  float score = 0;
  PieceKind kind = PieceKind::normal;
};

struct SpmModel {
  std::vector<SpmPiece> pieces;
  int64_t model_type = 1;  // 1: unigram
  int64_t unknown_id = 0;
  bool byte_fallback = false;
  std::string characters_map;  // of the normaliser; may be empty
};

SpmModel read_spm_model(std::string_view bytes, const std::string& where);

}  // namespace l0gm
