# One pair of DeepSeek-V3 against its authors' profile (validation/h800-deepseek-v3.csv), kind by kind, and its published step
job="--job $SRC/workloads/jobs/deepseek-v3-2048.args"
"$STEPSIM" plan $job --steps 7 > steps
awk -F, '
    $1 != "FB" || $3 != 1 { next }
    $4 == "post" { s[($7 == "dispatch") == ($6 == "F") ? "dispatch" : "combine"] += $10 }
    $4 != "compute" || $7 == "router" { next }
    $8 == "gemm" { s[$6 == "W" ? "weights" : "gemm"] += $10 }
    $8 == "grouped gemm" { s[$6 == "W" ? "experts" : "grouped"] += $10 }
    $8 == "attention" { s[$8] += $10 }
    $7 ~ /norm$/ { s["norms"] += $10 }
    $7 ~ /cast$|permute$|^rope$/ { s["copies"] += $10 }
    END {
        # copies: casts, copies, tokens gathered and summed 23.3, rotary 1.5
        split("gemm 18.83 grouped 22.93 weights 11.76 experts 15.74 attention 22.0 norms 3.45 copies 24.8 dispatch 31.0 combine 49.4", m, " ")
        for (i = 1; i < 18; i += 2) { e = 100 * (s[m[i]] / m[i + 1] - 1); print m[i], (e < 15 && e > -15 ? "within 15 %" : e " %") }
    }' steps
awk -v total=1 -f "$SRC/docs/guide/deepseek-v3-pair.awk" steps | awk '{ e = 100 * ($1 / 129.012 - 1); print "wall", (e < 8 && e > -8 ? "within 8 %" : e " %") }'
# Time in which no kernel runs: gaps of 2 us, the profile's median; what a longer latency adds counts the kernels
busy() { "$STEPSIM" plan $job --steps 7 --set ss.kernel_latency=$1 | awk -F, '$1 == "FB" && $3 == 1 && $4 == "compute" { s += $10 } END { printf "%.6f\n", s }'; }
echo "$(busy 101us) $(busy 100us)" | awk '{ e = 4.754 - 2 * ($1 - $2); print "no kernels", (e < 3 && e > -3 ? "within 3 ms" : e " ms") }'
"$STEPSIM" run --verbose $job --engine native --tolerance 15 > /dev/null && echo "step within 15 %"
