#pragma once

#include <filesystem>

#include "data/catalogue.h"
#include "data/graph/options.h"
#include "data/options.h"

namespace l0gm {

// An option that would have no effect on this graph is a misunderstanding: UserError naming it. (Numbers do not know whether
// somebody named them: one that is not the default was.)
void refuse_idle_options(const CatalogueEntry& entry, const DataOptions& options, const GraphOptions& graph);

// The same for shares and seed of a split whose files are there.
void refuse_shares_beside_files(const DataOptions& options, const std::filesystem::path& file);

}  // namespace l0gm
