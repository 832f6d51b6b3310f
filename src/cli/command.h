#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "training/modalities.h"

namespace l0gm {

// Options that several verbs share, declared once.
struct Common {
  bool json = false, quiet = false, progress = false;
};
struct MachineFlags {
  std::string device = "cpu";
  int64_t threads = 0;
  bool deterministic = false;
  void add_to(CLI::App& verb);
  Machine prepare() const { return prepare_machine(device, threads, deterministic); }
};

// The result: one JSON object with --json, else the text. To standard output.
void print_result(const Common& common, const nlohmann::json& json, const std::string& text);

// One file per verb; each adds its subcommand.
void add_train(CLI::App& app, const Common& common);
void add_eval(CLI::App& app, const Common& common);
void add_compact(CLI::App& app, const Common& common);
void add_bench(CLI::App& app, const Common& common);
void add_bench_table(CLI::App& bench, const Common& common);
void add_bench_graph(CLI::App& bench, const Common& common);
void add_bench_text(CLI::App& bench, const Common& common);
void add_predict(CLI::App& app, const Common& common);
void add_report(CLI::App& app, const Common& common);
void add_export(CLI::App& app, const Common& common);
void add_serve(CLI::App& app, const Common& common);
void add_data(CLI::App& app, const Common& common);
void add_sweep(CLI::App& app, const Common& common);
void add_crossval(CLI::App& app, const Common& common);
void add_tune(CLI::App& app, const Common& common);
void add_columns(CLI::App& app, const Common& common);
void add_compare(CLI::App& app, const Common& common);
void add_paper(CLI::App& app, const Common& common);
void add_options(CLI::App& app, const Common& common);

}  // namespace l0gm
