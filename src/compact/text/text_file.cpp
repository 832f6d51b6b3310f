#include "compact/text/text_file.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "runtime/packed_rows.h"

namespace l0gm {

namespace {

constexpr int64_t rows_at_once = 4096;  // that are rounded: bounds the memory for tables of many words

torch::Dtype torch_type(DType type) {
  if (type == DType::bf16) return torch::kBFloat16;
  return type == DType::i8 ? torch::kInt8 : torch::kFloat32;
}

torch::Tensor copied(const TensorBytes& tensor) {
  torch::Tensor copy = at::empty(tensor.shape, torch_type(tensor.dtype));
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), static_cast<char*>(copy.mutable_data_ptr()));
  return copy;
}

TextFile read_text_file(const Container& file) {
  TextFile result;
  result.header = read_text_header(file);
  result.tensors_sha256 = file.tensors_sha256();
  result.model = make_model(result.header.net);
  TensorMap tensors;
  for (const auto& [name, tensor] : file.tensors()) {
    const bool scaled = tensor.dtype == DType::i8;
    if (scaled) {
      const torch::Tensor scales = copied(file.tensors().at(scales_of(name)));
      tensors[name] = copied(tensor).to(torch::kFloat32) * scales.unsqueeze(1);
    } else if (!name.ends_with(scales_of(""))) {
      tensors[name] = copied(tensor);
    }
  }
  copy_into(tensors, tensors_of_text_model(*result.model), "the file");
  result.model->eval();
  return result;
}

// The integers of a matrix and a scale for each of its rows, in memory that outlives the writing.
struct Int8Rows {
  std::vector<std::byte> elements;
  std::vector<float> scales;
  explicit Int8Rows(const torch::Tensor& tensor) {
    const int64_t rows = tensor.size(0), columns = tensor.size(1);
    for (int64_t begin = 0; begin < rows; begin += rows_at_once) {
      const int64_t count = std::min(rows_at_once, rows - begin);
      const torch::Tensor part = tensor.narrow(0, begin, count).to(torch::kCPU, torch::kFloat64).contiguous();
      Matrix matrix(count, columns);
      std::copy_n(part.const_data_ptr<double>(), part.numel(), matrix.values.begin());
      const RoundedMatrix rounded = round_matrix(matrix, DType::i8);
      elements.insert(elements.end(), rounded.elements.begin(), rounded.elements.end());
      scales.insert(scales.end(), rounded.scales.begin(), rounded.scales.end());
    }
  }
};

}  // namespace

int64_t write_text_model(const std::filesystem::path& path, const TextHeader& header, const Model& model) {
  TensorMap on_host;  // holds the memory while it is written, as `rounded` does
  std::deque<Int8Rows> rounded;
  ContainerWriter writer("text");
  for (const auto& [name, tensor] : tensors_of_text_model(model)) {
    const DType type = type_in_text_file(name, static_cast<size_t>(tensor.dim()), header.weights);
    if (type == DType::i8) {
      const Int8Rows& rows = rounded.emplace_back(tensor.detach());
      writer.add(name, type, tensor.sizes().vec(), rows.elements.data(), rows.elements.size());
      writer.add(scales_of(name), DType::f32, {tensor.size(0)}, rows.scales.data(), rows.scales.size() * sizeof(float));
      continue;
    }
    const torch::Tensor& t = on_host[name] = tensor.detach().to(torch::kCPU, torch_type(type)).contiguous();
    writer.add(name, type, t.sizes().vec(), t.const_data_ptr(), static_cast<size_t>(t.nbytes()));
  }
  return write_text_header(writer, path, header);
}

TextFile read_text_model(const std::filesystem::path& path) {
  const Container file = Container::read(path);
  return file.explain([&] { return read_text_file(file); });
}

}  // namespace l0gm
