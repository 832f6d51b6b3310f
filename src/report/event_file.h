#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "run/gate_units.h"

// Event files as TensorBoard reads them: records of a length, two checksums and a protocol buffer, `Event`.
//   EventFile file("runs/bank/tensorboard");
//   file.add(scalar_event(seconds, step, {{"loss/train", 0.41}}));
namespace l0gm {

uint32_t crc32c(std::string_view bytes);         // Castagnoli
uint32_t masked_crc32c(std::string_view bytes);  // as records store it: a checksum of a checksum would be weak
std::string event_record(std::string_view event);

struct Scalar {
  std::string tag;
  double value = 0;
};
std::string scalar_event(double wall_time_s, int64_t step, const std::vector<Scalar>& scalars);
std::string histogram_event(double wall_time_s, int64_t step, const std::string& tag, const GateHistogram& histogram);
std::string version_event(double wall_time_s);
// What was written of this step and later ones, by a process that was interrupted, no longer counts.
std::string restart_event(double wall_time_s, int64_t step);

// A new file in the folder, which is made; each event is in the file when the call returns.
class EventFile {
 public:
  explicit EventFile(const std::filesystem::path& folder);
  void add(std::string_view event);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace l0gm
