#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "encode/text/normalizer.h"

// SentencePiece's precompiled map of characters: a double array of bytes to replacements, as the reference applies it (to
// grapheme clusters of up to five bytes, else to single characters).
namespace l0gm {

std::unique_ptr<Normalizer> make_precompiled(std::string map, const std::string& where);  // UserError when the map is damaged
std::string from_base64(std::string_view text, const std::string& where);
std::string to_base64(std::string_view bytes);

}  // namespace l0gm
