#pragma once

#include <string>

#include "data/graph/pickle.h"

namespace l0gm {

// What the names of a pickle stand for. UserError naming `where` for all that numpy and scipy would not have written.
void check_pickle_name(const std::string& name, const std::string& where);
// name(arguments): an empty array, a type, or bytes (whose text goes into `text`).
PickleValue call_pickle_name(const PickleValue& name, const PickleValue& arguments, std::string& text, const std::string& where);
// The value given its state: an array its content, a type its byte order, a matrix its parts.
void set_pickle_state(PickleValue& value, const PickleValue& state, const std::string& where);

}  // namespace l0gm
