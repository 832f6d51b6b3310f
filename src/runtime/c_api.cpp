#include "l0gm/c_api.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "base/version.h"
#include "runtime/any_model.h"

struct l0gm_model {
  l0gm::AnyModel state;
};

struct l0gm_layout {
  l0gm::RowLayout layout;
};

namespace {

// Plain bytes: nothing to allocate when memory has run out, nothing to destroy when a thread ends.
thread_local std::array<char, 2048> last_error{};

l0gm_status fail(l0gm_status status, const char* message) noexcept {
  size_t size = std::min(std::strlen(message), last_error.size() - 1);
  while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80)
    --size;  // do not cut a character of several bytes
  std::memmove(last_error.data(), message, size);
  last_error[size] = '\0';
  return status;
}

// Runs `body` and turns exceptions into a status; `user_error`: the status of a UserError.
template <class Body>
l0gm_status guarded(l0gm_status user_error, const Body& body) noexcept {
  try {
    return body();
  } catch (const l0gm::NotFiniteError& error) {
    return fail(L0GM_NOT_FINITE, error.what());
  } catch (const l0gm::UserError& error) {
    return fail(user_error, error.what());
  } catch (const std::bad_alloc&) {
    return fail(L0GM_OUT_OF_MEMORY, "there is not enough memory");
  } catch (const std::exception& error) {
    return fail(L0GM_INTERNAL, error.what());
  } catch (...) {
    return fail(L0GM_INTERNAL, "an exception of unknown type was thrown");
  }
}

l0gm_status bad_argument(const char* message) { return fail(L0GM_BAD_ARGUMENT, message); }

// Limits such that the product of rows and cells still fits into an offset.
constexpr size_t most_rows = size_t{1} << 40, most_width = size_t{1} << 20;

// Common to numbers and texts: checks the shared arguments, then predicts the rows that make(width, positions) returns.
template <class Make>
l0gm_status predict(const l0gm_model* model, const l0gm_layout* layout, bool has_cells, size_t rows, float* probabilities,
                    int64_t* counts, const Make& make) noexcept {
  if (model == nullptr) return bad_argument("the model is null");
  if (rows == 0) return L0GM_OK;
  if (probabilities == nullptr) return bad_argument("'probabilities' is null; pass room for rows * l0gm_class_count floats");
  if (rows > most_rows) return bad_argument("there are more rows than memory can hold; was a negative number given?");
  return guarded(L0GM_BAD_ARGUMENT, [&] {
    if (layout != nullptr) l0gm::check_layout(layout->layout, model->state.columns().size());
    const int64_t width = layout != nullptr ? layout->layout.width : static_cast<int64_t>(model->state.columns().size());
    if (!has_cells && width > 0) return bad_argument("the rows are null");
    model->state.predict(make(width, layout != nullptr ? layout->layout.positions.data() : nullptr), static_cast<int64_t>(rows),
                         probabilities, counts);
    return L0GM_OK;
  });
}

}  // namespace

int32_t l0gm_abi_version(void) { return L0GM_ABI_VERSION; }
const char* l0gm_version(void) { return l0gm::version; }
const char* l0gm_last_error(void) { return last_error.data(); }

l0gm_status l0gm_load(const char* path, const l0gm_options* options, l0gm_model** model) {
  if (model == nullptr) return bad_argument("'model' is null; pass the address of an l0gm_model*");
  *model = nullptr;
  if (path == nullptr) return bad_argument("the path is null");
  l0gm::CompactModel::Options wanted;
  if (options != nullptr) {
    if (options->threads < 0 || options->threads > 1024) return bad_argument("'threads' must be from 0 to 1024");
    wanted.threads = std::max(1, static_cast<int>(options->threads));
    if (options->calibrated != 0) wanted.calibrated = options->calibrated > 0;
  }
  return guarded(L0GM_BAD_FILE, [&] {
    *model = new l0gm_model{l0gm::AnyModel(l0gm::Container::read(path), wanted)};
    return L0GM_OK;
  });
}

void l0gm_free(l0gm_model* model) { delete model; }

size_t l0gm_column_count(const l0gm_model* model) { return model == nullptr ? 0 : model->state.columns().size(); }

const char* l0gm_column_name(const l0gm_model* model, size_t column) {
  return column < l0gm_column_count(model) ? model->state.columns()[column].c_str() : nullptr;
}

int32_t l0gm_column_is_numeric(const l0gm_model* model, size_t column) {
  return column < l0gm_column_count(model) && model->state.is_numeric(column) ? 1 : 0;
}

size_t l0gm_class_count(const l0gm_model* model) { return model == nullptr ? 0 : model->state.classes().size(); }

const char* l0gm_class_name(const l0gm_model* model, size_t index) {
  return index < l0gm_class_count(model) ? model->state.classes()[index].c_str() : nullptr;
}

const char* l0gm_manifest(const l0gm_model* model) { return model == nullptr ? nullptr : model->state.manifest().c_str(); }
size_t l0gm_memory_bytes(const l0gm_model* model) { return model == nullptr ? 0 : model->state.memory_bytes(); }

int32_t l0gm_is_calibrated(const l0gm_model* model) { return model != nullptr && model->state.is_calibrated() ? 1 : 0; }

l0gm_status l0gm_layout_create(const l0gm_model* model, const char* const* names, size_t count, l0gm_layout** layout) {
  if (layout == nullptr) return bad_argument("'layout' is null; pass the address of an l0gm_layout*");
  *layout = nullptr;
  if (model == nullptr) return bad_argument("the model is null");
  if (names == nullptr && count > 0) return bad_argument("the names are null");
  if (count > most_width) return bad_argument("there are more than 1,048,576 names; was a negative number given?");
  if (std::find(names, names + count, nullptr) != names + count) return bad_argument("one of the names is null");
  return guarded(L0GM_BAD_ARGUMENT, [&] {
    *layout = new l0gm_layout{l0gm::layout_of(model->state.columns(), std::vector<std::string>(names, names + count))};
    return L0GM_OK;
  });
}

void l0gm_layout_free(l0gm_layout* layout) { delete layout; }

l0gm_status l0gm_code(const l0gm_model* model, size_t column, const char* text, size_t length, int32_t* code) {
  if (model == nullptr) return bad_argument("the model is null");
  if (code == nullptr) return bad_argument("'code' is null; pass the address of an int32_t");
  if (text == nullptr && length > 0) return bad_argument("the text is null");
  return guarded(L0GM_BAD_ARGUMENT, [&] {
    *code = model->state.code(column, std::string_view(text, length));
    return L0GM_OK;
  });
}

l0gm_status l0gm_predict_numbers(const l0gm_model* model, const l0gm_layout* layout, const double* numbers, size_t rows,
                                 float* probabilities, int64_t* counts) {
  return predict(model, layout, numbers != nullptr, rows, probabilities, counts,
                 [numbers](int64_t width, const int32_t* positions) { return l0gm::NumberRows{numbers, width, positions}; });
}

l0gm_status l0gm_predict_text(const l0gm_model* model, const l0gm_layout* layout, const char* const* cells, const size_t* lengths,
                              size_t rows, float* probabilities, int64_t* counts) {
  return predict(model, layout, cells != nullptr, rows, probabilities, counts,
                 [cells, lengths](int64_t width, const int32_t* positions) {
                   return l0gm::CCellRows{cells, lengths, width, positions};
                 });
}
