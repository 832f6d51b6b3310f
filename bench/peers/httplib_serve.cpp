// The same predictions behind cpp-httplib, for bench/peers/serve_load.py: what l0gm-serve's own HTTP part is compared with. Body and
// answer are read and written by the server's own code, so that only HTTP differs.
//   httplib_serve MODEL.l0gm PORT
#include <httplib.h>

#include <cstdio>
#include <cstdlib>

#include "server/predict_job.h"
#include "server/request_error.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto model = l0gm::ServedModel::open("adult", argv[1]);
  httplib::Server server;
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1 << 30);
  server.Post("/v1/models/adult:predict", [&](const httplib::Request& request, httplib::Response& response) {
    l0gm::PredictJob job;
    job.model = model;
    job.body = request.body;
    try {
      job.read(100000);
      std::vector<float> probabilities(static_cast<size_t>(job.rows.rows) * model->predictor().classes().size());
      l0gm::InputCounts counts = model->predictor().empty_counts();
      model->predict(*job.predictor, {job.rows.cells, job.rows.rows}, probabilities, counts);
      response.set_content(job.answer_of(probabilities, 0, &counts).body, "application/json");
    } catch (const l0gm::RequestError& error) {
      response.status = error.status();
    }
  });
  return server.listen("127.0.0.1", std::atoi(argv[2])) ? 0 : 1;
}
