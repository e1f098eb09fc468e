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
"$STEPSIM" run $job --engine native --tolerance 15 > /dev/null && echo "step within 15 %"
