#pragma once

#include <filesystem>

#include "data/catalogue.h"
#include "data/graph/options.h"
#include "data/options.h"

namespace l0gm {

// UserError naming an option that is set but has no effect on this graph. (A number counts as set when it is not the default.)
void refuse_unused_options(const CatalogueEntry& entry, const DataOptions& options, const GraphOptions& graph);

// The same for shares and seed of a split that is read from files.
void refuse_shares_beside_files(const DataOptions& options, const std::filesystem::path& place);

}  // namespace l0gm
