#include "cli/command.h"

namespace l0gm {

void add_options(CLI::App& app, const Common& common) {
  CLI::App* verb = app.add_subcommand("options", "all options of a configuration, as Markdown (docs/options.md) or JSON with their defaults");
  verb->callback([&common] {
    Config defaults;
    const OptionList options = OptionList::of(defaults);
    print_result(common, options.json(),
                 "# Options\n\nEvery option of a configuration file; `--set section.option=value` overrides it on the command line.\n"
                 "This page is the output of `l0gm options`.\n" + options.markdown());
  });
}

}  // namespace l0gm
