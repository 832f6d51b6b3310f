#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/paper_page.h"

namespace l0gm {

enum class Verdict { holds, does_not_hold, cannot_be_told };
template <>
inline constexpr auto enum_names<Verdict> = std::to_array<std::string_view>({"holds", "does not hold", "cannot be told"});

struct Claim {
  std::string id, text;
  Verdict verdict = Verdict::cannot_be_told;
  std::string why;
};

// By table: what its lines came to.
using PaperResults = std::map<std::string, std::vector<PaperResult>>;

// The paper's claims C1 - C11, on test rows: differences by paired bootstrap, rows drawn once for all seeds that share them. A
// claim whose table was not asked for, or is not complete, cannot be told.
std::vector<Claim> judge_claims(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder);
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

// One: an interval of a difference that is positive where the claim is right.
Verdict verdict_of(double low, double high);
// All have to hold.
Verdict all_of(const std::vector<Verdict>& verdicts);

}  // namespace l0gm
