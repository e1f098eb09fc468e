#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the list of 1,000 configurations of tests/bench/sweep.txt, 8B to 405B, and of 300 mixtures of experts of
# sweep-moe.txt, 30B to 671B: every one a job that Megatron accepts; one line of flags each. The lists are not committed: who reads them writes them first.
set -eu
awk 'BEGIN {
    split("llama3.1-8b llama2-13b qwen2.5-32b llama3.1-70b qwen2.5-72b llama3.1-405b", models)
    split("32 40 64 80 80 126", layers)
    n = 0
    for (round = 1; n < 1000; round++)
        for (m = 1; m <= 6 && n < 1000; m++)
            for (tp = (m < 3 ? 1 : m < 6 ? 2 : 8); tp <= 8 && n < 1000; tp *= 2)
                for (pp = (m < 3 ? 1 : m < 6 ? 4 : 9); pp <= (m < 3 ? 4 : m < 6 ? 8 : 18) && n < 1000; pp *= 2)
                    for (v = 1; v <= 2 && n < 1000; v++) {
                        per = layers[m] / pp
                        if (layers[m] % pp || per % v || (v > 1 && pp < 3))
                            continue
                        dp = 2 ^ (round % 4)
                        gpus = tp * pp * dp
                        while (gpus < 8 || gpus % 8) { dp *= 2; gpus = tp * pp * dp }
                        mb = pp * 2 ^ (round % 5 + 1)
                        line = "--platform h800 --nodes " gpus / 8 " --model " models[m] " --bf16 --tp " tp " --pp " pp
                        line = line " --seq " 2048 * 2 ^ (round % 3) " --mbs 1 --gbs " mb * dp " --use-distributed-optimizer"
                        if (tp > 1) line = line " --sequence-parallel"
                        if (tp > 1 && round % 2) line = line " --tp-comm-overlap"
                        if (round % 3) line = line " --overlap-grad-reduce --overlap-param-gather"
                        if (v > 1) line = line " --num-layers-per-virtual-pipeline-stage " per / v
                        if (round % 4 == 3) line = line " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
                        print line
                        n++
                    }
}' > "$(dirname "$0")/sweep.txt"
awk 'BEGIN {
    split("qwen3-30b-a3b qwen3-235b-a22b deepseek-v3", models)
    split("2 32 256", nodes)
    split("1,2,4 1,2,4,8 8,16", stages)
    split("2,4 8,16,32,64 16,32,64", groups)
    split("alltoall flex allgather", dispatchers)
    split("balanced uniform zipf:0.3", loads)
    n = 0
    for (round = 0; n < 300; round++)
        for (m = 1; m <= 3 && n < 300; m++) {
            all_pp = split(stages[m], pps, ",")
            all_ep = split(groups[m], eps, ",")
            for (p = 1; p <= all_pp && n < 300; p++)
                for (e = 1; e <= all_ep && n < 300; e++) {
                    if (8 * nodes[m] % (pps[p] * eps[e])) continue
                    tp = m == 3 ? 1 : 2 ^ (round % 2)
                    pp = pps[p]
                    line = "--platform h800 --nodes " nodes[m] " --model " models[m] " --bf16 --tp " tp " --pp " pp " --ep " eps[e]
                    line = line " --etp 1 --seq 4096 --mbs 1 --gbs " 4 * 8 * nodes[m] * 2 ^ (round % 3)
                    line = line " --use-distributed-optimizer --moe-grouped-gemm --moe-permute-fusion"
                    line = line " --moe-token-dispatcher-type " dispatchers[round % 3 + 1] " --moe-load " loads[int(round / 3) % 3 + 1]
                    if (tp > 1) line = line " --sequence-parallel"
                    if (round % 3) line = line " --overlap-grad-reduce --overlap-param-gather"
                    if (m == 2 && pp > 1) line = line " --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"
                    if (m == 3) line = line " --decoder-last-pipeline-num-layers " (pp == 8 ? 5 : 1)
                    if (round % 4 == 3) line = line " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
                    else if (round % 4 == 1 && pp == 1 && round % 3 < 2) line = line " --overlap-moe-expert-parallel-comm"
                    print line
                    n++
                }
        }
}' > "$(dirname "$0")/sweep-moe.txt"
