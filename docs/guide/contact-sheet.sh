#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/contact-sheet.sh [PROGRAM [FOLDER [PX]]]
# Draws every kind of picture into a folder, with sheet.html, which shows all of them at their own size, light or dark as the browser is set;
# PX is the --width of all.
set -eu
program=$(realpath "${1:-$(dirname "$0")/../../build/stepsim}")
mkdir -p "${2:-sheet}"
cd "${2:-sheet}"
wide=${3:+--width $3}
# shellcheck disable=SC2086 # nothing or two words
quiet() { "$program" "$@" $wide > /dev/null 2>&1 || { echo "contact-sheet.sh: stepsim $* ended with $?" >&2; exit 1; }; }

quiet run --job 70b-14 --engine native --card card.svg --gantt gantt-70b.svg --memory memory-70b.svg
quiet run --job 70b-14 --engine native --gantt window-70b.svg --window 0s:0.5s
quiet run --job 405b-16k --engine native --gantt gantt-405b.svg --card card-405b.svg
quiet run --job deepseek-v3-2048 --engine native --gantt gantt-deepseek.svg --card card-deepseek.svg
small="--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 4 --seq 8192 --mbs 1 --gbs 12 --sequence-parallel"
quiet run $small --pp 4 --schedule zb-h1 --gantt gantt-split.svg
quiet run $small --pp 4 --gantt gantt-microbatch.svg --color-by microbatch
quiet schedule compare --schedules 1f1b,zb-h1,zb-h2,zb-v,v-half,v-min,dualpipev --pp 8 --microbatches 16 --gantt schedules.svg
quiet compare --job 70b-14 --with "--nodes 16" --card card-two.svg --svg compare.svg
quiet capacity --job deepseek-v3-2048 --vary platform=h100,gb200 --layout given --tokens 15T --deadline 90d --nodes 64,128,256,512 --svg capacity.svg
quiet search --platform h800 --nodes 4,8,16 --model llama3.1-8b --bf16 --seq 8192 --gbs 256 --mbs 1 --svg search.svg
quiet sweep --job qwen3-30b-16 --vary ep=4,8,16 --vary tp=1,2 --sequence-parallel --svg sweep.svg
quiet validate --svg validate.svg runs foreign foreign-2 vtrain
quiet platform draw h800 --nodes 70 -o platform-h800.svg
quiet platform draw h800 --nodes 70 --set ss.oversubscription=4 -o platform-oversubscribed.svg
quiet platform draw gb200 --nodes 36 -o platform-gb200.svg
{
    echo '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Pictures</title>'
    echo '<style>body{font-family:sans-serif;margin:16px}img{display:block;margin:4px 0 28px;border:1px solid #8888}</style>'
    for f in *.svg; do echo "<h2>$f</h2><img src=\"$f\" alt=\"$f\">"; done
} > sheet.html
