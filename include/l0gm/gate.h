#pragma once

// The gate for anybody's LibTorch model: see docs/library.md and examples/own_model.
#include "l0gm/coupling.h"
#include "l0gm/error.h"
#include "l0gm/gate_control.h"
#include "l0gm/gate_options.h"
#include "l0gm/gate_pass.h"
#include "l0gm/hard_concrete.h"
#include "l0gm/schedule.h"
