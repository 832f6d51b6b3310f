#pragma once

#include <string_view>

#include "data/options.h"

// An option that has no effect is refused, not ignored: UserError that names it, for datasets of rows (tables, texts). A number
// counts as set when it is not the default: a default that is spelled out does no harm.
namespace l0gm {

// A catalogue or made dataset brings its own files, split and label (whose name may be spelled out). `own` ends the message: what
// data.source is to be set to for files of one's own.
void refuse_unused_with_catalogue(const DataOptions& options, bool made, std::string_view label, std::string_view own);

// Of the user's own files: parts that are not drawn need no shares and no seed.
void refuse_unused_with_files(const DataOptions& options);

}  // namespace l0gm
