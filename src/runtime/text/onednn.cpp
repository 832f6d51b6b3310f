#include "runtime/text/onednn.h"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <stdexcept>

#include "runtime/text/aligned_buffer.h"
#include "runtime/text/onednn_library.h"

namespace l0gm::onednn {

#ifdef L0GM_HAS_ONEDNN

namespace {

dnnl_data_type_t type_of_inputs(Numbers numbers) {
  if (numbers == Numbers::int8) return dnnl_u8;
  return numbers == Numbers::bfloat16 ? dnnl_bf16 : dnnl_f32;
}

dnnl_data_type_t type_of_weights(Numbers numbers) { return numbers == Numbers::int8 ? dnnl_s8 : type_of_inputs(numbers); }

dnnl_memory_desc_t rows_of(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, dnnl_data_type_t type) {
  const dnnl_dims_t extents = {rows, columns}, strides = {row_stride, column_stride};
  dnnl_memory_desc_t description;
  check(Library::get().memory_desc_init_by_strides(&description, 2, extents, type, strides), "describing a matrix");
  return description;
}

void make_memory(Memory& memory, const dnnl_memory_desc_t& description, const void* bytes) {
  check(Library::get().memory_create(&memory.object, &description, Library::get().engine, const_cast<void*>(bytes)), "a memory");
}

// The product of so many rows.
struct Plan {
  std::once_flag made;
  PrimitiveDescription description;
  Primitive primitive;
  dnnl_memory_desc_t in, weights, out, scratch;
  size_t scratch_bytes = 0;
};

dnnl_memory_desc_t description_of(const PrimitiveDescription& primitive, dnnl_query_t what) {
  const dnnl_memory_desc_t* const found = Library::get().primitive_desc_query_md(primitive.object, what, 0);
  if (found == nullptr) throw std::runtime_error("oneDNN: a product does not describe its memory");
  return *found;
}

}  // namespace

struct Scratch::State {
  Stream stream;
  AlignedBuffer<std::byte> bytes;
};

Scratch::Scratch() : state_(std::make_unique<State>()) {
  check(Library::get().stream_create(&state_->stream.object, Library::get().engine, dnnl_stream_default_flags), "a stream");
}
Scratch::~Scratch() = default;

struct MatrixProduct::State {
  Shape shape;
  const float* bias;
  mutable std::array<Plan, most_rows / row_step> plans;  // made when they are first needed
  dnnl_memory_desc_t weight_layout;                      // as oneDNN likes it for blocks of most_rows
  dnnl_memory_desc_t bias_layout;
  AlignedBuffer<std::byte> weights;

  State(const Shape& given, const float* given_bias) : shape(given), bias(given_bias) {
    bias_layout = rows_of(1, shape.outputs, shape.outputs, 1, dnnl_f32);
  }

  void make(Plan& plan, int64_t rows, const dnnl_memory_desc_t& layout) const {
    const Library& library = Library::get();
    const OnThisThread alone;  // the number of threads is fixed here
    plan.in = rows_of(rows, shape.inputs, shape.in_stride, 1, type_of_inputs(shape.numbers));
    plan.out = rows_of(rows, shape.outputs, shape.out_stride, 1, shape.numbers == Numbers::int8 ? dnnl_s32 : dnnl_f32);
    dnnl_matmul_desc_t product;
    check(library.matmul_desc_init(&product, &plan.in, &layout, bias != nullptr ? &bias_layout : nullptr, &plan.out),
          "describing a product");
    Attributes attributes;
    check(library.primitive_attr_create(&attributes.object), "attributes");
    check(library.primitive_attr_set_scratchpad_mode(attributes.object, dnnl_scratchpad_mode_user), "attributes");
    check(library.primitive_desc_create(&plan.description.object, &product, attributes.object, library.engine, nullptr),
          "planning a product");
    check(library.primitive_create(&plan.primitive.object, plan.description.object), "making a product");
    plan.weights = description_of(plan.description, dnnl_query_weights_md);
    plan.scratch = description_of(plan.description, dnnl_query_scratchpad_md);
    plan.scratch_bytes = library.memory_desc_get_size(&plan.scratch);
  }

