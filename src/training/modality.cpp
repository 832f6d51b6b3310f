#include "training/modality.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "data/catalogue.h"
#include "l0gm/error.h"

namespace l0gm {

const Modality& modality_named(const Modalities& modalities, std::string_view name) {
  std::vector<std::string> names;
  for (const Modality* modality : modalities) {
    if (modality->name() == name) return *modality;
    names.emplace_back(modality->name());
  }
  throw UserError(fmt::format("the modality '{}' is unknown to this program, which has {}: use the l0gm that wrote it", name,
                              join(names, ", ")));
}

DataReport Modality::export_data(const Config&, const std::filesystem::path&, bool) const {
  throw UserError(fmt::format("`l0gm data export` does not write a {} so far", name()));
}

DataReport Modality::make_data(const Config&, const std::filesystem::path&) const {
  throw UserError(fmt::format("`l0gm data make` does not write a {} so far", name()));
}

bool is_catalogued(const std::string& source, std::string_view modality) {
  const std::vector<CatalogueEntry>& entries = catalogue();
  return std::any_of(entries.begin(), entries.end(),
                     [&](const CatalogueEntry& entry) { return entry.name == source && entry.modality == modality; });
}

const Modality& modality_of(const Modalities& modalities, const DataOptions& data) {
  for (const Modality* modality : modalities) {
    if (modality->reads(data)) return *modality;
  }
  return modality_named(modalities, catalogue_entry(data.source).modality);  // an unknown source is refused here
}

}  // namespace l0gm
