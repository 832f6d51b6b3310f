#pragma once

#include <filesystem>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/safetensors.h"
#include "l0gm/error.h"
#include "metrics/calibrator.h"

// The compact file (.l0gm), whatever kind of model is in it: safetensors with a manifest in its metadata (docs/format.md). Every
// kind has format_version, kind, weights, calibrator, tensors_sha256 and about in its manifest, and keys of its own beside them.
//   ContainerWriter writer("table");  writer.set("net", …);  writer.add("layer0", DType::f32, {2, 3}, bytes); writer.write(path);
//   const Container file = Container::read(path);  file.kind();  file.manifest();  file.tensors();
namespace l0gm {

constexpr int compact_format_version = 1;  // files of every version up to this one can be read

// What a file says beside its own model.
struct ContainerFacts {
  std::string weights = "float32";  // the type of its numbers
  Calibrator calibrator;            // of these weights; never folded
  nlohmann::json about;             // an object: provenance, gate, figures, parity; for people and reports, not for computing
};

// A file that was read: hashes hold, the manifest is strict JSON of a known version. Nothing else is believed yet.
class Container {
 public:
  // UserError naming the file and what is wrong with it. Read and not mapped: a file that shrinks under a map would end the
  // process.
  static Container read(const std::filesystem::path& path);
  static Container parse(std::string bytes, const std::string& name);  // from memory; `name` for messages
  // The kind of model in a file; "" for anything that is not a compact model, whatever is wrong with it. Reads the header alone.
  static std::string kind_of(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const std::string& kind() const { return kind_; }
  const nlohmann::json& manifest() const { return manifest_; }
  const std::string& manifest_text() const { return text_; }  // as it stands in the file
  const std::string& tensors_sha256() const { return digest_; }
  const std::map<std::string, TensorBytes>& tensors() const { return file_->tensors(); }

  // What all kinds have. `own_keys`: what else this kind's manifest may hold; UserError on any other.
  ContainerFacts facts(size_t classes, std::initializer_list<std::string_view> own_keys) const;
  // Calls read(); a UserError of it is thrown again with the file's name in front, fit to be shown.
  template <class Read>
  auto explain(const Read& read) const {
    try {
      return read();
    } catch (const UserError& error) {
      refuse(error.what());
    }
  }

 private:
  Container() = default;
  void check();
  [[noreturn]] void refuse(const std::string& what) const;
  std::string name_, text_, kind_, digest_;
  std::unique_ptr<SafetensorsFile> file_;
  nlohmann::json manifest_;
};

// Collects tensors and the manifest's keys, and writes both atomically.
class ContainerWriter {
 public:
  explicit ContainerWriter(std::string kind) : kind_(std::move(kind)) {}
  void set(const std::string& key, nlohmann::json value) { own_[key] = std::move(value); }
  // The bytes must outlive write(). A number that is not finite is a UserError.
  void add(const std::string& name, DType type, std::vector<int64_t> shape, const void* bytes, size_t size);
  void add(const std::string& name, const std::vector<int64_t>& integers, std::vector<int64_t> shape);
  int64_t write(const std::filesystem::path& path, const ContainerFacts& facts) const;  // returns the bytes written
  std::string tensors_sha256() const;

 private:
  std::string kind_;
  nlohmann::json own_ = nlohmann::json::object();
  std::map<std::string, TensorBytes> tensors_;
};

// Names and texts of a file may stand in a message: no control characters reach a terminal, and no flood.
std::string fit_for_a_message(std::string text);

// Numbers of a tensor, little-endian and at any alignment; integers are always finite.
bool all_finite(DType type, std::span<const char> bytes);

}  // namespace l0gm
