#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/graph/npy.h"
#include "data/graph/pickle.h"
#include "data/graph/zip.h"

namespace l0gm {

// A matrix as scipy stores it: rows may be unsorted and contain zeros and duplicate entries.
struct CsrMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> offsets, places;
  std::vector<float> values;
};

// One archive: its arrays by name, and the objects pickled in them.
class NpzFile {
 public:
  explicit NpzFile(const std::filesystem::path& path) : archive_(path), path_(path.string()) {}

  std::string where(const std::string& name) const { return fmt::format("'{}' in {}", name, path_); }
  bool has(const std::string& name) const { return archive_.has(name + ".npy"); }
  // Which of several spellings the archive has; the first where it has none.
  std::string any_of(const std::vector<std::string>& names) const;
  std::string label_name() const { return any_of({"node_label", "labels", "node_labels", "label"}); }

  template <class Use>
  auto with_array(const std::string& name, const Use& use) const {
    const std::string bytes = archive_.read(name + ".npy");
    return use(read_npy(bytes, where(name)));
  }
  // The pickled object of an array: its only element where the array has no dimensions, else the array of objects.
  template <class Use>
  auto with_object(const std::string& name, const Use& use) const {
    return with_array(name, [&](const NumpyArray& array) {
      const Pickle pickle(array.bytes, where(name));
      const PickleValue& value = pickle.value();
      if (value.kind != PickleValue::Kind::array || value.array.type.kind != 'O' || value.items.empty())
        damaged(name, name_of(value.kind));
      if (!value.array.shape.empty()) return use(value);
      if (value.objects().size() != 1) damaged(name, fmt::format("{} objects", value.objects().size()));
      return use(*value.objects()[0]);
    });
  }
  bool is_object(const std::string& name) const {
    return with_array(name, [](const NumpyArray& array) { return array.type.kind == 'O'; });
  }

  CsrMatrix matrix(const std::string& name, const std::string& prefix) const;
  std::vector<int64_t> labels(const std::string& name) const;
  // Texts in an array of their own, or under that name in `metadata`; empty where they are in neither.
  std::vector<std::string> names(const std::string& name) const;

 private:
  [[noreturn]] void damaged(const std::string& name, std::string_view found) const;
  const NumpyArray& part(const PickleValue& matrix, const std::string& key, const std::string& name) const;
  CsrMatrix pickled_matrix(const std::string& name) const;
  CsrMatrix plain_matrix(const std::string& name, const std::string& prefix) const;
  std::vector<std::string> pickled_texts(const PickleValue& value, const std::string& name) const;

  ZipArchive archive_;
  std::string path_;
};

}  // namespace l0gm
