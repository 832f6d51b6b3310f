#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/packed_rows.h"

namespace l0gm {

// Sets of processor instructions that the kernels are compiled for, the fastest first; `plain` runs anywhere.
enum class InstructionSet { avx512, avx2, sse4, neon, plain };
template <>
inline constexpr auto enum_names<InstructionSet> = std::to_array<std::string_view>({"avx512", "avx2", "sse4", "neon", "plain"});
std::vector<InstructionSet> usable_instruction_sets();  // compiled in and available, the fastest first; never empty

struct ProgramPlan;

// A packed net ready to run. Immutable; any number of threads may run it, each with a workspace of its own. No allocation in
// logits().
class TableProgram {
 public:
  static constexpr int64_t block_rows = 16;  // rows that logits() handles at a time
  explicit TableProgram(TableNet<PackedRows> net, InstructionSet instructions = usable_instruction_sets().front());
  ~TableProgram();
  TableProgram(TableProgram&&) noexcept;
  TableProgram& operator=(TableProgram&&) noexcept;

  const TableNet<PackedRows>& net() const { return net_; }
  InstructionSet instructions() const { return instructions_; }
  size_t workspace_bytes() const;

  // `codes`, `slopes`: encoded rows as RowEncoder writes them, rows of the given strides. out: [rows, logits], without padding.
  // workspace: workspace_bytes() bytes, aligned to 64; its contents do not matter.
  // A code outside its field's rows is undefined behaviour; RowEncoder writes none. A row's logits do not depend on the rows
  // beside it.
  void logits(const int32_t* codes, int64_t code_stride, const float* slopes, int64_t slope_stride, int64_t rows, float* out,
              std::byte* workspace) const;

 private:
  TableNet<PackedRows> net_;
  InstructionSet instructions_;
  std::unique_ptr<const ProgramPlan> plan_;  // points into net_'s arrays
};

}  // namespace l0gm
