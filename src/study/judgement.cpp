#include "study/judgement.h"

#include <algorithm>

namespace l0gm {

Judgement judgement_of(double low, double high) { return low > 0 || high < 0 ? told(low > 0) : untold(Doubt::interval); }

Judgement all_of(const std::vector<Judgement>& judgements) {
  const auto any = [&](auto is) { return std::any_of(judgements.begin(), judgements.end(), is); };
  if (any([](const Judgement& one) { return one.verdict == Verdict::does_not_hold; })) return told(false);
  for (const Doubt doubt : {Doubt::missing, Doubt::span, Doubt::interval}) {
    if (any([&](const Judgement& one) { return one.doubt == doubt; })) return untold(doubt);
  }
  return judgements.empty() ? untold(Doubt::missing) : told(true);
}

}  // namespace l0gm
