#include "report/report.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/log.h"
#include "cli/command.h"

namespace l0gm {

namespace {

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;
  ReportOptions options;
};

void run_report(ReportArguments& arguments, const Common& common) {
  Config defaults;
  const OptionList list = OptionList::of(defaults);
  for (const Option& option : list.options()) {
    if (option.is_path) arguments.options.path_keys.insert(option.key);
  }
  const Report report = make_report({arguments.runs.begin(), arguments.runs.end()}, arguments.options);
  write_file_atomically(arguments.out, report.html);
  print_result(common, {{"page", arguments.out}, {"runs", report.runs}, {"bytes", report.html.size()}, {"plots", report.plots}},
               fmt::format("{}: {} run{}, {:.1f} MB, {}; open it in a browser, no network is needed\n", arguments.out,
                           report.runs, report.runs == 1 ? "" : "s", 1e-6 * static_cast<double>(report.html.size()),
                           report.plots));
}

}  // namespace

void add_report(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* verb =
      app.add_subcommand("report", "a page to look at: one run, or several compared; one HTML file that opens offline");
  verb->add_option("runs", arguments->runs, "run folder, or folders with runs in them")->required();
  verb->add_option("-o,--out", arguments->out, "file to write, such as page.html")->required();
  verb->add_flag("--with-paths", arguments->options.with_paths,
                 "show where data and runs lie on this machine; else only their last names");
  verb->add_option("--plotly", arguments->options.plotly,
                   "plotly.min.js to put into the page; default: $L0GM_PLOTLY, then the plotly wheel in .venv; none: plain "
                   "drawings");
  verb->callback([arguments, &common] { run_report(*arguments, common); });
}

}  // namespace l0gm
