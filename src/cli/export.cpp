#include <fmt/format.h>

#include "cli/command.h"
#include "training/text/export_encoder.h"

namespace l0gm {

namespace {

struct ExportArguments {
  std::string run, encoder;
};

void run_export(const ExportArguments& arguments, const Common& common) {
  export_encoder(arguments.run, arguments.encoder, prepare_machine("cpu", 0, false));
  print_result(common, {{"run", arguments.run}, {"encoder", arguments.encoder}},
               fmt::format("{}: config.json, model.safetensors and tokenizer.json of the encoder; gate and head are not in it\n",
                           arguments.encoder));
}

}  // namespace

void add_export(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* verb = app.add_subcommand("export", "parts of a finished run in the layouts of other programs");
  verb->add_option("run", arguments->run, "run folder")->required();
  verb->add_option("--encoder", arguments->encoder, "texts: folder to write the encoder to, in the Hugging Face layout")
      ->required();
  verb->callback([arguments, &common] { run_export(*arguments, common); });
}

}  // namespace l0gm
