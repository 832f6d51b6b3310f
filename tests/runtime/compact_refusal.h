#pragma once

#include <string>

#include "base/files.h"
#include "l0gm/error.h"
#include "runtime/forged_file.h"
#include "runtime/sample_model.h"
#include "support/temporary_folder.h"

// What the reader of compact files says of bytes that are not one.
namespace l0gm::testing_tools {

inline std::string bytes_of(const SampleOptions& options) {
  const TemporaryFolder folder;
  const CompactHeader header = sample_header(options);
  write_compact(folder.path() / "m.l0gm", header, sample_net(header.schema, options));
  return read_file(folder.path() / "m.l0gm");
}

inline std::string error_of(const std::string& bytes) {
  try {
    read_compact(bytes, "m.l0gm");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// "" when the file is refused with that text in the message.
inline std::string unless_refused(const std::string& bytes, const std::string& with) {
  const std::string error = error_of(bytes);
  const bool names_file = error.starts_with("'m.l0gm' ");
  return names_file && error.find(with) != std::string::npos ? "" : error + "   (wanted: " + with + ")";
}

}  // namespace l0gm::testing_tools
