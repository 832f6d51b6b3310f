#include "compact/graph/graph_card.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compact/card.h"

namespace l0gm {

namespace {

using Json = nlohmann::json;

using card::count;

std::string model_of(const Json& about) {
  std::string text =
      fmt::format("`{}`{}, {} weights, {} bytes. ", about["model"].get<std::string>(),
                  about["members"].get<int64_t>() > 1 ? fmt::format(", {} members", about["members"].get<int64_t>()) : "",
                  about["weights"].get<std::string>(), count(about, "bytes"));
  text += card::gate(about, "attributes", false);
  if (!about["encoder_narrowed"].get<bool>()) {
    text +=
        "The last layer is normalised over all its channels (graph.last_norm = layer), so that it computes the closed ones as "
        "well; only the head is "
        "narrower.\n";
  }
  if (about["attributes_for_sums"].get<bool>()) {
    text +=
        "Attributes are scaled by each node's sum over all of them, so that closed ones are still looked at for that sum, and "
        "for nothing else.\n";
  }
  return text;
}

std::string inputs_of(const Json& about, bool lookup) {
  if (lookup && about.value("links", false)) {
    return fmt::format(
        "Two columns, `from` and `to`: names of {} nodes, whose embeddings were computed ahead from all edges of the graph "
        "above. Any other name counts as a node without an embedding.\n",
        count(about["lookup"], "nodes"));
  }
  if (lookup) {
    return fmt::format(
        "One column, `node`: the name of one of {} nodes, whose {} were computed ahead from the graph above. Any other name "
        "gets the share of each class among training nodes.\n",
        count(about["lookup"], "nodes"), about["lookup"]["stored"].get<std::string>());
  }
  const bool all = about["attributes_for_sums"].get<bool>(), undirected = about["options"].value("graph.undirected", true);
  return fmt::format("A graph whose nodes have the {} attributes that the model {} (of {}); edges as in training, {}.\n",
                     count(about, all ? "attributes" : "open_attributes"), all ? "looks at" : "reads", count(about, "attributes"),
                     undirected ? "in both directions" : "each in its own direction");
}

}  // namespace

std::string graph_card(const std::string& file, const Json& about) {
  using card::cell;
  const bool lookup = about.contains("lookup");
  const bool links = about.value("links", false);
  const std::string rows = links ? "pairs of nodes" : "nodes";
  const auto names = about["classes"].get<std::vector<std::string>>();
  std::vector<std::string> classes, files;
  for (size_t c = 0; c < names.size(); ++c) {
    const std::string count_of =
        links ? "" : fmt::format(" ({} training nodes)", with_thousands(about["class_rows"][c].get<int64_t>()));
    classes.push_back(cell(names[c]) + count_of);
  }
  for (const Json& item : about["files"]) {
    files.push_back(fmt::format("{} (SHA-256 {})", cell(item["name"].get<std::string>()), item["sha256"].get<std::string>()));
  }
  std::string text = fmt::format("# {}\n\n{}{}: {}. Made with {}.\n\n", cell(file),
                                 links ? "Predicts whether two nodes" : "Predicts the class of a node",
                                 links ? (lookup ? " of one graph are linked" : " are linked") : (lookup ? " of one graph" : ""),
                                 list_some(classes, 20), about["made_with"].get<std::string>());
  const std::string training = links ? "" : fmt::format(" {} training nodes,", count(about, "training_rows"));
  text += fmt::format("## Data\n\n{}, {} nodes, {} edges,{} seed {}.{}\n\n", cell(about["dataset"].get<std::string>()),
                      count(about, "nodes"), count(about, "edges"), training, about["seed"].get<int64_t>(),
                      files.empty() ? "" : " Files: " + join(files, "; ") + ".");
  if (!about["figures"].empty()) text += "## Figures\n\n" + card::figures(about, names.size() == 2, rows) + "\n";
  text += "## Calibration\n\n" + card::calibration(about, rows) + "\n";
  text += "## Model\n\n" + model_of(about) + "\n" + card::parity(about, rows) + "\n";
  text += "## Inputs\n\n" + inputs_of(about, lookup) + "\n";
  text += "## Limits\n\n";
  text += lookup ? "- The file knows the graph as it was: a new edge or a changed attribute changes nothing here. Make the file "
                   "again when the "
                   "graph has changed.\n"
                 : "- Figures hold for nodes like those of the graph above, and for their neighbourhoods: what a node's "
                   "neighbours are decides as "
                   "much as its own attributes.\n";
  text +=
      "- Nothing here says whether a prediction is fair or may be acted on: look at the figures for the groups that matter to "
      "you.\n\n";
  text += fmt::format("## Use\n\n```sh\nl0gm predict '{}' {} -o predictions.csv\n```\n", file,
                      lookup && links ? "pairs.csv"
                      : lookup        ? "nodes.csv"
                      : links         ? "graph.toml --pairs pairs.csv"
                                      : "graph.toml --nodes nodes.csv");
  return text;
}

}  // namespace l0gm
