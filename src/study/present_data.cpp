#include "study/present_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/catalogue.h"
#include "data/fetch.h"
#include "l0gm/error.h"

namespace l0gm {

void require_data(Config config) {
  const OptionList options = OptionList::of(config);
  std::error_code ignored;
  for (const Option& option : options.options()) {
    if (!option.is_path || !option.key.starts_with("data.") || option.key == "data.dir") continue;  // of data.dir below
    const OptionValue value = option.value();
    const auto* path = std::get_if<std::string>(&value);
    if (path != nullptr && !path->empty() && !std::filesystem::exists(*path, ignored))
      throw UserError(fmt::format("{}: {} does not exist", option.key, *path));
  }
  const auto entry = std::find_if(catalogue().begin(), catalogue().end(),
                                  [&](const CatalogueEntry& one) { return one.name == config.data.source; });
  if (entry == catalogue().end()) return;
  for (const CatalogueFile& file : entry->files) {
    if (!file.optional && !is_replaced(*entry, file, config.data.dir))
      obtain_file(file, config.data.dir, FetchOptions::from_environment());
  }
}

}  // namespace l0gm
