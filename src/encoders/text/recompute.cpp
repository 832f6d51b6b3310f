#include "encoders/text/recompute.h"

#include <ATen/Functions.h>
#include <torch/autograd.h>

#include <memory>

namespace l0gm {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Computation = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;

// Lets a function be stored with the graph.
struct StoredComputation : torch::CustomClassHolder {
  Computation function;
  size_t inputs = 0;
};

class Recompute : public torch::autograd::Function<Recompute> {
 public:
  // `tensors`: inputs, then parameters.
  static torch::Tensor forward(AutogradContext* context, at::TensorList tensors, const StoredComputation* computation) {
    context->save_for_backward(tensors.vec());
    auto stored = c10::make_intrusive<StoredComputation>();
    stored->function = computation->function;
    stored->inputs = computation->inputs;
    context->saved_data["computation"] = c10::IValue::make_capsule(std::move(stored));
    return computation->function(tensors.slice(0, computation->inputs).vec());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto capsule = context->saved_data["computation"].toCapsule();
    const auto& computation = static_cast<const StoredComputation&>(*capsule);
    variable_list tensors = context->get_saved_variables();
    variable_list inputs;
    for (size_t i = 0; i < computation.inputs; ++i)
      inputs.push_back(tensors[i].detach().requires_grad_(tensors[i].requires_grad()));
    variable_list wanted;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const torch::Tensor& tensor = i < inputs.size() ? inputs[i] : tensors[i];
      if (tensor.requires_grad()) wanted.push_back(tensor);
    }
    torch::AutoGradMode with_gradient(true);
    const torch::Tensor y = computation.function(inputs);
    const variable_list found = torch::autograd::grad({y}, wanted, {gradients[0]}, false, false, /*allow_unused=*/true);
    variable_list result;
    size_t next = 0;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const torch::Tensor& tensor = i < inputs.size() ? inputs[i] : tensors[i];
      result.push_back(tensor.requires_grad() ? found[next++] : torch::Tensor());
    }
    result.emplace_back();  // of the computation
    return result;
  }
};

}  // namespace

torch::Tensor recompute(const Computation& function, const std::vector<torch::Tensor>& x,
                        const std::vector<torch::Tensor>& parameters) {
  variable_list tensors = x;
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  StoredComputation computation;
  computation.function = function;
  computation.inputs = x.size();
  return Recompute::apply(at::TensorList(tensors), const_cast<const StoredComputation*>(&computation));
}

}  // namespace l0gm
