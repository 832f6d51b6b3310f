#include "compact/graph/graph_file.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include "base/json_checks.h"
#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "runtime/container.h"
#include "runtime/manifest.h"

namespace l0gm {

namespace {

using nlohmann::json;

GraphHeader read_header(const Container& file) {
  const json& manifest = file.manifest();
  GraphHeader header;
  const json& inputs = json_checks::member(manifest, "manifest", "inputs");
  header.inputs = GraphInputs::from_json(inputs);
  refuse_unknown_keys(inputs, header.inputs.to_json(), "inputs");
  header.classes = json_checks::texts(manifest, "manifest", "classes");
  json_checks::check_unique(header.classes, "manifest", "classes");
  if (header.classes.size() < 2) throw UserError(fmt::format("it has {} classes, wanted two or more", header.classes.size()));
  const json& net = json_checks::member(manifest, "manifest", "net");
  header.net = GraphNet::from_json(net, header.inputs, static_cast<int64_t>(header.classes.size()));
  refuse_unknown_keys(net, header.net.to_json(), "net");
  ContainerFacts facts = file.facts(header.classes.size(), {"net", "inputs", "classes"});
  if (facts.weights != "float32") throw UserError(fmt::format("its weights are '{}', a graph's are float32", facts.weights));
  header.calibrator = std::move(facts.calibrator);
  header.about = std::move(facts.about);
  return header;
}

// Nothing is allocated for a model whose numbers the file does not hold.
void check_tensors(const Container& file, const GraphNet& net) {
  int64_t elements = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.dtype != DType::f32)
      throw UserError(fmt::format("tensor '{}' is of type {}, wanted F32", name, name_of(tensor.dtype)));
    if (!all_finite(tensor.dtype, tensor.bytes))
      throw UserError(fmt::format("tensor '{}' holds a number that is not finite", name));
    elements += tensor.elements();
  }
  if (elements != net.numbers()) throw UserError(fmt::format("it holds {} numbers, its net has {}", elements, net.numbers()));
}

GraphFile read(const Container& file) {
  if (file.kind() != "graph") throw UserError(fmt::format("it is a model of kind '{}', wanted 'graph'", file.kind()));
  GraphFile result{read_header(file), nullptr, file.tensors_sha256()};
  check_tensors(file, result.header.net);
  result.model = make_model(result.header.net);
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    torch::Tensor& copy = tensors[name] = at::empty(tensor.shape, torch::kFloat32);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), static_cast<char*>(copy.mutable_data_ptr()));
  }
  copy_into(tensors, result.model->weights(), "the file");
  result.model->eval();
  return result;
}

}  // namespace

int64_t write_graph_model(const std::filesystem::path& path, const GraphHeader& header, const Model& model) {
  TensorMap on_host;  // holds the memory while it is written
  ContainerWriter writer("graph");
  for (const auto& [name, tensor] : model.weights()) {
    const torch::Tensor& t = on_host[name] = tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
    writer.add(name, DType::f32, t.sizes().vec(), t.const_data_ptr(), static_cast<size_t>(t.nbytes()));
  }
  writer.set("net", header.net.to_json());
  writer.set("inputs", header.inputs.to_json());
  writer.set("classes", header.classes);
  return writer.write(path, {"float32", header.calibrator, header.about});
}

GraphFile read_graph_model(const std::filesystem::path& path) {
  const Container file = Container::read(path);
  return file.explain([&] { return read(file); });
}

}  // namespace l0gm
