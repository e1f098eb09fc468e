# Switches of a layout that is given; a list of nodes; a journal that goes on with the same switches alone
job="--platform h800 --model llama3.1-8b --bf16 --seq 4096 --gbs 32 --mbs 1 --tp 4 --pp 2"
"$STEPSIM" search $job --nodes 1,2 --axes switches --unconfirmed | grep -E "^best|^What|^Nothing"
"$STEPSIM" search $job --nodes 1 --axes switches --unconfirmed --journal j --json > a; "$STEPSIM" search $job --nodes 1 --axes switches --unconfirmed --journal j --resume --json | cmp - a && echo the same bytes
"$STEPSIM" search $job --nodes 1 --unconfirmed --journal j --resume > b
"$STEPSIM" search $job --nodes 1 --axes none
"$STEPSIM" search --platform h100 --nodes 8 --model llama3.1-70b --bf16 --seq 8192 --gbs 64 --mbs 1 --cp 1 --vary tp=4 --vp 1 --unconfirmed --json | grep -m1 recompute_layers
