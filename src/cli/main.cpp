#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/command.h"
#include "l0gm/error.h"

namespace l0gm {

void MachineFlags::add_to(CLI::App& verb) {
  verb.add_option("--device", device, "cpu or cuda")->capture_default_str();
  verb.add_option("--threads", threads, "threads to compute with; 0: one per core")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb.add_flag("--deterministic", deterministic, "deterministic kernels on devices where the fast ones are not");
}

void print_result(const Common& common, const nlohmann::json& json, const std::string& text) {
  const std::string out = common.json ? json.dump(2) + "\n" : text;
  std::fwrite(out.data(), 1, out.size(), stdout);
}

namespace {

// CLI11 says only that an argument was not expected; name what it may have meant.
std::string suggestion(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--json" || word == "--quiet" || word == "--progress") continue;
    if (word.starts_with("-")) return "";                              // an option that belongs behind its verb: CLI11 names it
    if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) {  // `data` and `bench` have verbs of their own
      const CLI::App* verb = app.get_subcommand(word);
      return verb->get_subcommands({}).empty() || i + 1 == argc ? "" : suggestion(*verb, argc - i, argv + i);
    }
    return fmt::format("unknown command '{}'.{} Commands: {}", argv[i], did_you_mean(argv[i], verbs), join(verbs, ", "));
  }
  return "";
}

// Where to read on after a mistake: as far as the command was understood.
std::string further_help(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();  // that were given
  if (verbs.empty()) return " `l0gm --help` and `l0gm VERB --help` tell more.";
  const bool sets = verbs[0]->get_option_no_throw("--set") != nullptr;
  return fmt::format(" `l0gm {} --help` tells more{}.", verbs[0]->get_name(),
                     sets ? "; what a configuration may hold is set by --set section.option=value" : "");
}

// OpenMP's threads spin while they wait for each other, and on a machine that others use as well a step then takes ten times as
// long: they shall sleep instead. The library reads the wish as it is loaded, which is before main(), so that the program starts
// itself once more. What the user has set stays, and commands that hardly compute with LibTorch stay as they are.
void let_threads_sleep(int argc, char** argv) {
  for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"}) {
    if (std::getenv(name) != nullptr) return;
  }
  const auto computes = [](std::string_view word) {
    return word == "train" || word == "eval" || word == "compact" || word == "bench";
  };
  if (std::none_of(argv + 1, argv + argc, computes)) return;
  setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
  execv("/proc/self/exe", argv);  // returns where it cannot: the threads spin, as they do elsewhere
}

int run(int argc, char** argv) {
  CLI::App app{"Classifiers that are sparse by design: one gate, one knob, calibrated probabilities."};
  Common common;
  app.set_version_flag("--version", std::string("l0gm ") + version);
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag("--json", common.json, "the result is one JSON object");
  app.add_flag("--progress", common.progress,
               "a line for each evaluation while training, where there is no terminal for a bar, too");
  app.add_flag("--quiet", common.quiet, "no progress, no information; warnings and errors only");
  add_train(app, common);
  add_eval(app, common);
  add_compact(app, common);
  add_predict(app, common);
  add_bench(app, common);
  add_report(app, common);
  add_export(app, common);
  add_serve(app, common);
  add_data(app, common);
  add_sweep(app, common);
  add_crossval(app, common);
  add_tune(app, common);
  add_columns(app, common);
  add_compare(app, common);
  add_paper(app, common);
  add_options(app, common);
  app.parse_complete_callback([&] { set_log_level(common.quiet ? LogLevel::quiet : LogLevel::normal); });
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::string hint = suggestion(app, argc, argv);
    log_error(hint.empty() ? fmt::format("{}.{}", error.what(), further_help(app)) : hint);
    return 2;
  }
}

}  // namespace

}  // namespace l0gm

int main(int argc, char** argv) {
  // Large tensors in huge pages, where the system allows it: newly mapped ones are several times as fast to fill. Read by
  // LibTorch at its first allocation; a value that is set already stays.
  setenv("THP_MEM_ALLOC_ENABLE", "1", 0);
  if (argc > 1) l0gm::let_threads_sleep(argc, argv);
  try {
    return l0gm::run(argc, argv);
  } catch (const l0gm::Stopped& error) {
    l0gm::log_error(error.what());
    return 128 + error.signal();
  } catch (const l0gm::DiskFull& error) {
    l0gm::log_error(error.what());
    return 3;
  } catch (const l0gm::UserError& error) {
    l0gm::log_error(error.what());
    return 2;
  } catch (const c10::Error& error) {
    l0gm::log_error(std::string("internal: ") + error.what_without_backtrace());
    return 1;
  } catch (const std::bad_alloc&) {
    l0gm::log_error("out of memory: lower train.batch, model.hidden or the number of rows");
    return 1;
  } catch (const std::exception& error) {
    l0gm::log_error(std::string("internal: ") + error.what());
    return 1;
  }
}
