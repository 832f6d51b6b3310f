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

std::string count(const Json& object, const char* key) { return with_thousands(object.at(key).get<int64_t>()); }

}  // namespace

namespace card {

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
                    "\nValidation {} chose the checkpoint and fitted the calibrator; test {} were used for nothing else. ECE: 15 "
                    "equal-width bins, on {}. "
                    "The last column is what sampling alone gives a model whose probabilities are right.\n",
                    rows, rows, binary ? "the probability of the second class" : "the top class");
}

std::string calibration(const Json& about, const std::string& rows) {
  const Json& calibrator = about["calibrator"];
  const auto kind = calibrator.value("kind", std::string("none"));
  if (kind == "none") return "No calibrator is stored: probabilities are raw.\n";
  const std::string value =
      calibrator.contains("temperature") ? fmt::format(" {:.4f}", calibrator["temperature"].get<double>()) : "";
  return fmt::format(
      "A calibrator ({}{}), fitted on validation {} for these weights, is stored beside the model and never folded into it: "
      "probabilities are raw "
      "unless it is asked for (`--calibrated`).\n",
      kind, value, rows);
}

std::string gate(const Json& about, const std::string& columns, bool folded) {
  const Json& gate = about["gate"];
  const auto closed = about["closed_columns"].get<std::vector<std::string>>();
  std::string text;
  if (gate["unit"] == "none") {
    text = "The model is dense: nothing was gated.";
  } else {
    text = fmt::format(
        "{} of {} units are open ({:.1f} %; unit: {}, logits: {}, test rule: {}), which leaves {} of {} interface dimensions and "
        "{} of "
        "{} parameters{}.",
        count(gate, "open_units"), count(gate, "units"), 100 * gate["active_fraction"].get<double>(),
        gate["unit"].get<std::string>(), gate["logits"].get<std::string>(), gate["test_rule"].get<std::string>(),
        count(about, "open_dimensions"), count(about, "dimensions"), count(about, "parameters_open"),
        count(about, "parameters_dense"), folded ? " before folding" : "");
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
  if (about.contains("rounding")) {
    text += fmt::format(" Rounding the weights to {} moves probabilities by at most {:.1e}, {:.1e} on average.",
                        about["weights"].get<std::string>(), about["rounding"]["largest_difference"].get<double>(),
                        about["rounding"]["mean_difference"].get<double>());
  }
  return text + "\n";
}

}  // namespace card

namespace {

std::string inputs(const Schema& schema) {
  std::string text = "| column | type | what is known of it |\n|---|---|---|\n";
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const Column& column = schema.columns[c];
    std::string known;
    for (const Field& field : schema.fields) {
      if (field.column != static_cast<int64_t>(c) || field.kind == FieldKind::statistic) continue;
      if (!field.vocabulary.empty())
        known += fmt::format("{} values; ", with_thousands(static_cast<int64_t>(field.vocabulary.size())));
      if (field.kind == FieldKind::hashed) known += fmt::format("{} buckets; ", with_thousands(field.buckets));
      if (!field.values.empty())
        known += fmt::format("{} exact values; ", with_thousands(static_cast<int64_t>(field.values.size())));
    }
    if (column.type == ColumnType::numeric) known += fmt::format("{} to {}; ", shortest(column.low), shortest(column.high));
    known += column.missing > 0 ? fmt::format("missing in {} training rows", with_thousands(column.missing))
                                : "never missing in training";
    text += fmt::format("| {} | {} | {} |\n", card::cell(column.name), name_of_enum(column.type), known);
  }
  return text;
}

}  // namespace

std::string model_card(const std::string& file, const Schema& schema, const Json& about) {
  using namespace card;
  std::vector<std::string> classes, files;
  for (size_t c = 0; c < schema.classes.size(); ++c) {
    classes.push_back(fmt::format("{} ({} training rows)", cell(schema.classes[c]), with_thousands(schema.class_rows[c])));
  }
  for (const Json& item : about["files"])
    files.push_back(fmt::format("{} (SHA-256 {})", cell(item["name"].get<std::string>()), item["sha256"].get<std::string>()));
  std::string text = fmt::format("# {}\n\nTells {} of a row: {}. Made with {}.\n\n", cell(file), cell(schema.label),
                                 list_some(classes, 20), about["made_with"].get<std::string>());
  text += fmt::format("## Data\n\n{}, {} training rows, seed {}.{}\n\n", cell(about["dataset"].get<std::string>()),
                      count(about, "training_rows"), about["seed"].get<int64_t>(),
                      files.empty() ? "" : " Files: " + join(files, "; ") + ".");
  text += "## Figures\n\n" + figures(about, schema.classes.size() == 2, "rows") + "\n";
  text += "## Calibration\n\n" + calibration(about, "rows") + "\n";
  text += fmt::format("## Model\n\n`{}`{}{}, {} weights, {} bytes. ", about["model"].get<std::string>(),
                      about["members"].get<int64_t>() > 1 ? fmt::format(", {} members", about["members"].get<int64_t>()) : "",
                      about.value("distilled", false) ? ", taught by a larger model" : "", about["weights"].get<std::string>(),
                      count(about, "bytes")) +
          gate(about, "columns", true) + "\n" +
          parity(about, "rows (all validation rows and generated ones with missing, unseen and extreme values)") + "\n";
  text += "## Inputs\n\n" + inputs(schema) + "\n";
  text +=
      "## Limits\n\n"
      "- Figures hold for rows like those of the data above. A category that training never saw is read as unknown, a number "
      "beyond the training "
      "range is extrapolated up to a bound; `l0gm predict` counts the former.\n"
      "- Nothing here says whether a prediction is fair or may be acted on: look at the figures for the groups that matter to "
      "you.\n"
      "- The columns above must mean what they meant in training; the model cannot tell when they do not.\n\n";
  text += fmt::format("## Use\n\n```sh\nl0gm predict '{}' rows.csv -o predictions.csv\n```\n", file);
  return text;
}

}  // namespace l0gm
