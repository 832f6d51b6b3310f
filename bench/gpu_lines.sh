#!/usr/bin/env bash
# Everything of the pages that wants a GPU and was not run, or with one seed: gates on the structure of text encoders beside their baselines, and the
# paper's tables of graphs. Trainings share the GPU; then it is left alone, all texts are timed, and the pages are printed of what is there.
# Usage: L0GM_DATA=DIR L0GM_WEIGHTS=DIR bench/gpu_lines.sh OUT [SECONDS, default 1080]
# Finished runs are kept: the same command goes on. A processor tries it out: L0GM_GPU_LINES='--config examples/text/faster.toml --encoder=
# --device cpu --set data.rows=600' with few SECONDS.
set -euo pipefail

if (($# < 1)) || [[ $1 == -* ]]; then
  echo 'Usage: L0GM_DATA=DIR L0GM_WEIGHTS=DIR bench/gpu_lines.sh OUT [SECONDS]' >&2
  exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=$1
seconds=${2:-1080}
start=$SECONDS
l0gm=build/release/l0gm
mkdir -p "$out"
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

left() { echo $((seconds - SECONDS + start)); }
# What the lines of one encoder are asked: structure ENCODER SEEDS METHODS ...
structure() {
  local encoder=$1 seeds=$2 methods=$3
  shift 3
  # shellcheck disable=SC2086  # several words
  python3 bench/text_structure.py --encoder "$encoder" --device cuda --epochs 3 --seeds "$seeds" --methods "$methods" --speedups 1.88 --rounds 1 \
    --out "$out/$encoder" ${L0GM_GPU_LINES:-} "$@"
}
train() { (($(left) < 30)) || structure "$@" --only train --seconds "$(left)" >>"$out/train.log" 2>&1 || true; }

fast=first-6-parts@2.7,first-dense@2.7
baselines=first-dense,first-9-parts,last,alternate,parts-gradient,parts-gradient-rounds,parts-random,ffn-magnitude
slow=first-10-parts@1.4,first-dense@1.4
small=first-dense@1.9,first-4-parts@1.9

# Prices first, with nothing else on the device.
train gte-small 0 first
train all-MiniLM-L6-v2 0 first
(
  for data in cs computers arxiv; do
    (($(left) < 30)) || timeout "$(left)" "$l0gm" paper all --data "$data" --device cuda --workers 4 --threads 1 --no-timing --out "$out/paper" >>"$out/paper.log" 2>&1 || true
  done
) &
train all-MiniLM-L6-v2 1 "$small" --jobs 2 &
train gte-small 3 "$fast" --jobs 4
train gte-small 2 "$baselines" --jobs 5
train gte-small 2 "$slow" --jobs 3
wait

# Alone again.
structure gte-small 1 "$fast,$baselines,$slow" --only time >"$out/gte-small.md"
structure all-MiniLM-L6-v2 1 "$small" --only time >"$out/all-MiniLM-L6-v2.md"
structure gte-small 3 "$fast,$baselines,$slow" --only table >"$out/gte-small.md"
"$l0gm" paper all --data cs,computers,arxiv --no-timing --print-only --out "$out/paper" >"$out/paper.md"
cat "$out"/*.md
