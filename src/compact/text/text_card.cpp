#include "compact/text/text_card.h"

#include <fmt/format.h>

#include "base/text.h"
#include "compact/card.h"

namespace l0gm {

namespace {

using nlohmann::json;

// Names of files with their hashes.
std::string stamped(const json& files) {
  std::vector<std::string> names;
  for (const json& file : files) {
    names.push_back(
        fmt::format("{} (SHA-256 {})", card::cell(file["name"].get<std::string>()), file["sha256"].get<std::string>()));
  }
  return join(names, "; ");
}

std::string heading_of_texts(const std::string& file, const json& about) {
  const auto names = about["classes"].get<std::vector<std::string>>();
  std::vector<std::string> classes;
  for (size_t c = 0; c < names.size(); ++c) {
    classes.push_back(
        fmt::format("{} ({} training texts)", card::cell(names[c]), with_thousands(about["class_rows"][c].get<int64_t>())));
  }
  return fmt::format("# {}\n\nPredicts `{}` of a text: {}. Made with {}.\n\n", card::cell(file),
                     card::cell(about["label"].get<std::string>()), list_some(classes, 20),
                     about["made_with"].get<std::string>());
}

std::string encoder_of_card(const json& about) {
  const json& encoder = about["encoder"];
  const bool scratch = encoder["weights"].empty();
  return fmt::format(
      "An encoder of the {} family: {} layers of {} dimensions, {} heads, {} tokens, {} parameters; the interface is {}. {}\n",
      encoder["model_type"].get<std::string>(), encoder["layers"].get<int64_t>(), encoder["width"].get<int64_t>(),
      encoder["heads"].get<int64_t>(), card::count(encoder, "vocabulary"), card::count(encoder, "parameters"),
      encoder["pooling"] == "cls" ? "the state of the first token" : "the mean over all tokens",
      scratch ? "It was trained from scratch."
              : fmt::format("{} {}.", encoder["frozen"].get<bool>() ? "It stayed as it was in" : "It was trained on from",
                            stamped(encoder["weights"])));
}

// By prices, which are a sum over the parts, and by a clock: the two may differ.
std::string speed_of_card(const json& structure) {
  const std::string by = structure["cost"] == "latency" ? fmt::format("by the prices measured on a {} before training",
                                                                      structure["timed_on"] == "cpu" ? "processor" : "GPU")
                                                        : fmt::format("by gate.cost = {}", structure["cost"].get<std::string>());
  std::string text = fmt::format("{:.2f} times as fast as the dense model {}", structure["speedup"].get<double>(), by);
  if (structure.contains("speedup_timed")) {
    text += fmt::format(", {:.2f} times as timed here, on the processor that made this file, in float32 by LibTorch",
                        structure["speedup_timed"].get<double>());
  }
  if (!structure.contains("target_speedup")) return text;
  return fmt::format("asked to be {} times as fast; {}", structure["target_speedup"].get<double>(), text);
}

std::string gate_of_card(const json& about) {
  std::string text = card::gate(about, "tokens", false);
  if (about["gate"]["unit"] == "none") return text;
  if (about.contains("structure")) text += structure_of_card(about["structure"]);
  if (about["open_dimensions"] != about["dimensions"]) {
    text +=
        "Only the head is narrower: the interface follows a layer norm, which reads every dimension, so that the encoder "
        "computes "
        "closed ones as well. An interface gate saves next to nothing in a text encoder.\n";
  }
  return text;
}

}  // namespace

std::string structure_of_card(const json& structure) {
  return fmt::format("The encoder has {} of {} layers, {} of {} attention heads and {} of {} neurons left: {}.\n",
                     structure["layers"].get<int64_t>(), structure["layers_dense"].get<int64_t>(),
                     card::count(structure, "heads"), card::count(structure, "heads_dense"), card::count(structure, "neurons"),
                     card::count(structure, "neurons_dense"), speed_of_card(structure));
}

std::string text_card(const std::string& file, const json& about) {
  std::string text = heading_of_texts(file, about);
  text += fmt::format("## Data\n\n{}, {} texts, {} of them for training, seed {}.{}\n\n",
                      card::cell(about["dataset"].get<std::string>()), card::count(about, "texts"),
                      card::count(about, "training_rows"), about["seed"].get<int64_t>(),
                      about["files"].empty() ? "" : " Files: " + stamped(about["files"]) + ".");
  if (!about["figures"].empty()) text += "## Figures\n\n" + card::figures(about, about["classes"].size() == 2, "texts") + "\n";
  if (about["figures"].contains("valid") && !about["figures"].contains("test")) {
    text += "Test texts were not predicted with this file; `l0gm eval` tells what the run says of them.\n\n";
  }
  text += "## Calibration\n\n" + card::calibration(about, "texts") + "\n";
  text += fmt::format("## Model\n\n`{}`{}, {} weights, {} bytes. ", about["model"].get<std::string>(),
                      about["members"].get<int64_t>() > 1 ? fmt::format(", {} members", about["members"].get<int64_t>()) : "",
                      about["weights"].get<std::string>(), card::count(about, "bytes"));
  text += encoder_of_card(about) + "\n" + gate_of_card(about) + "\n" +
          card::parity(about, "texts (validation texts of all lengths, and made ones at the edge of what a text can be)") + "\n";
  text += fmt::format(
      "## Inputs\n\nOne column, `{}`: a text in UTF-8; other bytes are read as U+FFFD. Its first {} tokens are read (of the "
      "texts "
      "above {:.1f} % are longer; a training text has {:.0f} on average). An empty text is predicted, too, and counted.\n\n",
      card::cell(about["text_column"].get<std::string>()), card::count(about, "max_tokens"),
      100 * about["truncated_share"].get<double>(), about["mean_tokens"].get<double>());
  text +=
      "## Limits\n\n- Figures hold for texts like those above: of the same language, kind and length.\n- Nothing here says "
      "whether a "
      "prediction is fair or may be acted on: look at the figures for the groups that matter to you.\n\n";
  return text + fmt::format("## Use\n\n```sh\nl0gm predict '{}' texts.csv -o predictions.csv\n```\n", file);
}

}  // namespace l0gm
