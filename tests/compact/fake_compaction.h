#pragma once

#include <limits>
#include <string>
#include <vector>

#include "compact/compaction.h"
#include "runtime/container.h"

namespace l0gm::testing_tools {

// A model of four rows and two classes that is nothing but its probabilities, in float64 throughout. What it says may be moved
// away from what was trained, at each place where the driver looks.
class FakeCompaction : public Compaction {
 public:
  FakeCompaction() {
    checked_ = {4, "rows", [](int64_t row) { return "made-up row " + std::to_string(row); }, {}};
  }
  const Checked& checked() const override { return checked_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  std::vector<double> trained(Precision precision) override { return moved(precision == Precision::float32 ? own_error : 0); }
  std::vector<double> folded() override { return moved(folding_error); }
  std::vector<double> served(const std::filesystem::path& file) override { return served(file, Split::valid).probabilities; }
  Predictions served(const std::filesystem::path& file, Split split) override {
    Predictions predictions;
    predictions.classes = classes_;
    if (split == Split::test) return predictions;
    const Container container = Container::read(file);
    const std::span<const char> bytes = container.tensors().at("p").bytes;
    predictions.probabilities.resize(bytes.size() / sizeof(double));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(predictions.probabilities.data()));
    predictions.rows = {0, 1, 2, 3};
    predictions.labels = {0, 1, 1, 0};
    return predictions;
  }
  double least_limit() const override { return allowed; }
  bool unfold() override {
    if (!folded_form) return false;
    folded_form = false;
    file_error = unfolded_error;
    return true;
  }
  bool can_round() const override { return rounds; }
  Calibrator calibrator() const override { return {}; }
  nlohmann::json about() override {
    return {{"dimensions", 5},
            {"open_dimensions", 3},
            {"closed_columns", {"x"}},
            {"parameters_dense", 7},
            {"gate", {{"unit", "none"}}}};
  }
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& its_calibrator,
                const nlohmann::json& its_about) override {
    ++writes;
    double error = weights == WeightType::float32 ? file_error : 0.01;
    if (writes == write_that_differs) error += 1e-9;
    const std::vector<double> p = moved(error);
    ContainerWriter writer("fake");
    writer.add("p", DType::f64, {4, 2}, p.data(), p.size() * sizeof(double));
    return writer.write(file, {std::string(name_of_enum(weights)), its_calibrator, its_about});
  }
  std::string card(const std::string& file, const nlohmann::json& its_about) const override {
    return "# " + file + "\n" + its_about.dump() + "\n";
  }
  nlohmann::json result(const nlohmann::json&) const override { return {{"kind", "fake"}}; }
  std::string describe(const nlohmann::json& its_result) const override {
    return its_result["kind"].get<std::string>() + " of " + std::to_string(its_result["units"].get<int64_t>()) + " units\n";
  }

  double own_error = 1e-8, folding_error = 0, file_error = 1e-7;  // of the third row
  double allowed = least_numerics_limit;
  bool rounds = false;
  bool folded_form = false;  // a form of its own, with file_error; unfolded: unfolded_error
  double unfolded_error = 1e-7;
  int writes = 0, write_that_differs = 0;  // counted from 1; 0: none

 private:
  static std::vector<double> moved(double by) { return {0.75, 0.25, 0.5, 0.5, 0.25 + by, 0.75 - by, 0.625, 0.375}; }
  Checked checked_;
  std::vector<std::string> classes_ = {"no", "yes"};
};

}  // namespace l0gm::testing_tools
