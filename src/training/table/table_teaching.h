#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "training/config.h"
#include "training/table/table_settings.h"

// Whether a gate on a table learns from a dense model that is trained first, and what that one has different.
namespace l0gm {

// Whoever names a model, a teacher or a start wants that and nothing before it.
bool may_be_taught(const Config& config);

// Whether a setting that follows from the table may replace the option: who names weights of pairs wants the branch that reads
// them.
bool may_settle(const Config& config, std::string_view key);

// Sets what distill.dense leaves open. `named_epochs`: as of table_settings(); `chosen`: what is said of settings that follow
// from the table. UserError for two teachers, and for settings of one that is not there.
void settle_teacher(Config& config, const TableFacts& facts, int64_t named_epochs, std::vector<std::string>& chosen);

}  // namespace l0gm
