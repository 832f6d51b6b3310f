#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/judgement.h"
#include "study/paper_page.h"

namespace l0gm {

struct Claim {
  std::string id, text;
  Judgement judgement;
  std::string why;
};

// By table: what its lines came to.
using PaperResults = std::map<std::string, std::vector<PaperResult>>;

// Both are in rising order.
std::vector<size_t> in_common(const std::vector<size_t>& first, const std::vector<size_t>& second);
// Reasons follow each other: "fine is missing; gate has 1 of 3 seeds".
void add_reason(std::string& why, const std::string& reason);
// "+0.0010 (-0.0027 … +0.0049)", and over how many seeds where not over all of the line's.
std::string difference_text(const PairedDifference& found, const PaperResult& line);

// Compares lines of one dataset's tables, over the seeds that both have.
class PaperJudge {
 public:
  PaperJudge(const PaperResults& results, const PaperPlan& plan, const StudyFolder& folder)
      : results_(results), plan_(plan), folder_(folder) {}

  bool asked(const std::string& table) const { return results_.contains(table); }
  bool has_both_ends(const std::string& table) const;
  // None: the table was not asked for, or too few seeds of the line are there; why_absent() says which.
  const PaperResult* line(const std::string& table, const std::string& name) const;
  std::string why_absent(const std::string& table, const std::string& name) const;
  std::vector<const PaperResult*> complete_lines(const std::string& table) const;
  std::vector<std::string> incomplete_lines(const std::string& table) const;  // "lambda 10 has 1 of 3 seeds"

  // Positive where the first is better, over the seeds that both have. By the rows, or where these were not kept by the seeds
  // alone (`rows` is 0 then).
  std::optional<PairedDifference> advantage(const PaperResult& first, const PaperResult& second, Measure measure,
                                            const std::vector<std::string>& conditions = {}, int64_t comparisons = 1) const;
  Judgement better(const PaperResult& first, const PaperResult& second, Measure measure, std::string& why,
                   int64_t comparisons = 1) const;
  // Whether a line of a table is better than each of the others by each measure.
  Claim beats(const std::string& id, const std::string& text, const char* table, const std::string& name,
              const std::vector<std::string>& others, const std::vector<Measure>& measures) const;
  const PaperPlan& plan() const { return plan_; }

 private:
  const PaperResult* planned(const std::string& table, const std::string& name) const;
  const PaperResults& results_;
  const PaperPlan& plan_;
  const StudyFolder& folder_;
};

}  // namespace l0gm
