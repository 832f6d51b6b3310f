#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace l0gm {

// A value other than a tensor that an operation saves for its backward pass.
template <class T>
struct SavedValue : torch::CustomClassHolder {
  explicit SavedValue(T given) : value(std::move(given)) {}
  T value;
};

template <class T>
void save_value(torch::autograd::AutogradContext* context, T value) {
  context->saved_data["value"] = c10::IValue::make_capsule(c10::make_intrusive<SavedValue<T>>(std::move(value)));
}

template <class T>
T saved_value(torch::autograd::AutogradContext* context) {
  return static_cast<const SavedValue<T>&>(*context->saved_data.at("value").toCapsule()).value;
}

}  // namespace l0gm
