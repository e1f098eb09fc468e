#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights, gradients and optimizer states of the fullest stage, against Megatron-LM's own theoretical count.

    python3 tests/theoretical_memory.py STEPSIM [-v]

The count is what Megatron-LM prints at its start (megatron/training/theoretical_memory_usage.py), written down here
anew. It takes the parameters of the most loaded shard times 18 bytes, or 6 + 12 / dp with the distributed optimizer.
Its shortcuts:

- all that a shard holds is divided by the tensor group: norms, the router and MLA's down-projections are not;
- experts are divided as all else, by the tensor group: right where etp x ep = tp;
- the norm behind the last layer is spread over the stages: all of it is on the last one;
- the states are not divided by the context group;
- it has no router, no norms of queries and keys of each head, no biases, no gate of the shared experts;
- MLA has norms behind its down-projections, which are there with --qk-layernorm only;
- of multi-token prediction it has the transformer layer only;
- all stages have as many layers of each kind.

So a configuration has the names of the shortcuts that do not hold for it, whose bytes class Hand counts beside; where
it has none, the count is Megatron's as it is. Exit 1 where one differs by more than 1e-9, about what ten digits of JSON
leave, or where a name changes nothing: such a row would not see it.
"""
import argparse
import json
import subprocess
import sys

LIMIT = 1e-9
WEIGHT, GRADIENT, STATES = 2, 4, 12  # bf16; gradients, master copy and two moments in fp32
USUAL = dict(h=1024, heads=16, groups=16, kv=64, ffn=2816, layers=8, vocab=32000, gated=1, norm=1, tied=0, tp=1, pp=1,
             vp=1, cp=1, ep=1, etp=0, zero=1, experts=0, moe_ffn=0, shared=0, gate=0, freq="1", mla=0, q_lora=0,
             kv_lora=512, qk=128, rope=64, v=128, mtp=0, qk_norm=0, qkv_bias=0, gpus=8, first=0)
MOE = dict(experts=16, moe_ffn=512)
MLA = dict(mla=1, layers=4, qk_norm=1)


def configuration(by_hand, **more):
    return dict(USUAL, by_hand=by_hand.split(), **more)


CONFIGURATIONS = [
    # The count as it is.
    configuration(""),
    configuration("", zero=0),
    configuration("", tied=1, gated=0, norm=2, ffn=4096),
    configuration("", groups=4, kv=128, vocab=50257, zero=0),
    configuration("", gpus=64, tied=1),
    configuration("", kv_lora=256, **MLA),
    configuration("", q_lora=768, zero=0, **MLA),
    configuration("norms", q_lora=768, **dict(MLA, qk_norm=0)),
    configuration("", experts=1, moe_ffn=2816, shared=1408),
    configuration("", experts=1, moe_ffn=1408, freq="2", gated=0, tied=1, zero=0),
    configuration("", experts=1, moe_ffn=1024, q_lora=512, norm=2, gpus=32, **MLA),
    configuration("", groups=1, gated=0, h=1536, heads=12, kv=128, gpus=16, layers=5),
    configuration("", h=4096, heads=32, groups=8, kv=128, ffn=14336, layers=32, vocab=128256, gpus=1024),
    # The norm behind the last layer, and stages.
    configuration("last", pp=2, zero=0),
    configuration("last", pp=4, vp=2, tied=1, gated=0, norm=2, gpus=32),
    configuration("last uneven", pp=2, first=3),
    # Tensor and context groups.
    configuration("tp", tp=4, groups=4),
    configuration("tp last", tp=2, pp=2, q_lora=512, gpus=16, **MLA),
    configuration("cp", cp=2),
    configuration("tp cp qk bias", tp=2, cp=2, groups=4, qk_norm=1, qkv_bias=1, gpus=16),
    # Mixtures of experts.
    configuration("router", zero=0, **MOE),
    configuration("router", freq="([0]*2+[1]*6)", shared=1024, **MOE),
    configuration("router ep", ep=8, freq="2", tied=1, gpus=32, **MOE),
    configuration("router ep", ep=4, zero=0, gated=0, **MOE),
    configuration("router tp", tp=4, etp=4, gpus=16, **MOE),
    configuration("router tp", tp=4, etp=1, ep=4, gpus=32, shared=1024, gate=1, **MOE),
    configuration("router tp ep", tp=4, etp=1, ep=8, gpus=32, **MOE),
    configuration("router tp ep cp last", tp=2, etp=2, ep=2, cp=2, pp=2, gpus=64, **MOE),
    configuration("router ep last qk", ep=8, pp=2, vp=2, gpus=64, groups=4, qk_norm=1, **MOE),
    configuration("router ep last uneven mtp", ep=4, pp=2, mtp=1, gpus=16, q_lora=512, shared=1024,
                  freq="([0]*2+[1]*2)", **MOE, **MLA),
    configuration("router mtp", mtp=1, zero=0, **MOE),
    configuration("mtp", mtp=1),
]


def pattern(c):
    """1 where a layer has experts."""
    freq = eval(c["freq"], {"__builtins__": {}}) if c["experts"] else 0  # the tables of this file only
    if isinstance(freq, list):
        return freq
    return [int(freq > 0 and layer % freq == 0) for layer in range(c["layers"])]


def mlp(c, width):
    return width * c["h"] * (3 if c["gated"] else 2)


def attention(c):
    """Parameters of a layer: all, and those that every rank of a tensor group has."""
    h, heads, norm = c["h"], c["heads"], c["norm"]
    if not c["mla"]:
        return 2 * h * c["kv"] * (heads + c["groups"]), 0
    down = h * (c["kv_lora"] + c["rope"]) + norm * c["kv_lora"]
    up = heads * (c["kv_lora"] * (c["qk"] + c["v"]) + c["v"] * h)
    query = heads * (c["qk"] + c["rope"])
    if c["q_lora"]:
        down += c["q_lora"] * (h + norm)
        up += query * c["q_lora"]
    else:
        up += query * h
    return down + up, down


def vocabulary(c):
    """Rows of the embedding: a multiple of 128 in every rank of a tensor group."""
    multiple = 128 * c["tp"]
    return -(-c["vocab"] // multiple) * multiple


def layer(c, moe):
    width = c["moe_ffn"] * c["experts"] + c["shared"] if moe else c["ffn"]
    return mlp(c, width) + attention(c)[0] + 2 * c["norm"] * c["h"]


def dp(c):
    return c["gpus"] // (c["tp"] * c["cp"] * c["pp"])


def megatron(c):
    """Bytes of the most loaded shard as Megatron counts them."""
    moe, table = pattern(c), c["h"] * vocabulary(c)
    block = sum(layer(c, m) for m in moe) + c["norm"] * c["h"]
    shard = block / c["pp"] + c["mtp"] * layer(c, moe[-1]) + table
    if c["pp"] == 1 and not c["tied"]:
        shard += table
    return shard / c["tp"] * (WEIGHT + GRADIENT + STATES / (dp(c) if c["zero"] else 1))


class Hand:
    """Bytes of what Megatron's count leaves out or simplifies, by its name, for the last stage."""

    def __init__(self, c):
        self.c = c
        first = c["first"] or c["layers"] // c["pp"] * (c["pp"] - 1)
        self.own = pattern(c)[first:]
        self.moe = self.own + self.own[-1:] * c["mtp"]
        self.state = STATES / (dp(c) if c["zero"] else 1)
        self.each = WEIGHT + GRADIENT + self.state

    def last(self):
        c = self.c
        return c["norm"] * c["h"] * (1 - 1 / c["pp"]) * self.each / c["tp"]

    def uneven(self):
        c = self.c
        layers = sum(layer(c, m) for m in self.own) - sum(layer(c, m) for m in pattern(c)) / c["pp"]
        return layers * self.each / c["tp"]

    def whole(self):
        """Parameters that every rank of a tensor group has, of those that Megatron's count divides."""
        c = self.c
        return len(self.moe) * (attention(c)[1] + 2 * c["norm"] * c["h"]) + c["norm"] * c["h"]

    def tp(self):
        return self.whole() * (1 - 1 / self.c["tp"]) * self.each

    def router(self):
        c = self.c
        return sum(self.moe) * (c["experts"] + c["gate"]) * c["h"] * self.each

    def routed(self):
        return sum(self.moe) * mlp(self.c, self.c["moe_ffn"] * self.c["experts"])

    def ep(self):
        """Experts by their own groups for experts by the tensor group."""
        c = self.c
        divided = self.routed() / (c["ep"] * (c["etp"] or c["tp"]))
        copies = c["gpus"] // (c["pp"] * c["ep"] * (c["etp"] or c["tp"]))
        states = STATES / (copies if c["zero"] else 1)
        return divided * (WEIGHT + GRADIENT + states) - self.routed() / c["tp"] * self.each

    def cp(self):
        """States are divided by the context group, too; those of experts are so already where `ep` has counted them."""
        c = self.c
        local = c["h"] * vocabulary(c) / c["tp"] * (1 if c["tied"] or c["pp"] > 1 else 2) + self.whole()
        local += sum(layer(c, m) for m in self.moe) / c["tp"] - (self.whole() - c["norm"] * c["h"]) / c["tp"]
        local -= self.routed() / c["tp"] if "ep" in c["by_hand"] else 0
        extra = sum(getattr(self, name)() for name in ("router", "qk", "bias") if name in c["by_hand"]) / self.each
        return (local + extra) * self.state * (1 / c["cp"] - 1)

    def norms(self):
        c = self.c
        return -len(self.moe) * c["norm"] * (c["q_lora"] + c["kv_lora"]) * self.each

    def qk(self):
        c = self.c
        return len(self.moe) * 2 * c["norm"] * c["kv"] * self.each

    def bias(self):
        c = self.c
        return len(self.moe) * c["kv"] * (c["heads"] + 2 * c["groups"]) / c["tp"] * self.each

    def mtp(self):
        """Norms of both inputs and of the output, and the projection; behind stages the embedding once more."""
        c = self.c
        again = c["h"] * vocabulary(c) / c["tp"] if c["pp"] > 1 else 0
        return (c["mtp"] * (3 * c["norm"] * c["h"] + 2 * c["h"] * c["h"] / c["tp"]) + again) * self.each


