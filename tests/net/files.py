# SPDX-License-Identifier: Apache-2.0
"""Files that jobs name: platforms, stacks, models, schedules, placements, job files."""
import json
import pathlib
import re

from words import CARD, LAUNCHERS

OWN = set(re.findall(r'SS_OWN\("(--[a-z0-9-]+)"', (pathlib.Path(__file__).resolve().parents[2] / "sim/job/include/stepsim/job_fields.def").read_text()))

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">\n'


def variant(job, name):
    """A platform that changes one value of another."""
    file = "platform-%d.xml" % job.index
    job.files[file] = (
        HEAD + '  <zone id="mine" routing="Dijkstra">\n    <prop id="ss.base" value="%s"/>\n'
        '    <prop id="ss.nic.efficiency" value="0.61"/>\n  </zone>\n</platform>\n' % name)
    job.words += ["--platform", file]
    job.seen.add(("platform", "a file"))


def stack(job, base):
    file = "stack-%d.xml" % job.index
    job.files[file] = ('<stack name="mine" base="%s">\n  <prop id="ss.rope.passes" value="3"/>\n'
                       '  <prop id="ss.iteration.fixed" value="5ms"/>\n'
                       '  <prop id="ss.host.operator" card="H800-80GB" value="30us"/>\n</stack>\n' % base)
    job.words += ["--stack", file]
    job.seen.add(("stack", "a file"))


def model(d, job):
    """A config.json of Hugging Face; returns its shape."""
    heads, layers = d.pick([8, 16]), d.pick([4, 8, 12])
    kind = d.pick(["llama", "qwen2", "mistral", "gpt2"])
    groups = heads if kind == "gpt2" else d.pick([4, 8])
    if kind == "gpt2":
        config = {"model_type": kind, "n_embd": heads * 64, "n_layer": layers, "n_head": heads, "vocab_size": 50257,
                  "n_positions": 8192, "activation_function": "gelu_new"}
    else:
        config = {"model_type": kind, "hidden_size": heads * 64, "num_hidden_layers": layers,
                  "num_attention_heads": heads, "num_key_value_heads": groups, "intermediate_size": heads * 176,
                  "vocab_size": 32000, "max_position_embeddings": 32768, "hidden_act": "silu"}
        if d.chance(0.5):
            config["tie_word_embeddings"] = d.chance(0.5)
        if kind == "mistral":
            # longer than any sequence: the binary of before has no local attention
            config["sliding_window"] = d.pick([None, 1 << 20])
    if d.chance(0.3):
        config["stepsim"] = {"extra_vocab_size": 64}
    name = "model-%d.json" % job.index
    job.files[name] = json.dumps(config, indent=1) + "\n"
    job.words += ["--model", name]
    job.seen.add(("model", "a config.json"))
    return {"name": name, "layers": layers, "hidden": heads * 64, "heads": heads, "groups": groups,
            "rope": kind != "gpt2"}


def cluster(d, job):
    """A SimGrid platform that is none of ours: its routes are asked from the kernel. NVLink, or PCIe alone."""
    nodes, gpus, nvlink = d.pick([1, 2, 4]), d.pick([2, 4]), d.chance(0.7)
    routing, shared = d.pick(["Dijkstra", "Floyd", "DijkstraCache"]), d.pick(["SPLITDUPLEX", "SHARED"])
    x = ['    <prop id="%s" value="%s"/>' % p for p in sorted(CARD.items())]
    x.append('    <prop id="ss.gpus_per_node" value="%d"/>' % gpus)
    local = "nvlink" if nvlink else "pcie"
    for n in range(nodes):
        x += ['    <host id="gpu-%d-%d" speed="312Tf"/>' % (n, g) for g in range(gpus)]
        x.append('    <router id="switch-%d"/>' % n)
    x.append('    <router id="spine"/>')
    for n in range(nodes):
        x += ['    <link id="%s-%d-%d" bandwidth="%s" latency="500ns" sharing_policy="%s"/>'
              % (local, n, g, "300GBps" if nvlink else "25GBps", shared) for g in range(gpus)]
        x.append('    <link id="nic-%d" bandwidth="%s" latency="2us" sharing_policy="SPLITDUPLEX"/>'
                 % (n, d.pick(["25GBps", "50GBps"])))
    for n in range(nodes):
        for g in range(gpus):
            x.append('    <route src="gpu-%d-%d" dst="switch-%d"><link_ctn id="%s-%d-%d"%s/></route>'
                     % (n, g, n, local, n, g, ' direction="UP"' if shared == "SPLITDUPLEX" else ""))
        x.append('    <route src="switch-%d" dst="spine"><link_ctn id="nic-%d" direction="UP"/></route>' % (n, n))
    name = "own-%d.xml" % job.index
    job.files[name] = (HEAD + '  <zone id="own" routing="%s">\n%s\n  </zone>\n</platform>\n'
                       % (routing, "\n".join(x)))
    job.words += ["--platform", name]
    job.seen.add(("platform", "SimGrid's own"))
    return nodes * gpus, gpus


