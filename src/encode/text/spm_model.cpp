#include "encode/text/spm_model.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "encode/text/tokenizer_json.h"

namespace l0gm {
namespace {

using tokenizer_json::refuse;

// One message: fields one after the other, each a number and a value.
class MessageReader {
 public:
  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;      // of whole numbers, and the bits of a float
    std::string_view bytes;  // of texts and messages
  };

  MessageReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  bool next(Field& field) {
    if (bytes_.empty()) return false;
    const uint64_t key = number();
    field = {key >> 3, 0, {}};
    switch (key & 7) {
      case 0:
        field.value = number();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(number());
        break;
      case 5: {
        uint32_t bits;
        std::memcpy(&bits, take(4).data(), 4);
        field.value = bits;
        break;
      }
      default:
        refuse(where_, fmt::format("a field has the wire type {}", key & 7));
    }
    return true;
  }

 private:
  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    refuse(where_, "a number is longer than ten bytes");
  }
  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) refuse(where_, fmt::format("a field has {} bytes, but only {} are left", count, bytes_.size()));
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
  const std::string& where_;
};

SpmPiece read_piece(std::string_view bytes, const std::string& where) {
  SpmPiece piece;
  MessageReader reader(bytes, where);
  for (MessageReader::Field field; reader.next(field);) {
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2) {
      const auto bits = static_cast<uint32_t>(field.value);
      std::memcpy(&piece.score, &bits, 4);
    }
    if (field.number == 3) {
      if (field.value < 1 || field.value > 6) refuse(where, fmt::format("a piece is of kind {}, wanted 1 to 6", field.value));
      piece.kind = static_cast<PieceKind>(field.value);
    }
  }
  if (!std::isfinite(piece.score)) refuse(where, "a piece's score is not finite");
  return piece;
}

}  // namespace

SpmModel read_spm_model(std::string_view bytes, const std::string& where) {
  if (bytes.size() > tokenizer_json::most_bytes) refuse(where, fmt::format("{} bytes are too many", bytes.size()));
  SpmModel model;
  MessageReader reader(bytes, where);
  for (MessageReader::Field field; reader.next(field);) {
    if (field.number == 1) {
      if (model.pieces.size() == tokenizer_json::most_tokens) refuse(where, "too many pieces");
      model.pieces.push_back(read_piece(field.bytes, where));
    } else if (field.number == 2) {
      MessageReader trainer(field.bytes, where);
      for (MessageReader::Field option; trainer.next(option);) {
        if (option.number == 3) model.model_type = static_cast<int64_t>(option.value);
        if (option.number == 35) model.byte_fallback = option.value != 0;
        if (option.number == 40) model.unknown_id = static_cast<int64_t>(option.value);
      }
    } else if (field.number == 3) {
      MessageReader normalizer(field.bytes, where);
      for (MessageReader::Field option; normalizer.next(option);) {
        if (option.number == 2) model.characters_map = option.bytes;
      }
    }
  }
  if (model.pieces.empty()) refuse(where, "there are no pieces in it");
  if (model.unknown_id < 0 || model.unknown_id >= static_cast<int64_t>(model.pieces.size()))
    refuse(where, fmt::format("the piece for unknown text is {}, but there are {}", model.unknown_id, model.pieces.size()));
  return model;
}

}  // namespace l0gm