def words(c):
    """Flags of a configuration."""
    out = ["--platform", "h100", "--nodes", c["gpus"] // 8, "--seq", 2048, "--mbs", 1, "--gbs", 8 * dp(c), "--bf16",
           "--hidden-size", c["h"], "--num-attention-heads", c["heads"], "--ffn-hidden-size", c["ffn"], "--num-layers",
           c["layers"], "--vocab-size", c["vocab"], "--disable-bias-linear", "--position-embedding-type", "rope",
           "--normalization", "RMSNorm" if c["norm"] == 1 else "LayerNorm", "--tp", c["tp"], "--pp", c["pp"], "--cp",
           c["cp"]]
    if c["mla"]:
        out += ["--multi-latent-attention", "--kv-lora-rank", c["kv_lora"], "--qk-head-dim", c["qk"],
                "--qk-pos-emb-head-dim", c["rope"], "--v-head-dim", c["v"]]
        out += ["--q-lora-rank", c["q_lora"]] if c["q_lora"] else []
    else:
        out += ["--kv-channels", c["kv"], "--group-query-attention", "--num-query-groups", c["groups"]]
    if c["experts"]:
        out += ["--num-experts", c["experts"], "--moe-router-topk", min(2, c["experts"]), "--moe-ffn-hidden-size",
                c["moe_ffn"], "--moe-layer-freq", c["freq"], "--ep", c["ep"], "--etp", c["etp"] or c["tp"]]
        out += ["--moe-shared-expert-intermediate-size", c["shared"]] if c["shared"] else []
    if c["first"]:
        out += ["--decoder-first-pipeline-num-layers", c["first"]]
    switches = {"gated": "--swiglu", "gate": "--moe-shared-expert-gate", "zero": "--use-distributed-optimizer",
                "qk_norm": "--qk-layernorm", "qkv_bias": "--add-qkv-bias"}
    out += [flag for name, flag in switches.items() if c[name]]
    out += [] if c["tied"] else ["--untie-embeddings-and-output-weights"]
    out += ["--sequence-parallel"] if c["tp"] > 1 else []
    out += ["--mtp-num-layers", c["mtp"]] if c["mtp"] else []
    out += ["--num-virtual-stages-per-pipeline-rank", c["vp"]] if c["vp"] > 1 else []
    return [str(word) for word in out]


