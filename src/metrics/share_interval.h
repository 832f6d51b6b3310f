#pragma once

#include "metrics/calibration.h"

namespace l0gm {

// 95 % interval of a share that was observed in `count` rows, by Wilson's score: it stays within [0, 1] and covers in small bins.
Interval share_interval(double share, double count);

}  // namespace l0gm
