#pragma once

#include <nlohmann/json_fwd.hpp>

#include "server/served_model.h"

namespace l0gm {

// What GET /v1/models/NAME tells, and the page makes its form of: inputs with ranges and categories, classes, calibration,
// what the gate closed, figures on rows that were not trained on. Only what the file knows.
nlohmann::json describe_model(const ServedModel& model, const nlohmann::json& manifest);

}  // namespace l0gm
