#include "training/modalities.h"

#include "training/graph/graph_modality.h"
#include "training/table/table_modality.h"
#include "training/text/text_modality.h"

namespace l0gm {

const Modalities& modalities() {
  static const TableModality table;
  static const GraphModality graph;
  static const TextModality text;
  static const Modalities list = {&table, &graph, &text};
  return list;
}

}  // namespace l0gm
