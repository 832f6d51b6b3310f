#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/paper_page.h"

namespace l0gm {

enum class Verdict { holds, does_not_hold, cannot_be_told };
template <>
inline constexpr auto enum_names<Verdict> = std::to_array<std::string_view>({"holds", "does not hold", "cannot be told"});

// Why something cannot be told.
enum class Doubt { missing, span, interval };
template <>
inline constexpr auto enum_names<Doubt> = std::to_array<std::string_view>({"lines, times or kept predictions are missing",
                                                                           "the prices do not span .8 to .2",
                                                                           "an interval has 0, or a limit, in it"});

struct Judgement {
  Verdict verdict = Verdict::cannot_be_told;
  std::optional<Doubt> doubt = Doubt::missing;  // none of what can be told
};
constexpr Judgement told(bool right) { return {right ? Verdict::holds : Verdict::does_not_hold, std::nullopt}; }
constexpr Judgement untold(Doubt doubt) { return {Verdict::cannot_be_told, doubt}; }

struct Claim {
  std::string id, text;
  Judgement judgement;
  std::string why;
};

// By table: what its lines came to.
using PaperResults = std::map<std::string, std::vector<PaperResult>>;

// The paper's claims C1 - C11, on test rows: differences by paired bootstrap, rows drawn once for all seeds that share them. Two
// lines are compared over the seeds that both have, two at least where more were asked for; C1 - C3, about all prices, leave out
// lines that are not complete.
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

// By the interval of a difference that is positive where the claim is right.
Judgement judgement_of(double low, double high);
// All have to hold. Where some cannot be told: what is missing counts before what is in doubt.
Judgement all_of(const std::vector<Judgement>& judgements);

}  // namespace l0gm
