#include "encode/table/number_codes.h"

#include <algorithm>
#include <cmath>

namespace l0gm {
namespace {

// Limits on the entries of the direct table: at most most_span, and at most free_span + span_per_value per value, so that a
// forged file with few values cannot request much memory.
constexpr double most_span = 65536, free_span = 256, span_per_value = 64;
constexpr double most_whole = 0x1p53;  // below it whole numbers and their differences are exact

}  // namespace

NumberCodes::NumberCodes(std::span<const double> values) {
  if (values.empty() || fill_direct(values)) return;
  const uint64_t slots = std::bit_ceil(values.size() * 2);
  slots_.resize(slots);
  shift_ = 64 - std::countr_zero(slots);
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;  // NaN equals nothing, not even itself
    Slot& slot = slots_[static_cast<size_t>(&slot_of(values[i]) - slots_.data())];
    if (slot.code == 1) slot = {values[i], static_cast<int32_t>(i + 2)};
  }
}

bool NumberCodes::fill_direct(std::span<const double> values) {
  const auto fits = [](double value) { return std::abs(value) < most_whole && value == std::trunc(value); };
  if (!std::all_of(values.begin(), values.end(), fits)) return false;
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const double span = *highest - *lowest;
  if (span >= std::min(most_span, free_span + span_per_value * static_cast<double>(values.size()))) return false;
  low_ = *lowest;
  high_ = *highest;
  first_ = static_cast<int64_t>(low_);
  direct_.assign(static_cast<size_t>(span) + 1, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    int32_t& code = direct_[static_cast<size_t>(static_cast<int64_t>(values[i]) - first_)];
    if (code == 1) code = static_cast<int32_t>(i + 2);
  }
  return true;
}

}  // namespace l0gm
