#include "l0gm/runtime.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/any_model.h"

namespace l0gm {
namespace {

void check_counts(const InputCounts& counts, size_t columns) {
  if (counts.unseen.size() == columns && counts.unreadable.size() == columns && counts.missing.size() == columns) return;
  throw UserError(fmt::format(
      "the counts hold {}, {} and {} numbers, wanted one each per column of the model, of which there are {}; make them with "
      "empty_counts()",
      counts.unseen.size(), counts.unreadable.size(), counts.missing.size(), columns));
}

// The number of rows, taken from the probabilities, as a model may have no columns; the cells must agree.
int64_t rows_of(const AnyModel& state, size_t cells, size_t probabilities, int64_t width) {
  const size_t classes = state.classes().size(), rows = probabilities / classes;
  size_t wanted = 0;
  const bool fits =
      probabilities % classes == 0 && !__builtin_mul_overflow(rows, static_cast<size_t>(width), &wanted) && wanted == cells;
  if (fits) return static_cast<int64_t>(rows);
  throw UserError(fmt::format("{} cells and room for {} probabilities do not fit: a row has {} cells and {} probabilities", cells,
                              probabilities, width, classes));
}

template <class Rows, class Cell>
void predict_rows(const AnyModel& state, std::span<const Cell> cells, std::span<float> probabilities, const RowLayout* layout,
                  InputCounts* counts) {
  if (layout != nullptr) check_layout(*layout, state.columns().size());
  const int64_t width = layout != nullptr ? layout->width : static_cast<int64_t>(state.columns().size());
  const int64_t rows = rows_of(state, cells.size(), probabilities.size(), width);
  if (counts != nullptr) check_counts(*counts, state.columns().size());
  state.predict(Rows{cells.data(), width, layout != nullptr ? layout->positions.data() : nullptr}, rows, probabilities.data(),
                counts);
}

}  // namespace

struct CompactModel::State : AnyModel {
  using AnyModel::AnyModel;
};

CompactModel::CompactModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompactModel::CompactModel(CompactModel&&) noexcept = default;
CompactModel& CompactModel::operator=(CompactModel&&) noexcept = default;
CompactModel::~CompactModel() = default;

CompactModel CompactModel::load(const std::filesystem::path& path, Options options) {
  return CompactModel(std::make_unique<State>(Container::read(path), options));
}

CompactModel CompactModel::from_bytes(std::string bytes, const std::string& name, Options options) {
  return CompactModel(std::make_unique<State>(Container::parse(std::move(bytes), name), options));
}

const std::vector<std::string>& CompactModel::columns() const { return state_->columns(); }
const std::vector<std::string>& CompactModel::classes() const { return state_->classes(); }
std::string_view CompactModel::manifest() const { return state_->manifest(); }
size_t CompactModel::memory_bytes() const { return state_->memory_bytes(); }
bool CompactModel::is_calibrated() const { return state_->is_calibrated(); }
RowLayout CompactModel::layout(std::span<const std::string> names) const { return layout_of(state_->columns(), names); }
int32_t CompactModel::code(size_t column, std::string_view text) const { return state_->code(column, text); }
bool CompactModel::is_numeric(size_t column) const { return state_->is_numeric(column); }

InputCounts CompactModel::empty_counts() const { return state_->empty_counts(); }

void CompactModel::predict(std::span<const std::string_view> cells, std::span<float> probabilities, const RowLayout* layout,
                           InputCounts* counts) const {
  predict_rows<CellRows>(*state_, cells, probabilities, layout, counts);
}

void CompactModel::predict(std::span<const double> numbers, std::span<float> probabilities, const RowLayout* layout,
                           InputCounts* counts) const {
  predict_rows<NumberRows>(*state_, numbers, probabilities, layout, counts);
}

}  // namespace l0gm
