#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "study/paper_judge.h"

// What the paper's page says of claims.
namespace l0gm {

std::string claims_markdown(const std::vector<Claim>& claims);
nlohmann::json claims_json(const std::vector<Claim>& claims);

// What a page says first: each claim on each dataset, and how much of every dataset's tables is there.
struct DataClaims {
  std::string name;
  std::vector<Claim> claims;
  int64_t lines = 0, complete = 0;
  std::vector<std::string> absent;  // "q1 GCN (1 of 3 seeds)"
};
DataClaims data_claims(const PaperPlan& plan, const std::vector<PaperTable>& tables, const PaperResults& results,
                       std::vector<Claim> claims);
std::string summary_markdown(const std::vector<DataClaims>& data);

}  // namespace l0gm
