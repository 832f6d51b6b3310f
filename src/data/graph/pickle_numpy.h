#pragma once

#include <string>

#include "data/graph/pickle.h"

namespace l0gm {

// The meaning of the names in a pickle. UserError naming `where` for everything that numpy and scipy do not write.
void check_pickle_name(const std::string& name, const std::string& where);
// name(arguments): an empty array, a type, or bytes (whose text goes into `text`).
PickleValue call_pickle_name(const PickleValue& name, const PickleValue& arguments, std::string& text, const std::string& where);
// Sets the state of a value: the content of an array, the byte order of a type, the parts of a matrix.
void set_pickle_state(PickleValue& value, const PickleValue& state, const std::string& where);

}  // namespace l0gm
