#include "cli/command.h"

namespace l0gm {

void add_options(CLI::App& app, const Common& common) {
  CLI::App* verb =
      app.add_subcommand("options", "all options of a configuration, as Markdown (docs/options.md) or JSON with their defaults");
  verb->callback([&common] {
    Config defaults;
    print_result(common, OptionList::of(defaults).json(), options_page(modalities()));
  });
}

}  // namespace l0gm
