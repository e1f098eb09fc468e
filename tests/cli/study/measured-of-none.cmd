# A measurement is of one layout: where layouts are searched it is said to change nothing
job="--platform h100 --model llama3-8b --nodes 1 --seq 4096 --mbs 1 --gbs 64 --tp 2 --pp 1 --cp 1 --recompute none --measured 3s --measured-memory 60GiB"
for verb in 'search --unconfirmed' 'capacity --tokens 1T'; do
    "$STEPSIM" $verb $job | grep measured
done
