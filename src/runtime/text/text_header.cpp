#include "runtime/text/text_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/json_checks.h"
#include "l0gm/error.h"
#include "runtime/manifest.h"

namespace l0gm {

namespace {

using nlohmann::json;

constexpr int64_t most_tokens = 65536;
constexpr std::string_view scales_ending = ".scales";

char delimiter_in(const json& text) {
  const std::string found = json_checks::text(text, "text", "delimiter");
  const bool usable = found.size() == 1 && static_cast<unsigned char>(found[0]) < 0x80 && found[0] != '"' && found[0] != '\n' &&
                      found[0] != '\r' && found[0] != 0;
  if (!usable) json_checks::refuse("text", "'delimiter' is not one character that can separate cells");
  return found[0];
}

// How texts become the tokens that the net reads.
void read_inputs(const json& manifest, TextHeader& header) {
  const json& text = json_checks::member(manifest, "manifest", "text");
  refuse_other_keys(text, "text", {"column", "delimiter", "max_tokens"});
  header.column = json_checks::text(text, "text", "column");
  if (header.column.empty()) json_checks::refuse("text", "'column' is empty");
  header.delimiter = delimiter_in(text);
  const int64_t longest = std::min(most_tokens, header.net.encoder.longest_text());
  header.max_tokens = json_checks::count(text, "text", "max_tokens", 2, longest);
  header.tokenizer = tokenizer_from_json(json_checks::text(manifest, "manifest", "tokenizer"), "tokenizer");
  if (header.tokenizer->vocabulary_size() > header.net.encoder.vocabulary) {
    throw UserError(fmt::format("its tokenizer has {} tokens, its encoder {}", header.tokenizer->vocabulary_size(),
                                header.net.encoder.vocabulary));
  }
  std::vector<int32_t> ids;
  header.tokenizer->encode("", header.max_tokens, ids);
  if (ids.empty()) throw UserError("its tokenizer makes no token of an empty text: it adds no special ones");
}

// The tensor that these are the scales of; "": it is not one of scales.
std::string scaled_by(const std::string& name, WeightType weights) {
  if (weights != WeightType::int8 || !name.ends_with(scales_ending)) return "";
  const std::string base = name.substr(0, name.size() - scales_ending.size());
  return type_in_text_file(base, 2, weights) == DType::i8 ? base : "";
}

void check_scales(const Container& file, const std::string& name, const TensorBytes& scales, const std::string& base) {
  const auto scaled = file.tensors().find(base);
  const bool fits = scaled != file.tensors().end() && scaled->second.shape.size() == 2 && scales.shape.size() == 1 &&
                    scales.shape[0] == scaled->second.shape[0] && scales.dtype == DType::f32;
  if (!fits) throw UserError(fmt::format("tensor '{}' is not a number for each row of '{}'", name, base));
  for (size_t i = 0; i < scales.bytes.size(); i += sizeof(float)) {
    float scale = 0;
    std::memcpy(&scale, scales.bytes.data() + i, sizeof scale);
    if (!(scale > 0)) throw UserError(fmt::format("tensor '{}' holds a scale that is not above 0", name));
  }
}

// Nothing is allocated for a model whose numbers the file does not hold.
void check_text_tensors(const Container& file, const TextHeader& header) {
  int64_t elements = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    const std::string base = scaled_by(name, header.weights);
    const DType wanted = base.empty() ? type_in_text_file(name, tensor.shape.size(), header.weights) : DType::f32;
    if (tensor.dtype != wanted)
      throw UserError(fmt::format("tensor '{}' is of type {}, wanted {}", name, name_of(tensor.dtype), name_of(wanted)));
    if (!all_finite(tensor.dtype, tensor.bytes))
      throw UserError(fmt::format("tensor '{}' holds a number that is not finite", name));
    if (base.empty()) {
      elements += tensor.elements();
    } else {
      check_scales(file, name, tensor, base);
    }
    if (wanted == DType::i8 && !file.tensors().contains(scales_of(name)))
      throw UserError(fmt::format("it lacks '{}'", scales_of(name)));
  }
  if (elements != header.net.numbers())
    throw UserError(fmt::format("it holds {} numbers, its net has {}", elements, header.net.numbers()));
}

}  // namespace

std::string scales_of(const std::string& name) { return name + std::string(scales_ending); }

DType type_in_text_file(const std::string& name, size_t dimensions, WeightType weights) {
  const bool matrix = name.starts_with("encoder.transformer.") && dimensions == 2;
  if (weights == WeightType::bfloat16 && matrix) return DType::bf16;
  if (weights == WeightType::int8 && matrix && (name.ends_with(".weight") || name.ends_with(".words"))) return DType::i8;
  return DType::f32;
}

TextHeader read_text_header(const Container& file) {
  if (file.kind() != "text") throw UserError(fmt::format("it is a model of kind '{}', wanted 'text'", file.kind()));
  const json& manifest = file.manifest();
  TextHeader header;
  header.classes = json_checks::texts(manifest, "manifest", "classes");
  json_checks::check_unique(header.classes, "manifest", "classes");
  if (header.classes.size() < 2) throw UserError(fmt::format("it has {} classes, wanted two or more", header.classes.size()));
  const json& net = json_checks::member(manifest, "manifest", "net");
  header.net = TextNet::from_json(net, static_cast<int64_t>(header.classes.size()));
  refuse_unknown_keys(net, header.net.to_json(), "net");
  read_inputs(manifest, header);
  ContainerFacts facts = file.facts(header.classes.size(), {"net", "tokenizer", "text", "classes"});
  header.weights = json_checks::enumerator<WeightType>(manifest, "manifest", "weights");
  header.calibrator = std::move(facts.calibrator);
  header.about = std::move(facts.about);
  check_text_tensors(file, header);
  return header;
}

int64_t write_text_header(ContainerWriter& writer, const std::filesystem::path& path, const TextHeader& header) {
  writer.set("net", header.net.to_json());
  writer.set("tokenizer", header.tokenizer->json());
  writer.set("text",
             {{"column", header.column}, {"delimiter", std::string(1, header.delimiter)}, {"max_tokens", header.max_tokens}});
  writer.set("classes", header.classes);
  return writer.write(path, {std::string(name_of_enum(header.weights)), header.calibrator, header.about});
}

}  // namespace l0gm
