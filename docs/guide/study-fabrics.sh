#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: sh docs/guide/study-fabrics.sh [PROGRAM] > docs/guide/study-fabrics.md
# A dense 70B and a mixture of experts on 16 nodes of H200 behind seven fabrics, from `run --json` alone, and the picture
# docs/guide/pictures/study-fabrics.svg.
. "$(dirname "$0")/pages.sh"

# The first link between nodes of links[], which has the most used ones first: name and use
busiest() {
    awk '/"links":/ { inside = 1 }
        inside && $1 == "\"name\":" { gsub(/[",]/, "", $2); name = $2 }
        inside && $1 == "\"kind\":" { far = $2 !~ /nvlink/ }
        inside && $1 == "\"utilisation\":" && far { sub(/,/, "", $2); printf "%s, %.0f %%", name, 100 * $2; exit }' "$dir/now"
}

# dragonfly WIDTH: 4 groups of 4 nodes, a router a node with its 8 NICs; every two routers of a group are joined by a link as wide as
# 4 NICs, and a router to that at its place in every other group by one as wide as WIDTH NICs
dragonfly() {
    awk -v far="$1" '
    function link(id, gb, latency) {
        printf "    <link id=\"%s\" bandwidth=\"%dGBps\" latency=\"%s\" sharing_policy=\"SPLITDUPLEX\"/>\n", id, gb, latency
    }
    function route(a, b, id) {
        printf "    <route src=\"%s\" dst=\"%s\"><link_ctn id=\"%s\" direction=\"UP\"/></route>\n", a, b, id
    }
    # 1: of one group, 2: at the same place of two
    function joined(n, m) { return int(n / 4) == int(m / 4) ? 1 : n % 4 == m % 4 ? 2 : 0 }
    BEGIN {
        print "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">"
        print "  <zone id=\"dragonfly\" routing=\"DijkstraCache\">\n    <prop id=\"ss.card.base\" value=\"h200\"/>"
        print "    <prop id=\"ss.gpus_per_node\" value=\"8\"/>\n    <prop id=\"ss.nics_per_node\" value=\"8\"/>"
        for (n = 0; n < 16; n++) for (g = 0; g < 8; g++) printf "    <host id=\"gpu-%d-%d\" speed=\"989.4Tf\"/>\n", n, g
        for (n = 0; n < 16; n++) printf "    <router id=\"nvswitch-%d\"/><router id=\"router-%d\"/>\n", n, n
        for (n = 0; n < 16; n++) for (g = 0; g < 8; g++) { link("nvlink-" n "-" g, 450, "500ns"); link("nic-" n "-" g, 50, "1us") }
        for (n = 0; n < 16; n++) for (m = n + 1; m < 16; m++)
            if (joined(n, m)) link("uplink-" n "-" m, 50 * (joined(n, m) == 1 ? 4 : far), "500ns")
        for (n = 0; n < 16; n++) for (g = 0; g < 8; g++) route("gpu-" n "-" g, "nvswitch-" n, "nvlink-" n "-" g)
        for (n = 0; n < 16; n++) for (g = 0; g < 8; g++) route("gpu-" n "-" g, "router-" n, "nic-" n "-" g)
        for (n = 0; n < 16; n++) for (m = n + 1; m < 16; m++) if (joined(n, m)) route("router-" n, "router-" m, "uplink-" n "-" m)
        print "  </zone>\n</platform>"
    }'
}
# Two domains of 64 GPUs behind one NVLink switch each
cat > "$dir/domains.xml" <<'EOF'
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="domains" routing="Dijkstra">
    <prop id="ss.base" value="h200"/>
    <prop id="ss.gpus_per_node" value="64"/>
    <prop id="ss.nics_per_node" value="64"/>
  </zone>
</platform>
EOF
dragonfly 2 > "$dir/dragonfly-2.xml"
dragonfly 1 > "$dir/dragonfly-1.xml"

rails="--platform h200 --nodes 16 --set ss.nodes_per_leaf"
fabric() {
    case $1 in
    rails) echo "$rails=4" ;;
    half) echo "$rails=4 --set ss.oversubscription=2" ;;
    quarter) echo "$rails=4 --set ss.oversubscription=4" ;;
    racks) echo "$rails=1 --set ss.oversubscription=2" ;;
    domains) echo "--platform $dir/domains.xml --nodes 2" ;;
    *) echo "--platform $dir/$1.xml" ;;
    esac
}
says() {
    case $1 in
    rails) echo "rails, 1:1" ;;
    half) echo "rails, 2:1" ;;
    quarter) echo "rails, 4:1" ;;
    racks) echo "leaves of one node, 2:1" ;;
    dragonfly-2) echo "dragonfly, 2 NICs" ;;
    domains) echo "NVLink domains of 64" ;;
    *) echo "dragonfly, 1 NIC" ;;
    esac
}
common="--stack megatron-bridge-26.04 --recipe none --bf16 --mbs 1 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
dense="--model llama3.1-70b --tp 8 --pp 4 --vp 5 --seq 8192 --gbs 128 --sequence-parallel $common"
experts="--model qwen3-235b-a22b --tp 1 --etp 1 --seq 4096 --gbs 512 --moe-grouped-gemm --moe-permute-fusion"
experts="$experts --recompute-granularity selective --recompute-modules moe_act $common"
ends="--decoder-first-pipeline-num-layers"
job() {
    dispatcher=alltoall
    case $1 in *flex) dispatcher=flex ;; esac
    case $1 in
    dense) echo "$dense" ;;
    16-*) echo "$experts --pp 8 --ep 16 $ends 11 --decoder-last-pipeline-num-layers 11 --moe-token-dispatcher-type $dispatcher" ;;
    32-*) echo "$experts --pp 4 --ep 32 $ends 23 --decoder-last-pipeline-num-layers 23 --moe-token-dispatcher-type $dispatcher" ;;
    64-*) echo "$experts --pp 2 --ep 64 --moe-token-dispatcher-type $dispatcher" ;;
    esac
}
heading() {
    case $1 in
    dense) echo "Llama-3.1-70B, tensor 8, pipeline 4 with 5 chunks, data 4, global batch 128" ;;
    *-alltoall) echo "Qwen3-235B-A22B, experts over ${1%-*} GPUs, NCCL's all-to-all" ;;
    *) echo "Qwen3-235B-A22B, experts over ${1%-*} GPUs, DeepEP" ;;
    esac
}
# study JOB: its table; a line of the picture for each fabric
# shellcheck disable=SC2046 # lists of words
study() {
    echo
    echo "## $(heading "$1")"
    echo
    echo "| fabric | iteration, s | against rails at 1:1 | tp, ms | ep, ms | pp, ms | dp, ms | most used link between nodes |"
    echo "|---|---|---|---|---|---|---|---|"
    first=
    for f in rails half quarter racks dragonfly-2 dragonfly-1 domains; do
        # shellcheck disable=SC2046 # lists of words
        result now run $(fabric $f) $(job "$1") --level flow --engine native --json
        now=$(value now iteration_ms)
        first=${first:-$now}
        printf '| %s | %s | %s %% | %s | %s | %s | %s | %s |\n' "$(says $f)" "$(calc %.2f "$now / 1000")" \
            "$(calc %+.1f "100 * ($now / $first - 1)")" "$(calc %.0f "$(part now tp)")" "$(calc %.0f "$(part now ep)")" \
            "$(calc %.0f "$(part now pp)")" "$(calc %.0f "$(part now dp)")" "$(busiest)"
        echo "$1|$f|$(says $f)|$(calc %.4f "$now / $first")" >> "$dir/bars"
    done
}