  // Weights as oneDNN wants them; all plans use the layout of the largest.
  void pack(const void* given, int64_t stride) {
    const Library& library = Library::get();
    const OnThisThread alone;
    const dnnl_dims_t extents = {shape.inputs, shape.outputs};
    dnnl_memory_desc_t any;
    check(library.memory_desc_init_by_tag(&any, 2, extents, type_of_weights(shape.numbers), dnnl_format_tag_any), "weights");
    Plan& largest = plans.back();
    std::call_once(largest.made, [&] { make(largest, most_rows, any); });
    weight_layout = largest.weights;
    weights.resize(library.memory_desc_get_size(&weight_layout));
    const dnnl_memory_desc_t plain = rows_of(shape.inputs, shape.outputs, 1, stride, type_of_weights(shape.numbers));
    PrimitiveDescription description;
    Primitive reorder;
    check(library.reorder_primitive_desc_create(&description.object, &plain, library.engine, &weight_layout, library.engine,
                                                nullptr),
          "planning to pack weights");
    check(library.primitive_create(&reorder.object, description.object), "packing weights");
    Memory from, to;
    make_memory(from, plain, given);
    make_memory(to, weight_layout, weights.data());
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.object}, {DNNL_ARG_TO, to.object}};
    const Scratch scratch;
    check(library.primitive_execute(reorder.object, scratch.state().stream.object, 2, arguments), "packing weights");
  }
};

MatrixProduct::MatrixProduct(const Shape& shape, const void* weights, int64_t weight_stride, const float* bias)
    : state_(std::make_unique<State>(shape, bias)) {
  state_->pack(weights, weight_stride);
}

void MatrixProduct::multiply(const void* in, int64_t rows, void* out, Scratch& scratch) const {
  const Library& library = Library::get();
  const int64_t steps = (rows + row_step - 1) / row_step;
  Plan& plan = state_->plans.at(static_cast<size_t>(steps - 1));
  std::call_once(plan.made, [&] { state_->make(plan, steps * row_step, state_->weight_layout); });
  Scratch::State& own = scratch.state();
  own.bytes.grow(plan.scratch_bytes);
  Memory memory_in, memory_weights, memory_bias, memory_out, memory_scratch;
  make_memory(memory_in, plan.in, in);
  make_memory(memory_weights, plan.weights, state_->weights.data());
  make_memory(memory_out, plan.out, out);
  make_memory(memory_scratch, plan.scratch, own.bytes.data());
  std::array<dnnl_exec_arg_t, 5> arguments = {{{DNNL_ARG_SRC, memory_in.object},
                                               {DNNL_ARG_WEIGHTS, memory_weights.object},
                                               {DNNL_ARG_DST, memory_out.object},
                                               {DNNL_ARG_SCRATCHPAD, memory_scratch.object},
                                               {DNNL_ARG_BIAS, nullptr}}};
  if (state_->bias != nullptr) {
    make_memory(memory_bias, state_->bias_layout, state_->bias);
    arguments[4].memory = memory_bias.object;
  }
  const OnThisThread alone;
  check(library.primitive_execute(plan.primitive.object, own.stream.object, state_->bias != nullptr ? 5 : 4, arguments.data()),
        "a product");
}

size_t MatrixProduct::bytes() const { return state_->weights.size(); }

const std::string& obstacle() { return Library::get().obstacle; }

bool is_fast(Numbers numbers) {
  if (numbers == Numbers::float32) return true;
  const auto wanted =
      static_cast<unsigned>(numbers == Numbers::int8 ? dnnl_cpu_isa_avx512_core_vnni : dnnl_cpu_isa_avx512_core_bf16);
  return obstacle().empty() && (Library::get().instructions & wanted) == wanted;
}

#else

struct Scratch::State {};
Scratch::Scratch() = default;
Scratch::~Scratch() = default;
struct MatrixProduct::State {};
MatrixProduct::MatrixProduct(const Shape&, const void*, int64_t, const float*) { throw std::logic_error(obstacle()); }
void MatrixProduct::multiply(const void*, int64_t, void*, Scratch&) const {}
size_t MatrixProduct::bytes() const { return 0; }
bool is_fast(Numbers) { return false; }
const std::string& obstacle() {
  static const std::string why =
      "this program was built without oneDNN; on Debian install libdnnl-dev (scripts/setup does) and build it again";
  return why;
}

#endif

MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

}  // namespace l0gm::onednn
