#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's parameters of hybrid models are those that docs/design/hybrid-models.py counts, total and active.

    python3 tests/models/counts.py build/stepsim . [NAME ...]

Models that the program refuses stand in REFUSED with a word of its message; a model that leaves it must be counted.
"""
import importlib.util
import json
import os
import subprocess
import sys

# Model types in the files, and what the program must say of them.
REFUSED = {
}
# Parameters that the program leaves out, which it names as not priced: of Kimi-K3 the residuals that attend to earlier layers, two rows of
# h at each of two sites a layer and two behind the last one, and the norm of the latent of 92 mixtures.
LEFT_OUT = {"kimi_k3": (93 * 4 + 2) * 7168 + 92 * 3584}
JOB = "--platform gb200 --nodes 1 --bf16 --tp 1 --seq-length 4096 --micro-batch-size 1 --global-batch-size 4 --make-vocab-size-divisible-by 1 --json".split()


def by_hand(root):
    spec = importlib.util.spec_from_file_location("hybrid_models", os.path.join(root, "docs/design/hybrid-models.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fault(program, name, hand):
    path = hand.path_of(name)
    with open(path) as f:
        kind = json.load(f)["model_type"]
    done = subprocess.run([program, "run", "--model", path] + JOB, capture_output=True, text=True)
    answer = json.loads(done.stdout)
    error = answer.get("error", {}).get("message", "")
    if kind in REFUSED:
        return None if REFUSED[kind] in error else f"is in REFUSED, but: {error[:200] or 'accepted'}"
    if error:
        return error[:300]
    job, want = answer["inputs"]["job"], hand.count_model(name)
    got = (job["parameters"], job["active_parameters"])
    out = LEFT_OUT.get(kind, 0)
    # What is active leaves predictions out, as the published figures do.
    return None if got == (want.total() - out, want.active() - out) else f"{got}, by hand {(want.total(), want.active())}, prediction {want.mtp}"


def main(program, root, *names):
    hand = by_hand(root)
    names = names or sorted(hand.PUBLISHED)
    faults = [(name, text) for name in names for text in [fault(program, name, hand)] if text]
    for name, text in faults:
        print(f"{name}: {text}")
    print(f"{len(names)} models, {len(faults)} with faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