# draw: times against rails at 1:1, a group of bars for each job
draw() {
    awk -F"|" '
    { if (!($1 in job)) { job[$1] = ++jobs; of[jobs] = $1 } if (!($2 in at)) { at[$2] = ++fabrics; says[fabrics] = $3 }
      t[job[$1], at[$2]] = $NF; if ($NF > most) most = $NF }
    function text(x, y, anchor, s) { printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, s }
    END {
        split("#3f78b5 #7fa8d1 #b9cfe6 #d99a2b #4f9d55 #a3cfa6 #7b5ea7", colour, " ")
        left = 44; base = 310; high = 220; bar = 18; tall_all = 384; group = fabrics * bar + 24
        wide = left + jobs * group + 8
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" ", wide, tall_all, wide, tall_all
        print "font-family=\"sans-serif\" font-size=\"12\">\n<title>Iteration on seven fabrics against rails at 1:1</title>"
        printf "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", wide, tall_all
        print "<text x=\"16\" y=\"28\" font-size=\"17\" font-weight=\"600\">An iteration on seven fabrics</text>"
        text(16, 50, "start", "times that on rails at 1:1; 16 nodes of 8 H200, a NIC of 400 Gb/s a GPU")
        for (y = 1; y <= most; y++) {
            at_y = base - high * y / most
            printf "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#d5dae0\"/>\n", left, wide - 8, at_y, at_y
            text(left - 6, at_y + 4, "end", y " x")
        }
        for (i = 1; i <= jobs; i++) {
            x = left + 12 + (i - 1) * group
            for (k = 1; k <= fabrics; k++) {
                tall = high * t[i, k] / most
                printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\"><title>%s: %.2f</title></rect>\n", x + (k - 1) * bar,
                    base - tall, bar - 2, tall, colour[k], says[k], t[i, k]
            }
            name = of[i]
            sub(/-alltoall/, ", all-to-all", name); sub(/-flex/, ", DeepEP", name)
            if (name != "dense") name = "experts " name
            text(x + fabrics * bar / 2, base + 18, "middle", name)
        }
        for (k = 1; k <= fabrics; k++) {
            if (k == 1 || legend + 17 + 7.6 * length(says[k]) > wide - 8) { legend = left; line++ }
            printf "<rect x=\"%.1f\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", legend, 328 + 20 * line, colour[k]
            text(legend + 17, 338 + 20 * line, "start", says[k])
            legend += 17 + 7.6 * length(says[k]) + 16
        }
        print "</svg>"
    }' "$dir/bars" > docs/guide/pictures/study-fabrics.svg
}

