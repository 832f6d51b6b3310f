#include "compact/card.h"

#include <fmt/format.h>

#include "base/text.h"

namespace l0gm {

namespace {

using Json = nlohmann::json;

std::string number(const Json& object, const char* key, int digits = 4) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? "-" : fmt::format("{:.{}f}", found->get<double>(), digits);
}

}  // namespace

namespace card {

std::string count(const Json& object, const char* key) { return with_thousands(object.at(key).get<int64_t>()); }

std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|' || c == '`' || c == '\\' || c == '<' || c == '*' || c == '_') safe += '\\';
    safe += c == '\n' || c == '\r' ? ' ' : c;
  }
  return safe;
}

std::string figures(const Json& about, bool binary, const std::string& rows) {
  const std::string ece = binary ? "ece_binary" : "ece";
  std::string text = fmt::format(
      "| split | {} | accuracy | AUC | NLL | NLL calibrated | Brier | ECE | ECE calibrated | ECE of a perfect model |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      rows);
  for (const char* split : {"valid", "test"}) {
    if (!about["figures"].contains(split)) continue;
    const Json& f = about["figures"][split];
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} ± {} |\n", split, count(f, "rows"),
                        number(f, "accuracy"), number(f, "auc"), number(f, "nll"), number(f, "nll_scaled"), number(f, "brier"),
                        number(f, ece.c_str()), number(f, (ece + "_scaled").c_str()), number(f, (ece + "_floor").c_str()),
                        number(f, (ece + "_floor_sd").c_str()));
  }
  return text + fmt::format(
                    "\nValidation {} chose the checkpoint and fitted the calibrator; test {} were used for nothing else. "
                    "Calibrated figures on validation {} are cross-fitted in five folds. ECE: 15 "
                    "equal-width bins, on {}. "
                    "The last column is what sampling alone gives a model whose probabilities are right.\n",
                    rows, rows, rows, binary ? "the probability of the second class" : "the top class");
}

std::string calibration(const Json& about, const std::string& rows) {
  const Json& calibrator = about["calibrator"];
  const auto kind = calibrator.value("kind", std::string("none"));
  if (kind == "none") return "No calibrator is stored: probabilities are raw.\n";
  const std::string value =
      calibrator.contains("temperature") ? fmt::format(" {:.4f}", calibrator["temperature"].get<double>()) : "";
  return fmt::format(
      "A calibrator ({}{}), fitted on validation {} for these weights, is stored beside the model and never folded into it. {}\n",
      kind, value, rows,
      calibrator.value("helps", false)
          ? fmt::format(
                "It lowers the NLL of validation {} that it was not fitted to, so that probabilities are calibrated unless "
                "raw ones are asked for (`--raw`).",
                rows)
          : fmt::format("It does not clearly lower the NLL of validation {} that it was not fitted to, or these are fewer than a "
                        "hundred, so that probabilities are raw unless it is asked for (`--calibrated`).",
                        rows));
}

std::string gate(const Json& about, const std::string& columns, bool folded) {
  const Json& gate = about["gate"];
  const auto closed = about["closed_columns"].get<std::vector<std::string>>();
  std::string text;
  if (gate["unit"] == "none") {
    text = "The model is dense: nothing was gated.";
  } else {
    text = fmt::format(
        "{} of {} {} are open ({:.1f} %; unit: {}, logits: {}, test rule: {}), which leaves {} of {} interface dimensions and "
        "{} of "
        "{} parameters{}.",
        count(gate, "open_units"), count(gate, "units"), gate.value("units_are", "units"),
        100 * gate["active_fraction"].get<double>(), gate["unit"].get<std::string>(), gate["logits"].get<std::string>(),
        gate["test_rule"].get<std::string>(), count(about, "open_dimensions"), count(about, "dimensions"),
        count(about, "parameters_open"), count(about, "parameters_dense"), folded ? " before folding" : "");
    if (gate.contains("served_microseconds")) {
      text += fmt::format(
          " By the prices of gate.cost = serving a row takes {} microseconds on one thread, with all of them open {}.",
          number(gate, "served_microseconds", 3), number(gate, "served_microseconds_dense", 3));
    }
    // Files of earlier versions do not say it.
    if (!gate.value("converged", true)) {
      text += fmt::format(
          " **The gates had not converged**: fixing them changed {} units, so which are open was settled by their order and not "
          "by "
          "training.",
          count(gate, "projected_units"));
    } else if (gate.contains("projected_units")) {
      text += fmt::format(" Fixing the gates changed {} units.", count(gate, "projected_units"));
    }
  }
  return text + (closed.empty() ? fmt::format(" All {} are read.\n", columns)
                                : fmt::format(" Closed {}, not read at all: {}.\n", columns, cell(list_some(closed, 100))));
}

std::string parity(const Json& about, const std::string& rows) {
  const Json& p = about["parity"];
  std::string text = fmt::format(
      "Largest difference of any class probability over {} {}: {:.1e} from the trained model in float64 (allowed {:.0e}), "
      "{:.1e} served in float32 (allowed {:.1e}; the trained model's own float32 error is {:.1e}).",
      count(p, "rows"), rows, p["float64"].get<double>(), p["float64_limit"].get<double>(), p["float32"].get<double>(),
      p["float32_limit"].get<double>(), p["trained_float32"].get<double>());
  if (p.contains("float32_folded")) {
    text += fmt::format(" Folded, the file would be {:.1e} away, so that it is written unfolded, which is slower to serve.",
                        p["float32_folded"].get<double>());
  }
  if (about.contains("rounding")) {
    text += fmt::format(" Rounding the weights to {} moves probabilities by at most {:.1e}, {:.1e} on average.",
                        about["weights"].get<std::string>(), about["rounding"]["largest_difference"].get<double>(),
                        about["rounding"]["mean_difference"].get<double>());
  }
  return text + "\n";
}

}  // namespace card

}  // namespace l0gm
