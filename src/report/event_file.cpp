#include "report/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "l0gm/error.h"

namespace l0gm {
namespace {

// Protocol buffers, as far as an Event needs them. Field numbers: tensorboard/compat/proto/{event,summary}.proto.
enum WireType : uint32_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

void add_varint(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}
void add_key(std::string& to, uint32_t field, WireType type) { add_varint(to, field << 3 | type); }
template <class T>
void add_little_endian(std::string& to, T value) {
  static_assert(std::endian::native == std::endian::little);
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
void add_double(std::string& to, uint32_t field, double value) {
  add_key(to, field, fixed64);
  add_little_endian(to, value);
}
void add_bytes(std::string& to, uint32_t field, std::string_view bytes) {
  add_key(to, field, delimited);
  add_varint(to, bytes.size());
  to += bytes;
}
void add_packed(std::string& to, uint32_t field, const std::vector<double>& values) {
  std::string packed;
  for (const double value : values) add_little_endian(packed, value);
  add_bytes(to, field, packed);
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7.
std::string event_at(double wall_time_s, int64_t step) {
  std::string event;
  add_double(event, 1, wall_time_s);
  add_key(event, 2, varint);
  add_varint(event, static_cast<uint64_t>(step));
  return event;
}

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78U : value >> 1;
    table[i] = value;
  }
  return table;
}();

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  uint32_t value = 0xffffffffU;
  for (const char byte : bytes) value = crc_table[(value ^ static_cast<uint8_t>(byte)) & 0xff] ^ value >> 8;
  return ~value;
}

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t value = crc32c(bytes);
  return (value >> 15 | value << 17) + 0xa282ead8U;
}

std::string event_record(std::string_view event) {
  std::string record;
  add_little_endian(record, static_cast<uint64_t>(event.size()));
  add_little_endian(record, masked_crc32c(record));
  record += event;
  add_little_endian(record, masked_crc32c(event));
  return record;
}

// Summary: value = 1. Value: tag = 1, simple_value = 2, histo = 5.
std::string scalar_event(double wall_time_s, int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    add_bytes(value, 1, scalar.tag);
    add_key(value, 2, fixed32);
    add_little_endian(value, static_cast<float>(scalar.value));
    add_bytes(summary, 1, value);
  }
  std::string event = event_at(wall_time_s, step);
  add_bytes(event, 5, summary);
  return event;
}

// HistogramProto: min = 1, max = 2, num = 3, sum = 4, sum_squares = 5, bucket_limit = 6, bucket = 7.
std::string histogram_event(double wall_time_s, int64_t step, const std::string& tag, const GateHistogram& histogram) {
  std::vector<double> limits, counts;
  double number = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    limits.push_back(static_cast<double>(i + 1) / static_cast<double>(histogram.counts.size()));
    counts.push_back(static_cast<double>(histogram.counts[i]));
    number += counts.back();
  }
  std::string proto, value, summary;
  add_double(proto, 1, histogram.smallest);
  add_double(proto, 2, histogram.largest);
  add_double(proto, 3, number);
  add_double(proto, 4, histogram.sum);
  add_double(proto, 5, histogram.sum_of_squares);
  add_packed(proto, 6, limits);
  add_packed(proto, 7, counts);
  add_bytes(value, 1, tag);
  add_bytes(value, 5, proto);
  add_bytes(summary, 1, value);
  std::string event = event_at(wall_time_s, step);
  add_bytes(event, 5, summary);
  return event;
}

std::string version_event(double wall_time_s) {
  std::string event;
  add_double(event, 1, wall_time_s);
  add_bytes(event, 3, "brain.Event:2");
  return event;
}

// SessionLog: status = 1, START = 1.
std::string restart_event(double wall_time_s, int64_t step) {
  std::string log, event = event_at(wall_time_s, step);
  add_key(log, 1, varint);
  add_varint(log, 1);
  add_bytes(event, 7, log);
  return event;
}

EventFile::EventFile(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  // TensorBoard knows an event file by "tfevents" in its name, and reads several in the order of their names.
  path_ = folder / fmt::format("events.out.tfevents.{:010}.l0gm.{}", whole, getpid());
  file_.open(path_, std::ios::binary | std::ios::app);
  if (!file_) throw UserError(fmt::format("{} cannot be written: {}", path_.string(), std::strerror(errno)));
  add(version_event(std::chrono::duration<double>(now).count()));
}

void EventFile::add(std::string_view event) {
  const std::string record = event_record(event);
  file_.write(record.data(), static_cast<std::streamsize>(record.size()));
  file_.flush();
  if (!file_) throw UserError(fmt::format("{} cannot be written: {}", path_.string(), std::strerror(errno)));
}

}  // namespace l0gm
