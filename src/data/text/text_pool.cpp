#include "data/text/text_pool.h"

#include "base/hash.h"

namespace l0gm {

std::string TextPool::sha256() const {
  Sha256 hash;
  hash.update(ends_.data(), ends_.size() * sizeof(uint64_t));
  hash.update(buffer_.data(), buffer_.size());
  return hash.hex();
}

}  // namespace l0gm
