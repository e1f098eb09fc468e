plan() { "$STEPSIM" capacity --platform h100 --model llama3.1-8b --bf16 --seq 4096 --tp 2 --mbs 1 --sequence-parallel --gbs 64 --layout given --tokens 100B --nodes 1..8 --deadline 9d "$@"; }
plan > alone; plan --journal kept --report page.html > first; cmp alone first && wc -l < kept; plan --journal kept; plan --journal kept --resume | cmp - alone && wc -l < kept
head -5 kept > cut; plan --journal cut --resume --workers 2 | cmp - alone && grep -c '</table>' page.html
plan --journal kept --resume --budget 1M
