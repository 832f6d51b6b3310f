#include "study/peer_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace l0gm {

StudyCell peer_cell(const std::string& label, const Peer& peer, const std::vector<std::string>& settings,
                    const StudyCell& exported, int64_t seed, const PeerPrograms& programs) {
  StudyCell cell{label, "", {}, {exported.key}};
  Step train{"peer",
             {programs.python.string(), (programs.scripts / peer.script).string(), peer.method,
              "{cell:" + exported.key + "}/data" + (peer.file.empty() ? "" : "/" + peer.file), "--out", "{cell}/run", "--seed",
              std::to_string(seed), "--threads", "{threads}"}};
  if (peer.on_device) train.words.insert(train.words.end(), {"--device", "{device}"});
  train.words.insert(train.words.end(), peer.flags.begin(), peer.flags.end());
  for (const std::string& setting : settings) train.words.insert(train.words.end(), {"--set", setting});
  cell.steps.push_back(std::move(train));
  cell.steps.push_back({"train", {"{l0gm}", "--json", "eval", "{cell}/run", "--split", "valid"}});
  cell.key = key_of_text(fmt::format("{} {} {} {} {} {}", peer.method, join(peer.flags, " "), join(settings, " "), exported.key,
                                     seed, programs.identity(peer)));
  return cell;
}

std::string what_is_lacking(const std::vector<StudyCell>& cells, const Peer& peer, const PeerPrograms& programs,
                            const StudyFolder& folder) {
  const auto trained = [&](const StudyCell& cell) { return std::filesystem::exists(folder.product(cell.key, "peer")); };
  return std::any_of(cells.begin(), cells.end(), trained) ? "" : why_missing(peer.modules, programs);
}

void judge_peer_on_test_rows(StudyCell& cell, bool perturbed) {
  cell.steps.push_back({"test", {"{l0gm}", "--json", "eval", "{cell}/run", "--split", "test"}});
  if (perturbed) cell.steps.push_back({"perturbed", {"{l0gm}", "--json", "eval", "{cell}/run", "--split", "test", "--perturb"}});
}

}  // namespace l0gm
