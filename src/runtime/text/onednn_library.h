#pragma once

#ifdef L0GM_HAS_ONEDNN

#include <oneapi/dnnl/dnnl.h>

#include <memory>
#include <string>

// The shared library of oneDNN, loaded once per process, and the functions of it that are used.
namespace l0gm::onednn {

#define L0GM_ONEDNN_FUNCTIONS(each)                                                                                            \
  each(engine_create) each(get_effective_cpu_isa) each(stream_create) each(stream_destroy) each(memory_desc_init_by_strides)   \
      each(memory_desc_init_by_tag) each(memory_desc_get_size) each(memory_create) each(memory_destroy) each(matmul_desc_init) \
          each(reorder_primitive_desc_create) each(primitive_attr_create) each(primitive_attr_destroy)                         \
              each(primitive_attr_set_scratchpad_mode) each(primitive_desc_create) each(primitive_desc_destroy)                \
                  each(primitive_desc_query_md) each(primitive_create) each(primitive_destroy) each(primitive_execute)         \
                      each(set_primitive_cache_capacity)

struct Library {
  std::string obstacle;  // why it cannot be used; "": it can
  dnnl_engine_t engine = nullptr;
  unsigned instructions = 0;  // a set of bits: dnnl_cpu_isa_t
#define L0GM_ONEDNN_MEMBER(name) decltype(&dnnl_##name) name = nullptr;
  L0GM_ONEDNN_FUNCTIONS(L0GM_ONEDNN_MEMBER)
#undef L0GM_ONEDNN_MEMBER
  int (*most_threads)() = nullptr;  // of OpenMP, on the calling thread
  void (*set_threads)(int) = nullptr;

  Library();
  static const Library& get();
};

// Throws std::runtime_error when a call failed: with arguments of ours it does not.
void check(dnnl_status_t status, const char* what);

// While it lives, oneDNN keeps to the calling thread. What the thread's own code asked of OpenMP is set again at the end.
class OnThisThread {
 public:
  OnThisThread() : before_(Library::get().most_threads()) {
    if (before_ != 1) Library::get().set_threads(1);
  }
  ~OnThisThread() {
    if (before_ != 1) Library::get().set_threads(before_);
  }
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  int before_;
};

// An object of oneDNN that is destroyed with this.
template <class Object, auto Destroy>
struct Owned {
  Object object = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (object != nullptr) (Library::get().*Destroy)(object);
  }
};
using Primitive = Owned<dnnl_primitive_t, &Library::primitive_destroy>;
using PrimitiveDescription = Owned<dnnl_primitive_desc_t, &Library::primitive_desc_destroy>;
using Attributes = Owned<dnnl_primitive_attr_t, &Library::primitive_attr_destroy>;
using Stream = Owned<dnnl_stream_t, &Library::stream_destroy>;
using Memory = Owned<dnnl_memory_t, &Library::memory_destroy>;

}  // namespace l0gm::onednn

#endif
