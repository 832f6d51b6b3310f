// l0gm-serve: compact models over HTTP. A program of its own, which needs no LibTorch; `l0gm serve` starts it.
#include <CLI/CLI.hpp>
#include <new>

#include "base/log.h"
#include "base/version.h"
#include "l0gm/error.h"
#include "server/serve.h"

namespace l0gm {
namespace {

void add_limits(CLI::App& app, ServeOptions& options) {
  app.add_option("--max-body", options.most_body_bytes, "bytes of a request's body")->capture_default_str();
  app.add_option("--max-rows", options.most_rows, "rows or texts of one request")->capture_default_str();
  app.add_option("--max-connections", options.most_connections, "open at once; beyond, the longest idle one is closed")
      ->capture_default_str();
  app.add_option("--time-limit", options.time_limit_seconds,
                 "seconds to receive a request, and from there to its answer; then it is given up")
      ->capture_default_str();
  app.add_option("--idle", options.idle_seconds, "seconds that a connection may stay open between requests")
      ->capture_default_str();
  app.add_option("--grace", options.grace_seconds, "seconds to finish what was accepted, after SIGTERM or Ctrl-C")
      ->capture_default_str();
}

void add_batches(CLI::App& app, ServeOptions& options) {
  app.add_option("--threads", options.threads, "threads that predict; 0: one per core")->capture_default_str();
  app.add_option("--batch-rows", options.batch_rows, "rows that are predicted together at most")->capture_default_str();
  app.add_option("--batch-tokens", options.batch_tokens, "texts: tokens that are predicted together at most")
      ->capture_default_str();
  app.add_option("--batch-wait", options.wait_milliseconds,
                 "milliseconds that a request may wait for others to be predicted with; 0: batches are what came while all "
                 "threads were busy")
      ->capture_default_str();
}

int run(int argc, char** argv) {
  CLI::App app{"Serves compact models (.l0gm) over HTTP: predictions, metrics, and a page to try them."};
  app.name("l0gm-serve");
  app.set_version_flag("--version", std::string("l0gm-serve ") + version);
  ServeOptions options;
  bool quiet = false;
  app.add_option("models", options.models, "compact files: PATH, served under the file's name, or NAME=PATH")->required();
  app.add_option("--host", options.host, "address to listen on; one that others can reach needs a token")->capture_default_str();
  app.add_option("--port", options.port, "0: any free one")->capture_default_str()->check(CLI::Range(0, 65535));
  app.add_option("--token-file", options.token_file,
                 "file with the token that clients must bring (Authorization: Bearer TOKEN); default: the environment variable "
                 "L0GM_TOKEN");
  app.add_option("--reload", options.reload_seconds, "seconds between looks whether a file has changed; 0: never")
      ->capture_default_str();
  add_batches(app, options);
  add_limits(app, options);
  app.add_flag("--quiet", quiet, "warnings and errors only");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    log_error(std::string(error.what()) + ". `l0gm-serve --help` tells more.");
    return 2;
  }
  if (quiet) set_log_level(LogLevel::quiet);
  serve(options);
  return 0;
}

}  // namespace
}  // namespace l0gm

int main(int argc, char** argv) {
  try {
    return l0gm::run(argc, argv);
  } catch (const l0gm::UserError& error) {
    l0gm::log_error(error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    l0gm::log_error("out of memory: lower --max-body, --max-connections or the number of models");
    return 1;
  } catch (const std::exception& error) {
    l0gm::log_error(std::string("internal: ") + error.what());
    return 1;
  }
}
