#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/pictures.sh [PROGRAM]
# Draws the pictures of docs/guide/pictures.md and docs/guide/schedules.md again.
set -eu
program=$(realpath "${1:-$(dirname "$0")/../../build/stepsim}")
cd "$(dirname "$0")/../.."
out=docs/guide/pictures

job() {
    "$program" run --platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 4 --pp 4 --seq 8192 --mbs 1 --gbs 12 \
        --sequence-parallel --engine native "$@" > /dev/null
}
"$program" run --job 70b-14 --engine native --card $out/card.svg > /dev/null
job --gantt $out/1f1b.svg --memory $out/1f1b-memory.svg
job --num-layers-per-virtual-pipeline-stage 4 --gantt $out/interleaved.svg
job --schedule zb-h1 --gantt $out/zb-h1.svg
"$program" run --platform h800 --nodes 8 --job workloads/jobs/70b-14.args --engine native \
    --gantt $out/70b-start.svg --window 0s:0.5s > /dev/null
"$program" program read docs/guide/examples/two-ranks.prog --gantt $out/two-ranks.svg > /dev/null
"$program" schedule compare --schedules 1f1b,zb-h1,zb-v,v-half,v-min,dualpipev --pp 4 --microbatches 8 \
    --gantt $out/schedules.svg > /dev/null
"$program" platform draw h800 --nodes 70 -o $out/cluster.svg
