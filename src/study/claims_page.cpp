#include "study/claims_page.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "study/markdown.h"

namespace l0gm {

std::string claims_markdown(const std::vector<Claim>& claims) {
  std::vector<std::vector<std::string>> rows;
  for (const Claim& claim : claims)
    rows.push_back({claim.id, claim.text, std::string(name_of_enum(claim.judgement.verdict)), claim.why});
  return "### Claims\n\n" +
         markdown_table({"", "claim", "verdict",
                         "why (differences with 95 % intervals, C2 and C3: for all that were looked at together)"},
                        rows);
}

std::string summary_markdown(const std::vector<DataClaims>& data) {
  if (data.empty() || data[0].claims.empty()) return "";
  std::vector<std::string> head = {"", "claim"};
  for (const DataClaims& one : data) head.push_back(one.name);
  std::vector<std::vector<std::string>> rows;
  std::map<Verdict, int64_t> counts;
  std::map<Doubt, int64_t> doubts;
  for (size_t i = 0; i < data[0].claims.size(); ++i) {
    rows.push_back({data[0].claims[i].id, data[0].claims[i].text});
    for (const DataClaims& one : data) {
      const Judgement& judgement = one.claims[i].judgement;
      rows.back().emplace_back(name_of_enum(judgement.verdict));
      ++counts[judgement.verdict];
      if (judgement.doubt) ++doubts[*judgement.doubt];
    }
  }
  std::vector<std::string> reasons;
  for (const auto& [doubt, count] : doubts) reasons.push_back(fmt::format("{} because {}", count, name_of_enum(doubt)));
  std::string text = fmt::format(
      "## What holds\n\n{} verdicts (a claim on a dataset). *holds*: {}, *does not hold*: {}, *cannot be told*: {}{}. Why, "
      "with intervals: below each dataset's tables.\n\n{}",
      data.size() * rows.size(), counts[Verdict::holds], counts[Verdict::does_not_hold], counts[Verdict::cannot_be_told],
      reasons.empty() ? "" : " (" + join(reasons, ", ") + ")", markdown_table(head, rows));
  text += "\nWhat there is, and what is not:\n\n";
  for (const DataClaims& one : data) {
    text += fmt::format("- {}: {} of {} lines complete{}\n", one.name, one.complete, one.lines,
                        one.absent.empty() ? "" : "; not there, or not for all seeds: " + join(one.absent, ", "));
  }
  return text;
}

DataClaims data_claims(const PaperPlan& plan, const std::vector<PaperTable>& tables, const PaperResults& results,
                       std::vector<Claim> claims) {
  DataClaims out{plan.name, std::move(claims), 0, 0, {}};
  for (const PaperTable& table : tables) {
    for (const PaperResult& result : results.at(table.id)) {
      ++out.lines;
      if (result.test.complete()) {
        ++out.complete;
      } else {
        const std::string found = result.test.evaluations.empty()
                                      ? ""
                                      : fmt::format(" ({} of {} seeds)", result.test.evaluations.size(), result.test.keys.size());
        out.absent.push_back(fmt::format("{} {}{}", table.id, result.line->name, found));
      }
    }
  }
  return out;
}

nlohmann::json claims_json(const std::vector<Claim>& claims) {
  nlohmann::json json = nlohmann::json::array();
  for (const Claim& claim : claims) {
    json.push_back(
        {{"id", claim.id}, {"text", claim.text}, {"verdict", name_of_enum(claim.judgement.verdict)}, {"why", claim.why}});
    if (claim.judgement.doubt) json.back()["doubt"] = name_of_enum(*claim.judgement.doubt);
  }
  return json;
}

}  // namespace l0gm
