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

// One: an interval of a difference that is positive where the claim is right.
Verdict verdict_of(double low, double high);
// All have to hold.
Verdict all_of(const std::vector<Verdict>& verdicts);

}  // namespace l0gm
