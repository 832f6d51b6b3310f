#include "compact/table/table_card.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compact/card.h"

namespace l0gm {

using Json = nlohmann::json;

namespace {

std::string inputs(const Schema& schema, const Json& about) {
  const Json worth = about.value("worth", Json::object());  // files of earlier versions do not say it
  std::string text = "| column | type | worth | what is known of it |\n|---|---|---|---|\n";
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
    const std::string gain = worth.contains(column.name) ? fmt::format("{:+.4f}", worth[column.name].get<double>()) : "-";
    text += fmt::format("| {} | {} | {} | {} |\n", card::cell(column.name), name_of_enum(column.type), gain, known);
  }
  return text + "\nWorth: by how much the NLL of validation rows rises when the column's cells are shuffled among them.\n";
}

std::string trees_beside(const Json& about) {
  if (!about.contains("trees")) return "";
  return fmt::format("Beside the net {} boosted trees, grown on the training rows: {:.0f} % of the probabilities are theirs. ",
                     card::count(about, "trees"), 100 * about["tree_share"].get<double>());
}

}  // namespace

std::string table_card(const std::string& file, const Schema& schema, const Json& about) {
  using namespace card;
  std::vector<std::string> classes, files;
  for (size_t c = 0; c < schema.classes.size(); ++c) {
    classes.push_back(fmt::format("{} ({} training rows)", cell(schema.classes[c]), with_thousands(schema.class_rows[c])));
  }
  for (const Json& item : about["files"])
    files.push_back(fmt::format("{} (SHA-256 {})", cell(item["name"].get<std::string>()), item["sha256"].get<std::string>()));
  std::string text = fmt::format("# {}\n\nPredicts the column {} of a row; its classes: {}. Made with {}.\n\n", cell(file),
                                 cell(schema.label), list_some(classes, 20), about["made_with"].get<std::string>());
  text += fmt::format("## Data\n\n{}, {} training rows, seed {}.{}\n\n", cell(about["dataset"].get<std::string>()),
                      count(about, "training_rows"), about["seed"].get<int64_t>(),
                      files.empty() ? "" : " Files: " + join(files, "; ") + ".");
  text += "## Figures\n\n" + figures(about, schema.classes.size() == 2, "rows") + "\n";
  text += "## Calibration\n\n" + calibration(about, "rows") + "\n";
  text += fmt::format("## Model\n\n`{}`{}{}, {} weights, {} bytes. ", about["model"].get<std::string>(),
                      about["members"].get<int64_t>() > 1
                          ? fmt::format(", {} members{}", about["members"].get<int64_t>(),
                                        about.value("members_share_layers", false) ? " that share layers" : "")
                          : "",
                      about.value("distilled", false) ? ", taught by a larger model" : "", about["weights"].get<std::string>(),
                      count(about, "bytes")) +
          trees_beside(about) + gate(about, "columns", true) + "\n" +
          parity(about, "rows (all validation rows and generated ones with missing, unseen and extreme values)") + "\n";
  text += "## Inputs\n\n" + inputs(schema, about) + "\n";
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
