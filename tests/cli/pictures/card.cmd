# one iteration, explained: the answer is the title; of two jobs each has its own, with the difference
job="--platform h800 --nodes 1 --model llama3.1-8b --num-layers 4 --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 64 --engine native"
"$STEPSIM" run $job --card c.svg > answer.txt && grep -c '^<svg.*width="1200" height="675"' c.svg
grep -o 'class="head">[^:]*' c.svg; grep -o '>this iteration<\|>FLOP of the model at the card.s peak<\|>warm-up<\|>cool-down<\|>card 79.6 GiB<' c.svg
"$STEPSIM" run $job --report r.html > answer.txt && grep -o 'alt="One iteration, explained: llama3.1-8b on 8 x H800-80GB' r.html
"$STEPSIM" compare $job --with "--tp 4" --card two.svg > answer.txt && grep -c '^<svg.*width="1200" height="1350"' two.svg
grep -o 'class="head">.: llama3.1-8b' two.svg; grep -c ' against A, ' two.svg
"$STEPSIM" compare $job --with "--tp 4" --with "--tp 1" --card three.svg; ls three.svg
"$STEPSIM" compare $job --with "--tp 3" --card none.svg; ls none.svg
# a name that is no picture's is the GPU's card of a platform that SimGrid wrote, as everywhere
cat > sg.xml <<'X'
<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="50GBps" lat="1us"/></platform>
X
"$STEPSIM" run --platform sg.xml --card h100 --gpus-per-node 1 --model llama3.1-8b --num-layers 4 --bf16 --seq 4096 --mbs 1 --gbs 8 --brief | grep -o 'fits\|too large'; ls h100
"$STEPSIM" run --job 8b-16 --card h100
"$STEPSIM" sweep --job 8b-16 --vary nodes=4 --card c.svg
