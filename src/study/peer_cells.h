#pragma once

#include "baselines/peers.h"
#include "study/run_cells.h"

namespace l0gm {

// A peer trained on an exported table with some settings: KEY/peer.json says how, KEY/train.json judges it on validation rows.
StudyCell peer_cell(const std::string& label, const Peer& peer, const std::vector<std::string>& settings,
                    const StudyCell& exported, int64_t seed, const PeerPrograms& programs);

// What the peer's python lacks to train them; "": nothing that is known, or one of them is trained already.
std::string what_is_lacking(const std::vector<StudyCell>& cells, const Peer& peer, const PeerPrograms& programs,
                            const StudyFolder& folder);

// Judges its predictions of test rows as well: KEY/test.json; of perturbed copies, where these were exported: KEY/perturbed.json.
void judge_peer_on_test_rows(StudyCell& cell, bool perturbed);

}  // namespace l0gm