cat <<'EOF'
# Rails, narrow leaves, dragonfly: what the fabric does to a dense 70B and to a mixture of experts

16 nodes of 8 H200 with a NIC of 400 Gbit/s a GPU, behind seven fabrics. Made by `sh docs/guide/study-fabrics.sh`, which also draws the picture; every figure is a
prediction (`--level flow`, the stack of Megatron-Bridge's 26.04 container). Exposed: waited for on the busiest stage.

![iterations on seven fabrics](pictures/study-fabrics.svg)

- **rails, 1:1**: rail-optimised, a leaf switch for each NIC of four nodes, uplinks as wide as the NICs below. At **2:1** and **4:1** they are half and a quarter of that.
- **leaves of one node, 2:1**: each node alone below its leaves, so that whatever leaves it meets uplinks half as wide as its NICs.
- **dragonfly**: four groups of four nodes, a router a node with its 8 NICs, any two routers of a group joined by a link as wide as 4 NICs, a router and those at its
  place in the other groups by links as wide as **2 NICs** or **1**. Routes are minimal, as SimGrid's Dijkstra finds them; real dragonflies also send round
  other groups when a link is full, which is not modelled, so that these are upper bounds.
- **NVLink domains of 64**: the same 128 GPUs, each 64 behind one NVLink switch, as in racks of the generation after; H200 are not sold so, which leaves only the links to differ.
EOF
for j in dense 16-alltoall 16-flex 32-alltoall 32-flex 64-alltoall 64-flex; do
    study $j
done
draw
cat <<'EOF'

## Why

**The dense model hardly sees the fabric.** Its tensor groups stay in their nodes. Sends between stages and gradients are small against its compute and hide behind it; the
replicas of a stage are neighbours, so that its gradients stay below a leaf, or inside a group of the dragonfly.

**The mixture sees it where its expert groups leave what is wide.** 16 experts' GPUs are two nodes, 32 are the four of a leaf or of a group, 64 are eight.
- Below one leaf nothing is narrow: with rails the exchanges of 16 and 32 do not change at any oversubscription. Over 64 GPUs half of the other members are
  behind the other leaf: uplinks of four nodes' NICs carry 4 (8 - 4) / (8 - 1) = 2.3 times what a NIC does, of the 4 that are there at 1:1, 2 at 2:1, 1 at 4:1. So 2:1 costs
  a seventh of the exchange (2.3 / 2), 4:1 more than doubles it.
- A leaf that holds one node puts all exchanges on its uplinks: 2:1 doubles them whatever the group.
- In the dragonfly two nodes have one link between their routers, half as wide as the 8 NICs that both fill: the exchange of 16 takes twice as long. That of 32 is
  spread over the three links to the other nodes of the group, together as wide as 12 NICs: nothing is lost. That of 64 crosses between two groups, over
  four links of 2 NICs or 1 each, where 32 NICs would send 4/7 of what they send.

- Domains of 64 have every expert group inside: what limits is NVLink, nine times a NIC, and not the fabric.

**DeepEP sends a token to each node once**, so there is less to carry, but what is left meets the same links: it loses as much of its exchange as the all-to-all does.

What to do about it is placement: `--placement` and `--rank-order` put expert groups below a leaf, and a group as large as a leaf (or as a dragonfly's group, but not
as two nodes of it) is the one that pays nothing.
EOF
