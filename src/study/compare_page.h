#pragma once

#include <string>
#include <vector>

#include "study/compare.h"

namespace l0gm {

std::string compare_markdown(const Comparison& comparison, const std::vector<ComparedTable>& tables);
nlohmann::json compare_json(const Comparison& comparison, const std::vector<ComparedTable>& tables);

}  // namespace l0gm
