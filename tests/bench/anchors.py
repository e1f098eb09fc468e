#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: anchors.py STEPSIM BENCH_SWEEP FOLDER [--instructions]

Holds stepsim's speed against Calculon, SimuMax and LogGOPSim, in pairs that run in turn. FOLDER has their sources as `git clone` makes them:
calculon (calculon-ai/calculon), simumax (MooreThreads/SimuMax) and loggopsim (spcl/LogGOPSim), and this Python what they need (numpy, psutil,
pandas, matplotlib, sympy, tabulate, tqdm, graphviz). LogGOPSim is built here (g++, gengetopt, re2c, libgraphviz-dev). What is not there is
left out by name. Prints rows of Markdown: processor time, user and system, the least of the turns. --instructions counts the first pair, too.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from measure import instructions, run

TURNS = 5
EXECUTION = {
    "num_procs": 64, "tensor_par": 8, "pipeline_par": 8, "data_par": 1, "tensor_par_net": 0, "pipeline_par_net": 1, "data_par_net": 1,
    "batch_size": 64, "microbatch_size": 1, "datatype": "float16", "fused_activation": True, "attention_type": "multihead",
    "activation_recompute": "full", "pipeline_interleaving": 3, "optimizer_sharding": False, "tensor_par_comm_type": "ar",
    "tensor_par_overlap": "none", "seq_par_ag_redo": False, "data_par_overlap": False, "weight_offload": False, "activations_offload": False,
    "optimizer_offload": False, "training": True}
GPT3 = "--platform a100-hdr800 --model gpt3-175b --fp16 --nodes 8 --tp 8 --pp 8 --vp 3 --mbs 1 --recompute full --seq 2048"
# CPU ms of one configuration in a process that has all read, batches of 64 to 2,048: the median
CALCULON_LOOP = """
import json, logging, statistics, sys, time
from calculon import io, System
from calculon.llm import Llm
app, syst = Llm.Application(io.read_json_file("models/gpt3-175B.json")), System(io.read_json_file("systems/a100_80g.json"))
took = []
for i in range(200):
    start = time.process_time()
    model = Llm(app, logging.getLogger())
    model.compile(syst, Llm.Execution.from_json({**json.loads(sys.argv[1]), "batch_size": 64 * (1 + i % 32)}))
    model.run(syst)
    took.append(1e3 * (time.process_time() - start))
print(statistics.median(took))
"""


def cpu(words, **options):
    """Processor time of a command, s, and what it wrote."""
    took, _, _, text = run(words, **options)
    return took, text


def in_turn(ours, theirs):
    """The least seconds of both, a turn of one after a turn of the other."""
    both = [(ours(), theirs()) for _ in range(TURNS)]
    return min(a for a, _ in both), min(b for _, b in both)


def row(what, ours, tool, theirs, unit="ms"):
    print("| %s | %s | %.4g %s | %.4g %s | **%.3g** |" % (what, tool, ours, unit, theirs, unit, theirs / ours), flush=True)


def calculon(stepsim, sweep, folder, count):
    options = {"cwd": folder, "env": {**os.environ, "PYTHONPATH": folder}}
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "execution.json")
        with open(path, "w", encoding="ascii") as f:
            json.dump(EXECUTION, f)
        mine = [stepsim, "run", *GPT3.split(), "--gbs", "64", "--brief"]
        other = [sys.executable, "bin/calculon", "llm", "models/gpt3-175B.json", path, "systems/a100_80g.json", os.path.join(work, "out.json")]
        a, b = in_turn(lambda: cpu(mine)[0], lambda: cpu(other, **options)[0])
        row("GPT-3 175B on 64 A100, one configuration, whole process", 1e3 * a, "Calculon", 1e3 * b)
        if count:
            row("the same, million instructions", instructions(mine), "Calculon", instructions(other, **options), "M")
        jobs = os.path.join(work, "jobs.txt")
        with open(jobs, "w", encoding="ascii") as f:
            f.writelines("%s --gbs %d\n" % (GPT3, 64 * (1 + i % 32)) for i in range(200))
        a, b = in_turn(lambda: float(cpu([sweep, "sweep", jobs])[1].splitlines()[2].split("|")[3]),
                       lambda: float(cpu([sys.executable, "-c", CALCULON_LOOP, json.dumps(EXECUTION)], **options)[1].split()[-1]))
        row("the same in one process, batches 64 to 2,048, median", a, "Calculon", b)


