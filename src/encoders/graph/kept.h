#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace l0gm {

// What is no tensor, kept by an operation for its way back.
template <class T>
struct Kept : torch::CustomClassHolder {
  explicit Kept(T given) : value(std::move(given)) {}
  T value;
};

template <class T>
void keep(torch::autograd::AutogradContext* context, T value) {
  context->saved_data["kept"] = c10::IValue::make_capsule(c10::make_intrusive<Kept<T>>(std::move(value)));
}

template <class T>
T kept(torch::autograd::AutogradContext* context) {
  return static_cast<const Kept<T>&>(*context->saved_data.at("kept").toCapsule()).value;
}

}  // namespace l0gm
