#pragma once

#include "training/config.h"

namespace l0gm {

// Finds, or fetches, the files that a configuration's data needs; nothing is read but their hashes. UserError that names the
// first one that is absent.
void require_data(Config config);

}  // namespace l0gm
