#pragma once

#include <span>

namespace l0gm {

// Student's t with these degrees of freedom: the value below which a share of it lies.
double student_t_quantile(double share, double degrees_of_freedom);

// The mean of some figures and where the true one lies, 95 %; NaN limits where they cannot be told.
struct MeanInterval {
  double mean = 0, deviation = 0;  // of the figures themselves
  double low = 0, high = 0;
};

// Figures of independent runs, such as seeds on one split: mean ± t s / sqrt(n). It says how far training anew moves the mean.
MeanInterval seed_interval(std::span<const double> figures);

// Figures of cross-validation or of repeated random splits. Their training rows are mostly the same, so they are not independent
// and s / sqrt(n) is far too small; the variance is that of Nadeau and Bengio (2003), (1/n + held_out / trained) s^2, with t of n
// - 1 degrees. It is about the expected figure of a model that is trained on as many rows of the same source, and it assumes that
// a figure's correlation with another is held_out / (held_out + trained), which is a rule of thumb and not a theorem: for
// learners that change little with a few rows it is on the wide side.
MeanInterval cross_validation_interval(std::span<const double> figures, double held_out, double trained);

}  // namespace l0gm