def order(d, pp, m, chunks):
    """Slots of each rank: GPipe over the chunks, or 1F1B; B whole or as I and W. Virtual stage: chunk * pp + rank."""
    split, rows = d.chance(0.4), []
    one = chunks == 1 and d.chance(0.5)
    for r in range(pp):
        def back(s, k):
            return ["%dI%d" % (s, k), "%dW%d" % (s, k)] if split else ["%dB%d" % (s, k)]
        row = []
        if one:
            warm = min(pp - 1 - r, m)
            row += ["%dF%d" % (r, k) for k in range(warm)]
            for k in range(m - warm):
                row += ["%dF%d" % (r, warm + k)] + back(r, k)
            for k in range(m - warm, m):
                row += back(r, k)
        else:
            for c in range(chunks):
                row += ["%dF%d" % (c * pp + r, k) for k in range(m)]
            for c in reversed(range(chunks)):
                for k in range(m):
                    row += back(c * pp + r, k)
        rows.append(row)
    return rows, [min(pp - 1 - r, m) for r in range(pp)] if one and not split else None


def schedule(d, job, pp, m, chunks):
    rows, warm = order(d, pp, m, chunks)
    if d.chance(0.6):
        name = "order-%d.csv" % job.index
        job.files[name] = "".join(",".join(row) + "\n" for row in rows)
        job.seen.add(("schedule", "a CSV file"))
    else:
        name = "order-%d.sched" % job.index
        policy = "p2p async\n"
        if warm and d.chance(0.7):
            policy = "p2p %s\nwarmup %s\n" % (d.pick(["blocking", "overlapped", "batched"]), " ".join(map(str, warm)))
        job.files[name] = "# an order\nschedule 1\nname mine\n" + policy + "".join(
            "rank %d: %s . %s\n" % (r, " ".join(row[:5]), " ".join(row[5:])) for r, row in enumerate(rows))
        job.seen.add(("schedule", "a text file"))
    job.words += ["--schedule", name]


def placement(d, job, world, gpus):
    """Nodes in another order, or GPU by GPU."""
    nodes, name = list(range(world // gpus)), "place-%d.txt" % job.index
    if d.chance(0.5):
        text = "".join("node %d\n" % n for n in d.shuffled(nodes))
    else:
        all_gpus = [(n, g) for g in range(gpus) for n in nodes]  # round robin over the nodes
        if d.chance(0.5):
            all_gpus = d.shuffled(all_gpus)
        text = "".join("gpu %d %d\n" % (n, g) for n, g in all_gpus)
    job.files[name] = text
    job.sim += ["--placement", name]


def job_file(d, job, world, gpus):
    """The words as a job file, with comments and quotes, or as the command of a launcher."""
    groups = []
    for w in job.words:
        if w.startswith("--") or not groups:
            groups.append([])
        groups[-1].append(w)
    name, launched = "job-%d.args" % job.index, d.chance(0.35)
    own = [g for g in groups if g[0].split("=")[0] in OWN] if launched else []  # a program has none of these
    lines = []
    for g in groups:
        if g not in own:
            quoted = [g[0]] + ['"%s"' % w for w in g[1:]] if d.chance(0.2) else g
            lines.append("=".join(quoted) if len(g) == 2 and d.chance(0.1) else " ".join(quoted))
    job.words = ["--job", name] + [w for g in own for w in g]
    if launched:
        job.files[name] = d.pick(LAUNCHERS).format(nodes=world // gpus, gpus=gpus, world=world,
                                                   flags=" ".join(lines)) + "\n"
        job.seen.add(("size", "a launcher's command"))
    else:
        job.files[name] = "# job %d\n%s\n" % (job.index, "\n".join(
            line + ("  # as it was" if d.chance(0.1) else "") for line in lines))
    if d.chance(0.2):
        job.words += ["--seq", "2048"]
    job.seen.add(("size", "--job"))
