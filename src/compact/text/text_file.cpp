#include "compact/text/text_file.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/json_checks.h"
#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "runtime/container.h"
#include "runtime/manifest.h"

namespace l0gm {

namespace {

using nlohmann::json;

constexpr int64_t most_tokens = 65536;

// Which tensors bfloat16 rounds: nearly all numbers are in these, and norms, biases and the head are more sensitive.
bool is_rounded(const std::string& name, size_t dimensions) {
  return name.starts_with("encoder.transformer.") && dimensions == 2;
}

DType type_in_file(const std::string& name, size_t dimensions, WeightType weights) {
  return weights == WeightType::bfloat16 && is_rounded(name, dimensions) ? DType::bf16 : DType::f32;
}

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

TextHeader read_text_header(const Container& file, WeightType& weights) {
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
  weights = json_checks::enumerator<WeightType>(manifest, "manifest", "weights");
  if (weights == WeightType::int8)
    throw UserError(fmt::format("its weights are '{}', a text model's are float32 or bfloat16", facts.weights));
  header.calibrator = std::move(facts.calibrator);
  header.about = std::move(facts.about);
  return header;
}

// Nothing is allocated for a model whose numbers the file does not hold.
void check_text_tensors(const Container& file, const TextNet& net, WeightType weights) {
  int64_t elements = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    const DType wanted = type_in_file(name, tensor.shape.size(), weights);
    if (tensor.dtype != wanted)
      throw UserError(fmt::format("tensor '{}' is of type {}, wanted {}", name, name_of(tensor.dtype), name_of(wanted)));
    if (!all_finite(tensor.dtype, tensor.bytes))
      throw UserError(fmt::format("tensor '{}' holds a number that is not finite", name));
    elements += tensor.elements();
  }
  if (elements != net.numbers()) throw UserError(fmt::format("it holds {} numbers, its net has {}", elements, net.numbers()));
}

TextFile read_text_file(const Container& file) {
  if (file.kind() != "text") throw UserError(fmt::format("it is a model of kind '{}', wanted 'text'", file.kind()));
  TextFile result;
  result.header = read_text_header(file, result.weights);
  result.tensors_sha256 = file.tensors_sha256();
  check_text_tensors(file, result.header.net, result.weights);
  result.model = make_model(result.header.net);
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    torch::Tensor& copy = tensors[name] =
        at::empty(tensor.shape, tensor.dtype == DType::bf16 ? torch::kBFloat16 : torch::kFloat32);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), static_cast<char*>(copy.mutable_data_ptr()));
  }
  copy_into(tensors, tensors_of_text_model(*result.model), "the file");
  result.model->eval();
  return result;
}

}  // namespace

int64_t write_text_model(const std::filesystem::path& path, const TextHeader& header, const Model& model, WeightType weights) {
  TensorMap on_host;  // holds the memory while it is written
  ContainerWriter writer("text");
  for (const auto& [name, tensor] : tensors_of_text_model(model)) {
    const DType type = type_in_file(name, static_cast<size_t>(tensor.dim()), weights);
    const torch::Tensor& t = on_host[name] =
        tensor.detach().to(torch::kCPU, type == DType::bf16 ? torch::kBFloat16 : torch::kFloat32).contiguous();
    writer.add(name, type, t.sizes().vec(), t.const_data_ptr(), static_cast<size_t>(t.nbytes()));
  }
  writer.set("net", header.net.to_json());
  writer.set("tokenizer", header.tokenizer->json());
  writer.set("text",
             {{"column", header.column}, {"delimiter", std::string(1, header.delimiter)}, {"max_tokens", header.max_tokens}});
  writer.set("classes", header.classes);
  return writer.write(path, {std::string(name_of_enum(weights)), header.calibrator, header.about});
}

TextFile read_text_model(const std::filesystem::path& path) {
  const Container file = Container::read(path);
  return file.explain([&] { return read_text_file(file); });
}

}  // namespace l0gm
