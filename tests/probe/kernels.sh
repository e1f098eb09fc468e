#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: kernels.sh PYTHON STEPSIM SOURCE_ROOT
# validation/probe/kernels.py with a stand-in for PyTorch and the GPU: its rows, what is resumed, interrupted, out of time and
# left out, and that `calibrate --microbench` knows each row or says why it has no price.
. "$3/tests/probe/lib.sh"
cat > models/experts.json <<END
{"num_attention_heads": 16, "hidden_size": 2048, "vocab_size": 32000, "num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 1024}
END
kernels() { probe kernels --models models "$@"; }

refuses kernels --models models
expect "of all models" 0 "$(probe kernels --list | sort | uniq -d | wc -l)"
kernels --list > list
expect "kinds" "elementwise gemm grouped_gemm host norm" "$(cut -d' ' -f1 list | sort -u | xargs)"

kernels -o t.csv 2> err
expect "nothing said" 0 "$(wc -l < err)"
expect "rows" "$(($(wc -l < list) + 1))" "$(wc -l < t.csv)"
expect "GEMMs by precision" "bf16 fp32 fp8 fp8 (rowwise)" "$(grep '^gemm' t.csv | cut -d, -f5 | sort -u | xargs)"
expect "FLOP of GEMMs, in 1 ms" 0 "$(sed -n 's/^gemm,[^,]*,M=\([0-9]*\) N=\([0-9]*\) K=\([0-9]*\).*GPU,[^,]*,\([^,]*\),.*/\1 \2 \3 \4/p' t.csv |
    awk '{ off = 2e-9 * $1 * $2 * $3 / $4 - 1; n += off > 1e-5 || off < -1e-5 } END { print n + (NR < 100) }')"
for way in fwd dgrad wgrad; do
    expect "grouped GEMM, $way" "$(grep -c '^grouped_gemm.*bf16.*'$way t.csv)" "$(grep -c '^grouped_gemm.*fp8 (rowwise).*'$way t.csv)"
done
# 4096 x 2048 in bf16: twice in 1 ms, three times in 4
expect "norm" 33.5544 "$(field 6 'torch_rmsnorm fwd N=4096 C=2048' t.csv)"
expect "norm, backward" 12.5829 "$(field 6 'torch_rmsnorm bwd N=4096 C=2048' t.csv)"
expect "host" 5000 "$(field 6 '^host,.*,linear fwd+bwd,' t.csv)"

"$stepsim" calibrate --microbench t.csv > survey
expect "priced" "elementwise bf16, gemm bf16, gemm fp32, gemm fp8, grouped_gemm bf16, norm bf16" \
    "$(sed '/^Not/,$d' survey | sed -n 's/^h200  *\([a-z_]* [a-z0-9]*\) .*/\1/p' | paste -sd, | sed 's/,/, /g')"
expect "not priced" "gemm, grouped_gemm, host" "$(sed -n '/^Not/,$s/^h200  *\([a-z_]*\) .*/\1/p' survey | paste -sd, | sed 's/,/, /g')"
expect "no kind unknown" 0 "$(grep -c 'not known' survey || true)"

# Resumed behind Ctrl-C, and behind a budget, all rows are there, once.
status=0
STAND_IN=interrupt=3000 kernels -o part.csv 2> err || status=$?
expect "interrupted" "130 1" "$status $(grep -c 'interrupted; the same command goes on' err)"
some=$(wc -l < part.csv)
[ "$some" -gt 2 ] && [ "$some" -lt "$(wc -l < t.csv)" ] || { echo "interrupted: $some rows"; exit 1; }
kernels -o part.csv --seconds 10 2> err
expect "out of time" 1 "$(grep -c 'the time is over, .* left; the same command goes on' err)"
kernels -o part.csv 2> err
expect "resumed" "$(sort t.csv | cut -d, -f1-5)" "$(sort part.csv | cut -d, -f1-5)"
kernels -o norms.csv --only 'norm torch_*C=256 ' 2> err
expect "only" 9 "$(wc -l < norms.csv)"
STAND_IN="no-compiler lost" refused "a lost GPU" 3 'goes on with --without "host compiled add' kernels --models models -o lost.csv
STAND_IN=no-compiler kernels -o eager.csv 2> err
expect "left out" 1 "$(grep -c 'compiled operators left out 6 times, first elementwise compiled cast .*: no compiler here$' err)"
expect "the rest" "$(grep -vc ',compiled ' t.csv)" "$(grep -vc ',compiled ' eager.csv)"
expect "no file half-written" "" "$(ls | grep tmp || true)"
echo "kernels probe: passed"
