#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "l0gm/options.h"

// What can be said of a claim, and why not more.
namespace l0gm {

enum class Verdict { holds, does_not_hold, cannot_be_told };
template <>
inline constexpr auto enum_names<Verdict> = std::to_array<std::string_view>({"holds", "does not hold", "cannot be told"});

// Why something cannot be told.
enum class Doubt { missing, span, interval };
template <>
inline constexpr auto enum_names<Doubt> = std::to_array<std::string_view>({"lines, times or kept predictions are missing",
                                                                           "the prices do not span .8 to .2",
                                                                           "an interval has 0, or a limit, in it"});

struct Judgement {
  Verdict verdict = Verdict::cannot_be_told;
  std::optional<Doubt> doubt = Doubt::missing;  // none of what can be told
};
constexpr Judgement told(bool right) { return {right ? Verdict::holds : Verdict::does_not_hold, std::nullopt}; }
constexpr Judgement untold(Doubt doubt) { return {Verdict::cannot_be_told, doubt}; }


// By the interval of a difference that is positive where the claim is right.
Judgement judgement_of(double low, double high);
// All have to hold. Where some cannot be told: what is missing counts before what is in doubt.
Judgement all_of(const std::vector<Judgement>& judgements);

}  // namespace l0gm
