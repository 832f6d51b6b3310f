#pragma once

#include <map>
#include <string>
#include <vector>

#include "study/cell.h"

namespace l0gm {

struct Workers {
  std::string device = "cpu";
  int64_t count = 0;    // cells at a time; 0: one per core, on a GPU one per device
  int64_t threads = 0;  // of each; 0: the cores shared out evenly
  int64_t shard = 1, shards = 1;

  // Numbers in place of the zeros. They follow from the machine alone and not from what is left to do: a run that goes on after
  // an interruption has the threads that it started with, and ends in the same bits.
  void settle(int64_t cores, int64_t devices);
};

// "2/4": the second of four. UserError otherwise.
void read_shard(const std::string& text, Workers& workers);

// What became of the cells: by key, in the order of the list.
struct Outcome {
  std::vector<std::string> done;                            // all of their products are there
  std::vector<std::pair<std::string, std::string>> failed;  // and why, in a sentence that names the log
  std::vector<std::string> elsewhere;                       // of other shards, or being computed by another process
  bool complete() const { return failed.empty() && elsewhere.empty(); }
  void add(const Outcome& further);                                // of a later call: what it says of a cell counts
  std::string summary(const std::vector<StudyCell>& cells) const;  // for people; "" where everything is done
};

// Runs what is not done yet, some cells at a time; a cell that fails is told of, and the others go on. Whatever ends this
// process, and at whatever moment, the next call goes on from there and ends in the same products. Throws Stopped after SIGINT or
// SIGTERM, when the workers have saved what they had.
Outcome run_cells(const std::vector<StudyCell>& cells, const StudyFolder& folder, Workers workers);

}  // namespace l0gm
