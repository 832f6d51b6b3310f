#include "report/event_file.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string text;
  for (const int value : values) text += static_cast<char>(value);
  return text;
}

TEST(Crc32c, KnownValues) {  // RFC 3720, B.4; the last: the usual check value
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, Masked) { EXPECT_EQ(masked_crc32c(""), 0xa282ead8U); }

// What TensorFlow's own writer makes of the first event of a file (wall time 1.5 s):
//   tf.io.TFRecordWriter(...).write(event_pb2.Event(wall_time=1.5, file_version="brain.Event:2").SerializeToString())
TEST(EventRecord, FramesLengthChecksumsAndBytes) {
  const std::string event = version_event(1.5);
  EXPECT_EQ(event, bytes({0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x1a, 0x0d}) + "brain.Event:2");
  const std::string record = event_record(event);
  ASSERT_EQ(record.size(), 8 + 4 + event.size() + 4);
  EXPECT_EQ(record.substr(0, 8), bytes({24, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(record.substr(8, 4), bytes({0xa3, 0x7f, 0x4b, 0x22})) << "the known checksum of a length of 24";
  EXPECT_EQ(record.substr(12, event.size()), event);
  const uint32_t sum = masked_crc32c(event);
  EXPECT_EQ(record.substr(12 + event.size()), std::string(reinterpret_cast<const char*>(&sum), 4));
}

TEST(Events, Scalar) {
  const std::string value = bytes({0x0a, 1}) + "a" + bytes({0x15, 0, 0, 0x80, 0x3f});  // tag "a", simple_value 1
  const std::string summary = bytes({0x0a, static_cast<int>(value.size())}) + value;
  EXPECT_EQ(scalar_event(0, 300, {{"a", 1}}),
            bytes({0x09, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0xac, 0x02, 0x2a, static_cast<int>(summary.size())}) + summary);
}

TEST(Events, HistogramHasLimitsAndCounts) {
  GateHistogram histogram = gate_histogram("x", std::vector<double>{0.01, 0.99});
  const std::string event = histogram_event(0, 1, "gate", histogram);
  // bucket_limit and bucket: packed, 30 doubles each
  EXPECT_NE(event.find(bytes({0x32, 0xf0, 0x01})), event.npos);
  EXPECT_NE(event.find(bytes({0x3a, 0xf0, 0x01})), event.npos);
}

TEST(Events, Restart) { EXPECT_EQ(restart_event(0, 7), bytes({0x09, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 7, 0x3a, 2, 0x08, 1})); }

TEST(EventFiles, BeginWithTheirVersionAndGrow) {
  const TemporaryFolder folder;
  EventFile file(folder.path() / "tensorboard");
  EXPECT_NE(file.path().filename().string().find("tfevents"), std::string::npos);
  const std::string before = read_file(file.path());
  EXPECT_NE(before.find("brain.Event:2"), before.npos);
  file.add(scalar_event(1, 2, {{"a", 3}}));
  EXPECT_EQ(read_file(file.path()), before + event_record(scalar_event(1, 2, {{"a", 3}})));
}

TEST(EventFiles, AFolderThatCannotBeMadeIsAUserError) { EXPECT_THROW(EventFile("/proc/nothing"), UserError); }

}  // namespace
}  // namespace l0gm
