#include "training/modalities.h"

#include "training/graph/graph_modality.h"
#include "training/table/table_modality.h"

namespace l0gm {

const Modalities& modalities() {
  static const TableModality table;
  static const GraphModality graph;
  static const Modalities list = {&table, &graph};
  return list;
}

}  // namespace l0gm
