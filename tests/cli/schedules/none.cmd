# Where nothing can be run: status 3, as of a sweep, no file and no picture; what cannot be written is the only answer.
export STEPSIM_COLUMNS=1000 # whole lines
job="--platform h800 --nodes 4 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 8192 --mbs 1 --gbs 60 --use-distributed-optimizer --sequence-parallel"
"$STEPSIM" schedule search --pp 4 --microbatches 8 --layouts --cap 0.1 --steps 100 -o never.csv --gantt never.svg; echo $?
"$STEPSIM" schedule compare --pp 4 --microbatches 3 --schedules interleaved:2 --gantt never.svg; echo $?
"$STEPSIM" schedule compare $job --schedules interleaved:2 --json | grep -c capacity
"$STEPSIM" schedule search $job --gbs 64 --layouts --vp 2; echo $?
"$STEPSIM" schedule search --pp 4 --microbatches 8 --steps 100 --json -o no/such.csv | grep -c schema_version
ls
