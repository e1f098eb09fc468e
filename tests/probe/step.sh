#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: step.sh PYTHON STEPSIM SOURCE_ROOT
# validation/probe/step.py with a stand-in for PyTorch and the GPU: `stepsim validate` predicts each row that it may write; what does
# not fit, what fails, what is resumed, interrupted and out of time; the kinds of kernels; the halves.
. "$3/tests/probe/lib.sh"

refuses step
probe step --list > list
expect "each once" "" "$(sort list | uniq -d)"
all=$(wc -l < list)
fit=$(grep -c ', for fitting$' list)
expect "halves" "$all" "$((fit + $(grep -c ', held out$' list)))"
[ $((2 * fit)) -le "$all" ] || { echo "$fit of $all are for fitting: half at most"; exit 1; }

probe step -o own.csv > out 2> err
expect "rows" "$((all + 1))" "$(wc -l < own.csv)"
expect "columns" "$(head -1 "$src/validation/foreign.csv")" "$(head -1 own.csv)"
expect "halves of rows" "$fit" "$(grep -c 'for fitting; ' own.csv)"
expect "what does not fit" 1 "$(grep -c '^own-.*-s8192-b8-.*,oom,' own.csv)"
"$stepsim" validate own.csv --csv predicted.csv > out 2> err
expect "predicted" "ok oom" "$(cut -d, -f13 predicted.csv | sed 1d | sort -u | xargs)"
expect "right" yes "$(cut -d, -f14 predicted.csv | sed 1d | sort -u | xargs)"
expect "notes" "" "$(cat err)"
# A trace has 3 ms of each kind and of nothing in three steps.
expect "kinds" "attention 1,copy 1,elementwise 1,gemm 1,idle 1,optimizer 1,other 1" \
    "$(grep 'l1-s8192-b1-none-eager-flash' own-kinds.csv | grep llama3 | cut -d, -f2,3 | tr , ' ' | sort | paste -sd,)"

words() { # words PATTERN: flags, a row's last field
    grep "$1" own.csv | sed 's/.*,//'
}
names='"void cublasLt::splitKreduce_kernel<32>", "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda>",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop", "void at::native::cunn_SoftMaxForward<4>", "DeviceRadixSortOnesweepKernel"'
expect "kinds of names" "gemm copy attention elementwise elementwise" \
    "$(PYTHONPATH=$src/validation/probe PYTHONDONTWRITEBYTECODE=1 "$python" -S -c "import step; print(*map(step.kind_of, [$names]))")"

# Graphs, eager and compiled layers, parameters of 32 and 16 bit as the predictions' words
expect "words" "--set ss.default.fp32_params=1 --set ss.fused.cross_entropy=0" "$(words '^own-llama3-8b-tp1-l4-s8192-b1-none-compiled')"
expect "words, eager" "--set ss.default.fp32_params=1 --set ss.fused.cross_entropy=0 --set ss.fused.elementwise=0" "$(words '^own-llama3-8b-tp1-l4-s2048-b1-none-eager')"
expect "words, graphed" "--set ss.optimizer.model_type=1 --cuda-graph-impl full_iteration" \
    "$(words '^own-qwen3-8b-tp8-l8-s2048-b1-none-graphed')"

dateless() { sort "$1" | sed 's/, 20[0-9]*-[0-9]*-[0-9]*"/"/'; }
# Resumed behind Ctrl-C, a budget and a failure
status=0
STAND_IN=interrupt=20 probe step -o part.csv 2> err || status=$?
expect "interrupted" "130 1" "$status $(grep -c 'interrupted; the same command goes on' err)"
expect "rows kept" 1 "$(($(wc -l < part.csv) > 2 && $(wc -l < part.csv) < all))"
probe step -o part.csv --seconds 10 2> err
expect "out of time" 1 "$(grep -c 'the time is over, .* configurations left' err)"
STAND_IN=no-compiler probe step -o part.csv 2> err
failed=$(grep -c ' failed: no compiler here and more$' err)
expect "what fails" "$(grep -c -- -compiled- list)" "$((failed + $(grep -c -- -compiled- part.csv || true)))"
STAND_IN="no-compiler lost" refused "a lost GPU" 3 'goes on with --without "own-' step -o part.csv
probe step -o part.csv 2> err
expect "resumed" "$(dateless own.csv)" "$(dateless part.csv)"
expect "kinds resumed" "$(sort own-kinds.csv)" "$(sort part-kinds.csv)"
cp part.csv kept.csv
probe step -o part.csv 2> err
cmp part.csv kept.csv
sed 's/NVIDIA H200/NVIDIA H20/' own.csv > other.csv
probe step -o few.csv --only 'tp8*eager' --without llama3 2> err
expect "some" "$(grep 'tp8.*eager' list | grep -vc llama3)" "$(grep -c ^own few.csv)"
STAND_IN=no-profiler probe step -o plain.csv --only own-llama3-8b-tp1-l1 2> err
expect "no trace" "1 2 1" "$(grep -c 'has no kinds: no trace here$' err) $(wc -l < plain.csv) $(wc -l < plain-kinds.csv)"
refused "another GPU" 3 'name another file' step -o other.csv
refused "no platform" 3 'no platform "moon" for NVIDIA H200' step -o new.csv --platform moon
expect "no file half-written" "" "$(ls | grep tmp || true)"
echo "step probe: passed"
