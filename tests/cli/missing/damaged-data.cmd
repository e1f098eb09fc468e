# A name that is there but cannot be read is an error of that file, not a name that is not there.
export STEPSIM_COLUMNS=1000 # whole lines
mkdir -p sd/workloads/models sd/workloads/stacks sd/platforms sd/validation
echo '{ "x": , }' > sd/workloads/models/qwen2.5-14b.json
echo '<stack>' > sd/workloads/stacks/mine.xml
echo '<platform>' > sd/platforms/v100.xml
echo 'card,gpus' > sd/validation/results.csv
printf 'elapsed time per iteration (ms): 430.0 |\n' > t.log
sed 's/^--measured.*//' "$SRC/workloads/jobs/gpt2-01.args" > t.args
export STEPSIM_DATA=sd
"$STEPSIM" validate || echo "exit $?"
"$STEPSIM" list models > models.txt || echo "exit $?"
grep qwen2.5-1 models.txt
"$STEPSIM" list stacks --json || echo "exit $?"
"$STEPSIM" platform import "$SRC/tests/unit/data/lstopo-h800-8-switch.xml" || echo "exit $?"
"$STEPSIM" calibrate --platform h800 --prop ss.gemm.efficiency.fp16 --log t.log --job t.args || echo "exit $?"
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 4 --seq 4096 --mbs 1 --gbs 32 || echo "exit $?"
# A platform that is gone does not stop a fit, and a cluster of one's own that is no template does not stop an import or a list.
sed -i 's/--platform v100/--platform gone/' t.args
"$STEPSIM" calibrate --platform h800 --prop ss.gemm.efficiency.fp16 --log t.log --job t.args 2>&1 | grep 'a job of'
{ printf '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'; cat "$SRC/tests/fuzz/corpus/platform/cluster.xml"; } > sd/platforms/v100.xml
"$STEPSIM" platform import "$SRC/tests/unit/data/lstopo-h800-8-switch.xml" | grep ss.card
"$STEPSIM" list platforms | grep v100
