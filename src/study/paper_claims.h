#pragma once

#include <vector>

#include "study/paper_judge.h"

namespace l0gm {

// The paper's claims C1 - C11, on test rows: differences by paired bootstrap, rows drawn once for all seeds that share them. Two
// lines are compared over the seeds that both have, two at least where more were asked for; C1 - C3, about all prices, leave out
// lines that are not complete.
std::vector<Claim> judge_claims(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder);

}  // namespace l0gm
