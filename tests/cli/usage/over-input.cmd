# No output overwrites what the command has read, however it came to it: named, named by a job file, a base of a base.
cp "$SRC/platforms/h800.xml" base.xml
echo '<?xml version="1.0"?><platform version="4.1"><zone id="z" routing="Full"><prop id="ss.base" value="./base.xml"/></zone></platform>' > mine.xml
cp "$SRC/workloads/stacks/megatron-2407.xml" stackbase.xml
echo '<stack name="mine" base="./stackbase.xml"/>' > stack.xml
cp "$SRC/workloads/models/llama3.1-8b.json" model.json
echo '--bf16 --mbs 1 --gbs 8 --seq 4096 --model ./model.json' > inner.args
echo '--platform ./mine.xml --nodes 1 --stack ./stack.xml --tp 4 --pp 2 --job ./inner.args' > job.args
"$STEPSIM" schedule write 1f1b --pp 2 --microbatches 8 -o order.csv
echo 'node 0' > place.txt
"$STEPSIM" program write --job job.args -o job.prog
printf 'id,platform,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,iteration_ms\nmine,h800,1,llama3.1-8b,bf16,4,2,1,8,4096,1000\n' > table.csv
printf 'run,timer,ms\nmine,forward-backward,900\n' > timers.csv
cp "$SRC/validation/results.csv" was.csv
cp "$SRC/tests/unit/data/lstopo-h800-8-switch.xml" node.xml
mkdir -p sd/platforms sd/workloads/models sd/validation
cp "$SRC/platforms/h800.xml" sd/platforms/h800.xml
cp "$SRC/workloads/models/llama3.1-8b.json" sd/workloads/models/
cp "$SRC/validation/results.csv" sd/validation/
export STEPSIM_DATA=sd
md5sum *.xml *.json *.args *.csv *.txt *.prog sd/*/*.* sd/*/*/* > sums
try() {
    target=$1
    shift
    "$STEPSIM" "$@" "$target" > /dev/null 2> err
    echo "$? $target $1 $2: $(grep -c 'would destroy an input' err)"
}
for target in base.xml mine.xml stackbase.xml stack.xml model.json inner.args job.args order.csv place.txt sd/validation/results.csv; do
    try $target run --job job.args --schedule ./order.csv --placement place.txt -o
done
try sd/platforms/h800.xml plan --platform h800 --nodes 1 --job inner.args --tp 8 -o
try base.xml platform show ./mine.xml -o
try sd/platforms/h800.xml platform import node.xml -o
try node.xml platform import node.xml -o
try job.prog program read job.prog -o
try order.csv schedule show ./order.csv -o
try order.csv schedule compare --pp 2 --microbatches 8 --schedules 1f1b,./order.csv -o
for target in table.csv timers.csv; do
    try $target validate table.csv --timer-rows timers.csv -o
done
for target in was.csv sd/platforms/h800.xml sd/workloads/models/llama3.1-8b.json; do
    try $target validate table.csv --against was.csv -o
done
md5sum -c --quiet sums && echo "all as they were"
