#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: security.py SOURCE_ROOT [--update]

Holds the tables of SECURITY.md against the code, or writes them: limits with their numbers, every file that starts a process, loads
code or opens a socket, every variable of the environment that is read. A limit of bytes or depth that is defined in sim/ and in no
row is an error, too.
"""
import os
import re
import sys

# file, macro, what it bounds, unit ("bytes" are written as KiB, MiB, GiB)
LIMITS = [
    ("base/xml.c", "MAX_BYTES", "an XML file: platform, card, stack, lstopo", "bytes"),
    ("base/xml.c", "MAX_ELEMENTS", "tags of an XML file", ""),
    ("base/xml.c", "MAX_DEPTH", "levels of an XML file", ""),
    ("base/xml.c", "MAX_ATTRIBUTES", "attributes of a tag", ""),
    ("base/xml.c", "MAX_OTHER_BYTES", "an XML file in UTF-16 and other codes without ASCII", "bytes"),
    ("platform/include/platform/platform_internal.h", "SS_MAX_HOSTS", "hosts of a SimGrid platform", ""),
    ("platform/import.c", "MAX_BYTES", "an lstopo file to import", "bytes"),
    ("platform/node_import.c", "MAX_BYTES", "topo -m and NCCL's XML to import", "bytes"),
    ("params/include/stepsim/params.h", "SS_MAX_GPUS", "GPUs of a job", ""),
    ("model/model_json.c", "MAX_CONFIG_BYTES", "a model's config.json", "bytes"),
    ("import/read.c", "MAX_FILE_BYTES", "a job file", "bytes"),
    ("import/read.c", "MAX_RESULT_BYTES", "a result that is run again", "bytes"),
    ("import/read.c", "MAX_FILES", "job files of one job", ""),
    ("import/read.c", "MAX_DEPTH", "job files that name one another", ""),
    ("import/tree.c", "MAX_NODES", "values of a YAML, JSON or TOML configuration", ""),
    ("import/tree.c", "MAX_DEPTH", "levels of a configuration", ""),
    ("import/tree_yaml.c", "MAX_BYTES", "a configuration in YAML, with what its anchors repeat", "bytes"),
    ("import/tree_yaml.c", "MAX_ANCHORS", "anchors of a YAML file", ""),
    ("import/toml.c", "MAX_DEPTH", "levels of a TOML file", ""),
    ("import/keymap.c", "MAX_BYTES", "a keymap of workloads/importers", "bytes"),
    ("import/keymap.c", "MAX_DEPTH", "keymaps that include one another", ""),
    ("import/keymap.c", "MAX_ITEMS", "rows, values, blocks or names of a keymap", ""),
    ("import/hydra_command.c", "MAX_BYTES", "a Hydra configuration", "bytes"),
    ("import/hydra.c", "MAX_PATH_BYTES", "a name in a Hydra configuration", "bytes"),
    ("import/hydra_resolve.c", "MAX_DEPTH", "interpolations inside one another", ""),
    ("import/shell.c", "MOST_BYTES", "a word of a pasted launch text", "bytes"),
    ("replay/native_kept.c", "MOST_BYTES", "a replay that is kept for other numbers of turns", "bytes"),
    ("import/shell_run.c", "MOST_DEPTH", "eval and bash -c inside one another there", ""),
    ("import/shell.c", "MOST_DEPTH", "values inside one another in a pasted launch text", ""),
    ("import/command_files.c", "MAX_FILE_BYTES", "a file that a launch script writes for its launcher", "bytes"),
    ("import/launch_files.c", "MAX_BYTES", "a file of the machine that is held against what a launcher was given", "bytes"),
    ("import/launch.c", "MAX_SCRIPT_BYTES", "a launch script", "bytes"),
    ("import/sandbox_folder.c", "MAX_ENTRIES", "files, links and folders around a launch script and its user that it sees", ""),
    ("import/sandbox_folder.c", "MAX_COPIED", "files that are copied for a launch script; others are shown read-only", "bytes"),
    ("import/sandbox_calls.c", "MAX_BYTES", "a call that a launch script makes", "bytes"),
    ("import/sandbox.c", "MAX_CALL_BYTES", "all calls of a launch script", "bytes"),
    ("job/packing.c", "FILE_MAX", "lengths of packed sequences", "bytes"),
    ("job/moe_loads.c", "FILE_MAX", "loads of experts", "bytes"),
    ("plan/placement.c", "MAX_BYTES", "a placement", "bytes"),
    ("schedule/read.c", "FILE_MAX", "a schedule", "bytes"),
    ("schedule/registry.c", "SLOTS_MAX", "slots of a schedule as a list", ""),
    ("study/schedule_search.c", "MOST_ACTIONS", "chunks and microbatches of all ranks of an order to search for", ""),
    ("study/schedule_search.c", "SLOTS_OF_STEPS", "slots that the tries of such a search list, but for the fewest", ""),
    ("program/program_read.c", "TEXT_MAX", "a program", "bytes"),
    ("base/csv.c", "MAX_BYTES", "a table (CSV) of measured runs, timers or kernels", "bytes"),
    ("base/csv.c", "MAX_COLUMNS", "columns of a table", ""),
    ("study/log_lines.c", "MAX_BYTES", "a log of a training or of nccl-tests", "bytes"),
    ("study/include/stepsim/sweep.h", "SS_SWEEP_MOST", "rows of a sweep", ""),
    ("workers/include/workers/pool.h", "SS_WORKERS_MAX", "processes that work on one command", ""),
    ("result/run.c", "MOST_LABOUR_S", "seconds that flows of uneven exchanges may take; beyond, the level is refused", ""),
    ("serve/include/stepsim/serve.h", "SS_SERVE_JOB_BYTES", "words of a job from the page of `serve`", "bytes"),
    ("serve/include/stepsim/serve.h", "SS_SERVE_ROWS", "rows of a sweep from the page of `serve`", ""),
    ("serve/http.c", "MEMORY", "a connection of `serve`", "bytes"),
    ("serve/http.c", "CONNECTIONS", "connections of `serve` at once", ""),
]
# Not of what is read: of what is written, or inside a limit above.
OTHER = {("workers/include/workers/worker.h", "SS_WORKER_DEPTH")}
READS = re.compile(r"#define\s+((?:SS_)?\w*(?:BYTES|FILE_MAX|TEXT_MAX|_DEPTH))\s")
CALLS = {
    "starts a process": r"fork|vfork|clone|posix_spawnp?|system|popen",
    "becomes another program": r"exec[lv]p?e?|execveat|fexecve",
    "loads code": r"dlopen|dlmopen",
    "opens a socket": r"socket|connect|bind|MHD_start_daemon",
}


def value_of(root, name, macro):
    with open(os.path.join(root, "sim", name), encoding="utf-8") as f:
        m = re.search(r"#define\s+%s\s+([^/\n]+)" % macro, f.read())
    if not m:
        sys.exit("security.py: error: sim/%s has no %s" % (name, macro))
    text = re.sub(r"\((?:size_t|int64_t|rlim_t)\)", "", m.group(1))
    text = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", text).strip()
    if not re.fullmatch(r"[0-9 ()<*+]+", text):
        sys.exit("security.py: error: %s of sim/%s is no number: %s" % (macro, name, text))
    return eval(text)  # digits, shifts and brackets alone


def shown(n, unit):
    if unit != "bytes":
        return "{:,}".format(n)
    for size, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if n % size == 0:
            return "%d %s" % (n // size, name)
    return "%d bytes" % n


def sources(root):
    for folder, _, names in sorted(os.walk(os.path.join(root, "sim"))):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
                yield os.path.relpath(path, os.path.join(root, "sim")), text


def limits(root):
    known = {(f, m) for f, m, _, _ in LIMITS} | OTHER
    for name, text in sources(root):
        for macro in READS.findall(text):
            if (name, macro) not in known and not macro.startswith("SS_MAX_FAILED"):
                sys.exit("security.py: error: sim/%s: %s has no row of LIMITS in tests/security.py" % (name, macro))
    rows = ["| limit | of | where |", "|---|---|---|"]
    return rows + ["| %s | %s | `%s` of sim/%s |" % (shown(value_of(root, f, m), u), what, m, f) for f, m, what, u in LIMITS]


def calls(root):
    rows = ["| what | files |", "|---|---|"]
    found = {what: [] for what in CALLS}
    variables = {}
    for name, text in sources(root):
        text = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: m.group(0) if re.fullmatch(r'"[A-Z_]+"', m.group(0)) else '""', text)
        for what, words in CALLS.items():
            if re.search(r"(?<![\w>.])(?:%s)\(" % words, text):
                found[what].append("sim/" + name)
        for word in re.findall(r'getenv\(("?\w+"?)\)', text):
            variables.setdefault(word.strip('"') if word[0] == '"' else "by name", set()).add("sim/" + name)
    rows += ["| %s | %s |" % (what, ", ".join(files) or "none") for what, files in found.items()]
    rows += ["| reads %s | %s |" % ("the environment by a name that is passed" if name == "by name" else "`%s`" % name, ", ".join(sorted(files)))
             for name, files in sorted(variables.items())]
    return rows


def main():
    root = sys.argv[1]
    path = os.path.join(root, "SECURITY.md")
    with open(path, encoding="utf-8") as f:
        text = old = f.read()
    for mark, rows in (("limits", limits(root)), ("calls", calls(root))):
        text = re.sub(r"(<!-- %s begin[^\n]*-->\n).*?(<!-- %s end -->)" % (mark, mark), lambda m, r=rows: m.group(1) + "\n".join(r) + "\n" + m.group(2),
                      text, flags=re.S)
    if "--update" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    elif text != old:
        import difflib
        print("".join(difflib.unified_diff(old.splitlines(True), text.splitlines(True), "SECURITY.md", "the code")))
        sys.exit("security.py: error: SECURITY.md is not what the code says: python3 tests/security.py . --update")
    print("%d limits" % len(LIMITS))


if __name__ == "__main__":
    main()
