#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "metrics/predictions.h"

namespace l0gm {

// Rows without a label (-1) are left out of every measure; a measure that is undefined (no labelled row, AUC of a single class)
// is NaN, which reports print as null.

// Probabilities are clipped from below at this before a logarithm is taken, here and in the calibrators: one row that was given
// probability 0 costs 34.5 nats, not infinity.
constexpr double smallest_probability = 1e-15;

int64_t labelled_rows(const Predictions& predictions);

// The class with the largest probability; ties go to the lower index.
int32_t top_class(std::span<const double> probabilities);

double accuracy(const Predictions& predictions);

// Area under the ROC curve, ties counted one half. Two classes: of P(class 1). More: mean over the one-vs-rest areas of the
// classes that occur among the labels (and are not the only one).
double auc(const Predictions& predictions);

// Mean F1 over the classes that occur among labels or top-1 predictions; a class without a true positive counts 0.
double macro_f1(const Predictions& predictions);

// Mean of -log(max(p_label, smallest_probability)), natural logarithm.
double nll(const Predictions& predictions);

// Two classes: mean of (P(class 1) - y)^2. More (or one): mean of the sum over classes of (p_c - [c is the label])^2; so, as
// usual, the two-class value is half of what the second formula would give.
double brier(const Predictions& predictions);

// classes x classes counts, row-major: [label][top-1 prediction].
std::vector<int64_t> confusion_matrix(const Predictions& predictions);

// The same measures for each single row; NaN where the label is unknown. Their means are accuracy, nll and brier.
enum class RowMetric { accuracy, nll, brier };
double row_metric(std::span<const double> probabilities, int32_t label, RowMetric metric);

}  // namespace l0gm