def predicted(program, c):
    """Bytes of the fullest stage as the program says them."""
    run = subprocess.run([program, "plan", "--json"] + words(c), capture_output=True, text=True)
    if run.returncode:
        return None, (run.stderr or run.stdout).strip()
    stages = json.loads(run.stdout)["memory"]["stages"]
    return max(s["weights_mib"] + s["gradients_mib"] + s["optimizer_mib"] for s in stages) * 2**20, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("-v", action="store_true", help="prints every configuration")
    args = parser.parse_args()
    failed, worst = 0, 0.0
    for c in CONFIGURATIONS:
        terms = {name: getattr(Hand(c), name)() for name in c["by_hand"]}
        count = megatron(c) + sum(terms.values())
        bytes_, why = predicted(args.program, c)
        off = abs(bytes_ / count - 1) if bytes_ else 1
        blind = [name for name, value in terms.items() if abs(value) < 1e3 * LIMIT * count]
        worst = max(worst, off)
        failed += off > LIMIT or bool(blind)
        if args.v or off > LIMIT or blind:
            print("off by %.3g, counted %.0f (Megatron's %.0f)%s%s: %s\n  %s" % (
                off, count, megatron(c), "".join(", %s %+.0f" % t for t in terms.items()), "".join(
                    ", no effect of " + name for name in blind), why or "predicted %.0f" % bytes_, " ".join(words(c))))
    print("%d configurations, %d of them as Megatron counts, %d differ; worst %.3g" % (
        len(CONFIGURATIONS), sum(not c["by_hand"] for c in CONFIGURATIONS), failed, worst))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
