export L="python t.py"
for i in 1 2; do srun -N 2 bash -c '$L --tp $T --pp 2 --bf16'; done
cat <<EOF > f
no
EOF
eval "$L --tp 2 --pp 2 --bf16"
