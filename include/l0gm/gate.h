// All headers of the gate, for use in your own LibTorch model: see docs/library.md and examples/own_model.
//   l0gm::HardConcrete gate(l0gm::GateOptions{}, torch::ones({width}));
//   auto gated = gate->forward(encoder(x), schedule.at(progress), {seed, step, 0, example_ids});
//   auto loss = task(head(gated.value), y) + lambda * gated.expected_open;
#pragma once

#include "l0gm/coupling.h"
#include "l0gm/error.h"
#include "l0gm/gate_control.h"
#include "l0gm/gate_options.h"
#include "l0gm/gate_pass.h"
#include "l0gm/hard_concrete.h"
#include "l0gm/schedule.h"
