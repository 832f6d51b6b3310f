#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compact/compaction.h"
#include "compact/text/checked_texts.h"
#include "compact/text/text_file.h"

namespace l0gm {

// The narrowed model, for `l0gm predict` and the runtime. The encoder keeps its width, since the interface follows a layer norm;
// what closed units leave out is in the head. UserError for a run that cannot be compacted: gates that depend on the text.
class TextCompaction : public Compaction {
 public:
  TextCompaction(const std::filesystem::path& run, const CompactOptions& options);
  const Checked& checked() const override { return checked_; }
  const std::vector<std::string>& classes() const override { return run_.text.classes; }
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  // Test texts of a large encoder are not predicted again: that takes an hour on a processor, and `l0gm eval` tells the figures.
  Predictions served(const std::filesystem::path& file, Split split) override;
  double least_limit() const override { return 1e-4; }
  bool can_round() const override { return true; }
  Calibrator calibrator() const override { return run_.calibrator; }
  nlohmann::json about() override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;
  std::string card(const std::string& file, const nlohmann::json& about) const override;
  nlohmann::json result(const nlohmann::json& about) const override;
  std::string describe(const nlohmann::json& result) const override;

 private:
  std::vector<double> ask(Model& model) const;
  Predictions serve(const std::filesystem::path& file, const TextRows& texts) const;
  bool predicts(Split split);
  nlohmann::json with_time(nlohmann::json facts) const;
  TextRun run_;  // as it was trained, in float32
  CheckedTexts texts_;
  std::vector<double> exact_;        // what the model says of them as it was trained, in float64
  std::shared_ptr<Model> narrowed_;  // the same model, closed units gone
  // Of a model whose structure is gated. Card and result tell it, the file does not: its bytes depend on the run alone.
  std::optional<double> timed_speedup_;
  Checked checked_;
  std::map<Split, Predictions> found_;  // what the last file said
  std::string found_in_;                // SHA-256 of its tensors
};

}  // namespace l0gm
