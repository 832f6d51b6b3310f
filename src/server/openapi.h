#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "server/model_store.h"

namespace l0gm {

// The server's addresses as an OpenAPI 3.1 document, with a path and a schema of its own for each model.
nlohmann::json openapi(const std::vector<ModelStore::Entry>& models, int64_t most_rows, bool with_token);

}  // namespace l0gm