def simumax(stepsim, _sweep, folder, _count):
    mine = [stepsim, "run", *("--platform a100 --model llama3-70b --num-layers 12 --nodes 1 --bf16 --tp 1 --pp 2 --mbs 1 --gbs 32 --seq 4096 "
                              "--use-distributed-optimizer --brief").split()]
    with tempfile.TemporaryDirectory() as work:
        other = [sys.executable, os.path.join(folder, "examples/perf_llama3_70b_layer12_tp1_pp2.py")]
        options = {"cwd": work, "env": {**os.environ, "PYTHONPATH": folder, "MPLCONFIGDIR": work}}
        a, b = in_turn(lambda: cpu(mine)[0], lambda: cpu(other, **options)[0])
    row("Llama-3 70B of 12 layers on 8 A100, pipeline 2, whole process", 1e3 * a, "SimuMax", 1e3 * b)


def build_loggopsim(source):
    if not os.path.exists(source + "/LogGOPSim"):
        subprocess.run("gengetopt -i loggopsim_cmdline.ggo -F loggopsim_cmdline && gengetopt -i txt2bin_cmdline.ggo -F txt2bin_cmdline && "
                       "re2c -o txt2bin.cpp txt2bin.re && gcc -O3 -c loggopsim_cmdline.c txt2bin_cmdline.c && "
                       "g++ -O3 -std=c++11 -o txt2bin txt2bin.cpp txt2bin_cmdline.o && "
                       "g++ -O3 -std=c++11 -o LogGOPSim LogGOPSim.cpp loggopsim_cmdline.o -lcgraph",
                       shell=True, check=True, cwd=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def loggopsim(stepsim, _sweep, folder, _count):
    """One turn: the text has half a gigabyte. The answers are not comparable (docs/reference/formats-export.md), the labour is."""
    source = os.path.join(folder, "src/LogGOPSim")
    build_loggopsim(source)
    job = "--job 70b-14 --gbs 128 --level layer --unfold".split()
    with tempfile.TemporaryDirectory() as work:
        goal, binary = work + "/job.goal", work + "/job.bin"
        cpu([stepsim, "program", "write", *job, "--goal", goal])
        convert = cpu([source + "/txt2bin", "-i", goal, "-o", binary])[0]
        os.remove(goal)
        theirs, said = cpu([source + "/LogGOPSim", "-f", binary, "--batchmode"])
    ours, text = cpu([stepsim, "run", *job, "--full-replay", "--engine", "native", "--json"])
    events, own = int(re.search(r"Events: (\d+)", said)[1]), json.loads(text)["events"]
    row("70b-14, 64 ranks, 128 microbatches, layer level, every event: replay (%.2f and %.2f million events)" % (own / 1e6, events / 1e6), ours, "LogGOPSim -O3",
        theirs, "s")
    row("the same with the conversion of its text", ours, "LogGOPSim -O3", theirs + convert, "s")


def main():
    stepsim, sweep, folder = (os.path.abspath(path) for path in sys.argv[1:4])
    print("| what | against | stepsim | the other | ratio |\n|---|---|---|---|---|", flush=True)
    for name, measure in (("calculon", calculon), ("simumax", simumax), ("loggopsim", loggopsim)):
        if os.path.isdir(os.path.join(folder, name)):
            measure(stepsim, sweep, os.path.join(folder, name), "--instructions" in sys.argv)
        else:
            print("| %s is not in the folder | | | | |" % name)


if __name__ == "__main__":
    main()
