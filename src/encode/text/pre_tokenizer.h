#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encode/text/workspace.h"

// A step that splits a normalised text into pieces; the last one's pieces are the words of the model.
//   step->split({text, true}, scratch, take);   // take: anything that is called with a piece and returns false when it has
//   enough
namespace l0gm {

struct TextPiece {
  std::string_view text;     // not empty
  bool starts_text = false;  // begins where the text begins
};

// A reference to a function, without memory of its own.
class TakePiece {
 public:
  template <class Function>
  TakePiece(const Function& function)  // NOLINT: passed where a function is wanted
      : object_(&function),
        call_([](const void* object, TextPiece piece) { return (*static_cast<const Function*>(object))(piece); }) {}
  bool operator()(TextPiece piece) const { return call_(object_, piece); }

 private:
  const void* object_;
  bool (*call_)(const void*, TextPiece);
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Hands over pieces in order, none of them empty; they live until `take` returns. False: `take` had enough.
  virtual bool split(TextPiece piece, std::string& scratch, TakePiece take) const = 0;
};

enum class PrependScheme { always, first, never };

std::unique_ptr<PreTokenizer> make_bert_split();
std::unique_ptr<PreTokenizer> make_whitespace_split();  // at white space
std::unique_ptr<PreTokenizer> make_word_split();        // words and what lies between them, without white space
std::unique_ptr<PreTokenizer> make_punctuation_split();
std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space,
                                              bool use_expression);  // pieces are raw bytes; byte_level.cpp
std::unique_ptr<PreTokenizer> make_metaspace(char32_t replacement, PrependScheme scheme, bool split);

// Each step splits the pieces of the one before it.
bool split_all(const std::vector<std::unique_ptr<PreTokenizer>>& steps, TextPiece piece,
               std::array<std::string, Workspace::most_steps>& scratch, TakePiece take, size_t from = 0);

}  // namespace l0gm
