# What the README shows is what the program prints; else: sh docs/refresh.sh
sed -n '/<!-- example begin/,/<!-- example end/p' "$SRC/README.md" | sed '1,4d' | sed '$d' | sed '$d' > shown
"$STEPSIM" run --platform h800 --nodes 4 --job "$SRC/workloads/jobs/8b-16.args" \
    --measured 23570.5ms --measured-memory 72542MiB > printed
diff shown printed && [ -s shown ]
sed -n '/<!-- sweep begin/,/<!-- sweep end/p' "$SRC/README.md" | sed '1,3d' | sed '$d' | sed '$d' > shown
"$STEPSIM" sweep --job "$SRC/workloads/jobs/70b-14.args" --vary nodes=8,16 --vary vp=1,2,5 > printed
diff shown printed && [ -s shown ]
