#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "l0gm/options.h"

namespace l0gm {

struct SplitOptions {
  double valid = 0.1;
  double test = 0.2;
  int64_t seed = 0;
  std::string column;
  bool draw = false;
  std::optional<int64_t> folds, fold, fold_seed;

  template <class Visitor>
  void visit(Visitor& v) {
    v("valid", valid, "share of the rows held out for validation (stratified by label)", inside(0, 1));
    v("test", test, "share of the rows held out for the test (stratified by label)", between(0, 0.9));
    v("seed", seed, "seed of the split; independent of train.seed", at_least(0));
    v("column", column, "a column that says train, valid or test for each row, in place of shares");
    v("draw", draw, "draws a split by these shares in place of the one that a graph brings").refused_unless("modality = graph");
    v("folds", folds,
      "cross-validation: training and validation rows are dealt into so many folds, stratified by label; one of them takes the "
      "place of the test rows, which are left out, and of the others `valid` is held out for validation (`l0gm crossval` "
      "sets these)",
      between(2, 1000));
    v("fold", fold, "which one is held out, from 0; unset: 0", at_least(0)).read_by("data.split.folds is set");
    v("fold_seed", fold_seed, "another number deals the rows anew; unset: 0", at_least(0)).read_by("data.split.folds is set");
  }
};

struct DataOptions {
  std::string source;
  std::string protocol;
  std::string dir;
  std::string train, valid, test;
  std::string graph, edges, features, labels;
  std::string delimiter;
  bool header = true;
  std::string label;
  std::string weight;
  std::string text;
  std::map<std::string, std::string> types;
  int64_t rows = 20000;
  SplitOptions split;

  template <class Visitor>
  void visit(Visitor& v) {
    v("source", source,
      "a catalogue name (`l0gm data list`) or your own: `csv`, `tsv` for a table, `csv`, `tsv`, `jsonl` with data.text for "
      "texts, "
      "`graph`, `ogb`, `npz` for a graph");
    v("protocol", protocol,
      "which split of a catalogue dataset: adult `openml` or `uci`; planted-table `global` or `instance`; varied-table `drawn` "
      "or `sized`; `ogb`, `npz`: the folder below split/ where there are several, or the number of a split inside the archive");
    v("dir", dir, "where datasets lie; else `$L0GM_DATA`, then the user cache").path();
    v("train", train,
      "your own training file (.csv, .tsv, .jsonl; also .gz, .xz, .zst); of a graph: names of nodes under the header `node`")
        .path();
    v("valid", valid, "your own validation file; without it `data.split.valid` of the training rows (labelled nodes) is drawn")
        .path();
    v("test", test, "your own test file; without it `data.split.test` of the training rows (labelled nodes) is drawn").path();
    v("graph", graph, "your own graph: `ogb` the folder with raw/ and split/, `npz` the archive")
        .path()
        .refused_unless("modality = graph");
    v("edges", edges, "your own graph, `graph`: csv or tsv with a header and two columns, from and to")
        .path()
        .refused_unless("modality = graph");
    v("features", features,
      "the same: csv with a header, the node's name and then its numbers; or .npy [nodes, attributes], nodes are then "
      "0, 1, …")
        .path()
        .refused_unless("modality = graph");
    v("labels", labels,
      "the same: csv with the columns `node`, `label` (or data.label) and perhaps data.split.column; nodes that are not in it "
      "have no label")
        .path()
        .refused_unless("modality = graph");
    v("delimiter", delimiter, "one character; default `,` for csv and tab for tsv");
    v("header", header, "false: your csv files have no header line; their columns are `column_1`, `column_2`, …");
    v("label", label, "name of the label column; `jsonl`: of the key");
    v("weight", weight, "your own table: a column of numbers, 0 or more, that say how much each training row counts; no input")
        .refused_unless("modality = table");
    v("text", text,
      "your own texts: the column (`jsonl`: the key) that holds the text; makes `csv`, `tsv`, `jsonl` a dataset of texts")
        .refused_unless("modality = text");
    v("types", types,
      "column types that override the inferred ones: `{ zip = \"categorical\", income = \"numeric\", id = \"ignore\" }`");
    v("rows", rows, "rows of a made dataset; nodes of `planted-graph`", at_least(100));
    v.section("split", split);
  }
};

}  // namespace l0gm
