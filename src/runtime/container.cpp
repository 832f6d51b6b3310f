#include "runtime/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/json_checks.h"
#include "base/safetensors_header.h"
#include "l0gm/error.h"
#include "runtime/manifest.h"

static_assert(std::endian::native == std::endian::little, "tensors are copied as they stand in the file, which is little-endian");

namespace l0gm {

using nlohmann::json;

namespace {

std::string text_at(const std::map<std::string, std::string>& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

}  // namespace

Container Container::read(const std::filesystem::path& path) { return parse(read_file(path), path.string()); }

Container Container::parse(std::string bytes, const std::string& name) {
  Container container;
  container.name_ = name;
  container.file_ = std::make_unique<SafetensorsFile>(SafetensorsFile::from_bytes(std::move(bytes), name));
  const auto& metadata = container.file_->metadata();
  if (!metadata.contains("l0gm")) {
    throw UserError(fmt::format("'{}' is not a compact model; `l0gm compact RUN -o MODEL.l0gm` makes one of a run", name));
  }
  container.text_ = metadata.at("l0gm");
  container.explain([&] {
    container.check();
    return true;
  });
  return container;
}

void Container::check() {
  const auto& metadata = file_->metadata();
  if (text_at(metadata, "l0gm_sha256") != sha256(text_))
    throw UserError("the manifest does not match the SHA-256 beside it: it is damaged");
  manifest_ = parse_manifest(text_);
  const int64_t version = json_checks::count(manifest_, "manifest", "format_version", 1);
  if (version > compact_format_version) {
    throw UserError(fmt::format(
        "it is of format version {}, this program reads versions up to {}: use a newer l0gm, or compact the run with this one",
        version, compact_format_version));
  }
  kind_ = json_checks::text(manifest_, "manifest", "kind");
  for (const auto& [key, value] : metadata) {
    if (key != "l0gm" && key != "l0gm_sha256" && key != "sha256")
      throw UserError(fmt::format("the metadata has an unknown '{}'", key));
  }
  // SafetensorsFile compared the tensors with metadata["sha256"], where it is present.
  digest_ = json_checks::text(manifest_, "manifest", "tensors_sha256");
  const std::string found = text_at(metadata, "sha256");
  if (found.empty()) throw UserError("the metadata has no SHA-256 of the tensors");
  if (found != digest_) throw UserError("the manifest names another SHA-256 of the tensors than the metadata");
}

ContainerFacts Container::facts(size_t classes, std::initializer_list<std::string_view> own_keys) const {
  for (const auto& item : manifest_.items()) {
    const auto known = {"format_version", "kind", "weights", "calibrator", "tensors_sha256", "about"};
    const bool common = std::find(known.begin(), known.end(), item.key()) != known.end();
    if (common || std::find(own_keys.begin(), own_keys.end(), item.key()) != own_keys.end()) continue;
    json_checks::refuse("manifest", fmt::format("'{}' is not known in format version 1", item.key()));
  }
  ContainerFacts facts;
  facts.weights = json_checks::text(manifest_, "manifest", "weights");
  const json& calibrator = json_checks::member(manifest_, "manifest", "calibrator");
  facts.calibrator = Calibrator::from_json(calibrator);
  refuse_unknown_keys(calibrator, facts.calibrator.to_json(), "calibrator");
  const size_t curves = facts.calibrator.curves.size();
  if (facts.calibrator.kind == CalibratorKind::isotonic && curves != (classes == 2 ? 1 : classes)) {
    throw UserError(fmt::format("its calibrator has {} curves for {} classes", curves, classes));
  }
  facts.about = json_checks::member(manifest_, "manifest", "about");
  if (!facts.about.is_object()) throw UserError("'about' must be an object");
  return facts;
}

void Container::refuse(const std::string& what) const {
  throw UserError(fmt::format("'{}' cannot be used as a compact model: {}", name_, fit_for_a_message(what)));
}

std::string Container::kind_of(const std::filesystem::path& path) {
  try {
    std::ifstream file(path, std::ios::binary);
    uint64_t size = 0;
    file.read(reinterpret_cast<char*>(&size), sizeof size);
    std::error_code error;
    if (!file || size > std::filesystem::file_size(path, error) || error || size > largest_safetensors_header) return "";
    std::string text(size, '\0');
    file.read(text.data(), static_cast<std::streamsize>(size));
    const json manifest = parse_manifest(parse_safetensors_header(text, path.string()).metadata["l0gm"]);
    return manifest.contains("kind") && manifest["kind"].is_string() ? manifest["kind"].get<std::string>() : "";
  } catch (const UserError&) {
    return "";  // reading it says what is wrong with it
  }
}

void ContainerWriter::add(const std::string& name, DType type, std::vector<int64_t> shape, const void* bytes, size_t size) {
  const auto [place, added] =
      tensors_.emplace(name, TensorBytes{type, std::move(shape), {static_cast<const char*>(bytes), size}});
  if (!added) throw std::logic_error(fmt::format("ContainerWriter: there is a tensor '{}' already", name));
  const TensorBytes& tensor = place->second;
  if (all_finite(type, tensor.bytes)) return;
  throw UserError(
      fmt::format("the model cannot be written: '{}' has a number that is not finite as {}. Train it again (a smaller learning "
                  "rate, or clipping), or choose other weights",
                  name, name_of(type)));
}

void ContainerWriter::add(const std::string& name, const std::vector<int64_t>& integers, std::vector<int64_t> shape) {
  add(name, DType::i64, std::move(shape), integers.data(), integers.size() * sizeof(int64_t));
}

std::string ContainerWriter::tensors_sha256() const { return digest_of_tensors(tensors_); }

int64_t ContainerWriter::write(const std::filesystem::path& path, const ContainerFacts& facts) const {
  json manifest = own_;
  manifest["format_version"] = compact_format_version;
  manifest["kind"] = kind_;
  manifest["weights"] = facts.weights;
  manifest["calibrator"] = facts.calibrator.to_json();
  manifest["tensors_sha256"] = tensors_sha256();
  manifest["about"] = facts.about.is_null() ? json::object() : facts.about;
  const std::string text = manifest.dump();
  write_safetensors(path, tensors_, {{"l0gm", text}, {"l0gm_sha256", sha256(text)}});
  return static_cast<int64_t>(std::filesystem::file_size(path));
}

std::string fit_for_a_message(std::string text) {
  constexpr size_t longest = 600;
  if (text.size() > longest) {
    size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

bool all_finite(DType type, std::span<const char> bytes) {
  const auto none_beyond = [bytes]<class Bits>(Bits exponent) {  // an exponent of ones: infinite or not a number
    bool sound = true;
    for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
      Bits bits = 0;
      std::memcpy(&bits, bytes.data() + at, sizeof bits);
      sound = sound && (bits & exponent) != exponent;
    }
    return sound;
  };
  if (type == DType::f64) return none_beyond(uint64_t{0x7FF0000000000000});
  if (type == DType::f32) return none_beyond(uint32_t{0x7F800000});
  if (type == DType::bf16) return none_beyond(uint16_t{0x7F80});
  return true;
}

}  // namespace l0gm
