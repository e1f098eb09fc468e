#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: attention.sh PYTHON STEPSIM SOURCE_ROOT
# validation/probe/attention.py with a stand-in for PyTorch and the GPU: its rows, what it says and does where there is no
# PyTorch, a table of another GPU or one begun before, and that `calibrate --microbench` finds the stand-in's rates.
. "$3/tests/probe/lib.sh"
echo '{"num_attention_heads": 2, "hidden_size": 1024, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}' > models/latent.json

refuses attention --models models
# 9 kinds of heads x 13 of batch and length x 2 libraries x 2 ways
expect "shapes" 468 "$(probe attention --models models --list | wc -l)"
expect "shapes of all models" 0 "$(probe attention --list | sort | uniq -d | wc -l)"

probe attention --models models -o t.csv 2> err
# Flash has no values of another size (2 kinds), cuDNN no head of 64 (3 kinds).
expect "rows" "$((2 * (7 + 6) * 13 + 1))" "$(wc -l < t.csv)"
expect "what cuDNN leaves out" 1 "$(grep -c 'cuDNN left out 39 times, first .*hq=1 hkv=1 d=64 causal bf16: no kernel for this head$' err)"
expect "what flash leaves out" 1 "$(grep -c 'FA2 left out 26 times, first .*dqk=192 dv=128' err)"
# 2 x 8192^2 x 16 x 128 FLOP in 1 ms; backward 2.5 times that in 4 ms
expect "forward" 274.878 "$(field 6 'FA2 fwd b=1 seq=8192 hq=16 hkv=2 d=128 causal' t.csv)"
expect "backward" 171.799 "$(field 6 'cuDNN bwd b=1 seq=8192 hq=16 hkv=2 d=128 causal' t.csv)"
expect "several sequences" 549.756 "$(field 6 'FA2 fwd b=2 seq=8192 hq=16 hkv=2 d=128 causal' t.csv)"
# 8192^2 x 2 x (192 + 128)
expect "latent attention" 42.9497 "$(field 6 'cuDNN fwd b=1 seq=8192 hq=2 hkv=2 dqk=192 dv=128 causal' t.csv)"

# The same command again measures nothing; a row that is missing comes back.
cp t.csv whole.csv
probe attention --models models -o t.csv 2> err
cmp t.csv whole.csv
grep -v 'FA2 fwd b=1 seq=8192 hq=16' whole.csv > t.csv
probe attention --models models -o t.csv 2> err
expect "resumed" "$(sort whole.csv | cut -d, -f1-7)" "$(sort t.csv | cut -d, -f1-7)"
sed 's/NVIDIA H200/NVIDIA H20/' whole.csv > other.csv
cp other.csv kept.csv
refused "another GPU" 3 'name another file' attention --models models -o other.csv
cmp other.csv kept.csv

"$stepsim" calibrate --platform h200 --stack megatron-2407 --microbench whole.csv --prop ss.attention.flash.forward \
    --prop ss.attention.flash.backward --prop ss.attention.fused.forward --prop ss.attention.fused.backward > out 2> err
expect "fitted" 4 "$(grep -c '^  ss.attention.*+-' out)"
echo "attention probe: passed"
