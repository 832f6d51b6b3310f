#include "runtime/text/onednn_library.h"

#ifdef L0GM_HAS_ONEDNN

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>

namespace l0gm::onednn {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int binding = RTLD_NOW | RTLD_LOCAL;  // sanitizers must see its allocations
#else
// LibTorch carries a oneDNN of another version: calls inside the library must not end there.
constexpr int binding = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif

}  // namespace

Library::Library() {
  const std::string name = fmt::format("libdnnl.so.{}", DNNL_VERSION_MAJOR);
  void* const handle = dlopen(name.c_str(), binding);
  if (handle == nullptr) {
    const char* const error = dlerror();
    obstacle = fmt::format("oneDNN's {} cannot be loaded ({}); on Debian the package libdnnl{} has it", name,
                           error != nullptr ? error : "no reason given", DNNL_VERSION_MAJOR);
    return;
  }
  const auto find = [&](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, symbol));
    if (function == nullptr && obstacle.empty())
      obstacle = fmt::format("{} has no function '{}': it is another oneDNN than this program was built for", name, symbol);
  };
#define L0GM_ONEDNN_FIND(function) find(function, "dnnl_" #function);
  L0GM_ONEDNN_FUNCTIONS(L0GM_ONEDNN_FIND)
#undef L0GM_ONEDNN_FIND
  find(most_threads, "omp_get_max_threads");
  find(set_threads, "omp_set_num_threads");
  if (!obstacle.empty()) return;
  if (engine_create(&engine, dnnl_cpu, 0) != dnnl_success) {
    obstacle = fmt::format("{} cannot use this processor", name);
    return;
  }
  // Products keep their own primitives. oneDNN's cache of them gains nothing here, and on one machine version 2.6 was seen to wait
  // in it for ever.
  check(set_primitive_cache_capacity(0), "leaving the cache of primitives empty");
  instructions = static_cast<unsigned>(get_effective_cpu_isa());
}

const Library& Library::get() {
  static const Library& library = *new Library;  // never unloaded: threads may still multiply when the program ends
  return library;
}

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  throw std::runtime_error(fmt::format("oneDNN: {} failed with status {}", what, static_cast<int>(status)));
}

}  // namespace l0gm::onednn

#endif
