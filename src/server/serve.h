#pragma once

#include <string>
#include <vector>

#include "server/http_server.h"
#include "server/predict_workers.h"

namespace l0gm {

struct ServeOptions {
  std::vector<std::string> models;  // PATH or NAME=PATH
  std::string host = "127.0.0.1";
  int port = 8080;            // 0: any free one
  std::string token_file;     // "": the environment variable L0GM_TOKEN, or none
  int64_t threads = 0;        // that predict; 0: one per core
  double reload_seconds = 1;  // between two looks at the files; 0: never
  double time_limit_seconds = 10, idle_seconds = 60, grace_seconds = 10;
  double wait_milliseconds = 0;
  int64_t most_body_bytes = 8 << 20, most_rows = 10000, most_connections = 1024, batch_rows = 1024, batch_tokens = 16384;
};

// Serves until SIGINT or SIGTERM, then finishes what was accepted; a second signal ends at once. Prints its address to standard
// output when it listens. UserError when an option or a model will not do.
void serve(const ServeOptions& options);

// The secret that clients must bring: from the file, else from L0GM_TOKEN; "" for none. UserError where one is needed, because
// others than this machine can reach the server, or where it is too short to be one.
std::string read_token(const ServeOptions& options);

}  // namespace l0gm
