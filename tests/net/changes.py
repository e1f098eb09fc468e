# SPDX-License-Identifier: Apache-2.0
"""Changes of the output that are meant: what the net accepts between the binary of before and the new one.

A rule is a dictionary:

    commit   subject of the commit that made the change
    why      its reason, one line
    of       the outputs: a tuple of run, plan, sweep, compare, schedule, validate, list, platform, read,
             pictures (an object of hashes by file name), program (the compact text), expanded (stderr and exit status only: a simulated program has no rules);
             left out: all
    words    of jobs with one of these flags only (left out: of all)
    without  of jobs with none of these flags only
    op       what changed, and its words:
      add      path             a key that only the new one has; check=function(value, whole object): must be true
      remove   path             a key that only the old one has
      rename   path, to         the key's new name, at the same place
      move     path, to         the same value at another place: a whole path
      order    path             keys of this object are in another order ("" is the outermost)
      value    path, map        a dictionary from old text to new text, or a function of the old value
      ignore   path             the value may differ: in any way, or as check=function(old value, new value, the object
                                that holds it) says; a prediction never without such a check
      text     old, new         a regular expression and what replaces it, in every text: values, stderr, plain text
      output   old, new         stdout as a whole is another thing now: regular expressions that find the old and the new
                                one; nothing in it is compared then
      exit     map              {old: new} exit status; with path and value only where the old JSON has it
      refused  words, hint      what was ignored is a usage error now: a job with one of these words exits 2, and its
                                message contains the hint

A path is keys with dots between them; * is every element of an array or every key; a key with dots, as
ss.power, is written in brackets: inputs.platform.card.[ss.power]. Numbers are compared as text, and a number
in a `value` map is written as that text.

A rule that applies to no output of a whole run fails the run: drop it when the old binary has the change too.
"""

VERDICT = {"commit": "One verdict in one set of words", "why": "fits, near limit, too large or refused, in every command"}


def judged(value, whole):
    """Is the verdict of `run --json` the one that its own figures give?"""
    if "error" in whole:
        return value == "refused" and whole["error"]["code"] in ("config-error", "unsupported")
    memory = whole["memory"]
    most = float(memory["peak_mib"]) * (1 + float(memory["band_high_pct"] or 0) / 100)
    sure = most <= float(memory["capacity_mib"])
    return value == "too large" if "fixes" in whole else value == "near limit" or value == "fits" and sure


def is_word(value, whole):
    return value in ("fits", "near limit", "too large", "refused")


BUBBLE = {"commit": "One meaning of bubble", "why": "idle time by the schedule of the busiest stage, over the iteration"}


def is_share(value, run, label):
    whole = float(run["iteration_ms"])
    return abs(float(value) * whole - float(run["breakdown_ms"][label])) < 1e-8 * whole


FIGURES = {"commit": "A figure is a row and a formula", "why": "every report has every figure, in the order of one list"}
NEW_FIGURES = {
    "run": ["gpus", "parameters", "exposed_communication_ms"],
    "sweep": ["rows.*." + key for key in (
        "parameters", "error_band_pct", "tflops_per_gpu", "tflops_causal_per_gpu", "mfu_bf16", "hfu",
        "usd_per_million_tokens", "imbalance_fraction", "exposed_communication_ms", "reserved_mib", "allocated_mib",
        "band_low_pct", "band_high_pct")],
    "compare": ["schedules.*." + key for key in (
        "gpus", "parameters", "error_band_pct", "tflops_per_gpu", "tflops_causal_per_gpu", "mfu", "mfu_bf16", "hfu",
        "tokens_per_s_per_gpu", "usd_per_iteration", "usd_per_million_tokens", "capacity_mib", "reserved_mib",
        "allocated_mib", "band_low_pct", "band_high_pct")],
    "validate": ["rows.*.figures"],
}
FLAGS = {"commit": "foreign.csv: flags that the sources state", "why": "a row does not clip gradients"}
MODULES = {"commit": "Three rows say what they recompute, and are not predicted without it",
           "why": "recomputed modules that are not modelled"}
REFUSED = ("mbskill-l3-70b-sft-d", "mbskill-l3-70b-sft-e", "mbskill-l3-70b-sft-f")


def is_refused(old, new, row):
    return row["id"] in REFUSED


def is_unclipped(old, new, row):
    return row["id"] == "automodel-llama70b-64" and 0 < float(old) - float(new) < 5


def adds_note(old, new, whole):
    return [note for note in new if not note.startswith("column flags: --fp8-recipe")] == old


def without_band(warnings):
    return [text for text in warnings if not text.startswith("it may fit: measured runs most like it")]


INPUTS = {"commit": "inputs make a result run again", "why": "they lacked fields, and the words and files that were read"}

RULES = [
    dict(INPUTS, op="add", path="inputs.request", of=("run",)),
    dict(INPUTS, op="add", path="inputs.how", of=("run",)),
    dict(INPUTS, op="add", path="inputs.files", of=("run",)),
    dict(INPUTS, op="add", path="inputs.request", of=("plan",)),
    dict(INPUTS, op="add", path="inputs.how", of=("plan",)),
    dict(INPUTS, op="add", path="inputs.files", of=("plan",)),
    dict(INPUTS, op="add", path="inputs.flags", of=("run", "plan")),
    dict(FIGURES, op="order", path="", of=("run",)),
    dict(FIGURES, op="order", path="memory", of=("run", "plan")),
    dict(FIGURES, op="order", path="rows.*", of=("sweep",)),
    dict(FIGURES, op="order", path="schedules.*", of=("compare",)),
    *(dict(FIGURES, op="add", path=path, of=(kind,)) for kind, paths in NEW_FIGURES.items() for path in paths),
    dict(BUBBLE, op="remove", path="bubble_ratio", of=("run",)),
    dict(BUBBLE, op="ignore", path="bubble_fraction", of=("run",),
         check=lambda old, new, run: is_share(new, run, "bubble")),
    dict(BUBBLE, op="add", path="imbalance_fraction", of=("run",),
         check=lambda new, run: is_share(new, run, "imbalance")),
    dict(BUBBLE, op="ignore", path="rows.*.bubble_fraction", of=("sweep",), why="the same number as in run"),
    dict(BUBBLE, op="ignore", path="schedules.*.bubble_fraction", of=("compare",), why="without the imbalance, as in run"),
    dict(BUBBLE, op="add", path="schedules.*.imbalance_fraction", of=("compare",)),
    dict(BUBBLE, op="remove", path="schedules.*.schedule_bubble_fraction", of=("compare",)),
    dict(VERDICT, op="value", path="schema_version", map={"1": "2"}),
    dict(VERDICT, op="add", path="verdict", of=("run",), check=judged),
    dict(VERDICT, op="add", path="verdict", of=("plan", "sweep", "compare", "schedule", "program"), check=is_word),
    dict(VERDICT, op="add", path="reason", of=("run", "plan")),
    dict(VERDICT, op="remove", path="predicted_outcome", of=("run",)),
    dict(VERDICT, op="remove", path="memory.fits", of=("run", "plan")),
    dict(VERDICT, op="remove", path="memory.near_limit", of=("run", "plan")),
    dict(VERDICT, op="add", path="fixes.*.verdict", of=("run",), check=is_word),
    dict(VERDICT, op="remove", path="fixes.*.fits", of=("run",)),
    dict(VERDICT, op="ignore", path="memory.band_low_pct", of=("plan",), why="plan knows the bands, of which its verdict comes"),
    dict(VERDICT, op="ignore", path="memory.band_high_pct", of=("plan",), why="plan knows the bands"),
    dict(VERDICT, op="ignore", path="memory.band_like", of=("plan",), why="plan knows the bands"),
    dict(VERDICT, op="ignore", path="warnings", of=("plan",), why="plan warns as run does, whose warnings are compared"),
    dict(VERDICT, op="add", path="rows.*.verdict", of=("sweep", "validate"), check=is_word),
    dict(VERDICT, op="add", path="rows.*.code", of=("sweep",)),
    dict(VERDICT, op="remove", path="rows.*.predicted_outcome", of=("sweep",)),
    dict(VERDICT, op="remove", path="rows.*.near_limit", of=("sweep",)),
    dict(VERDICT, op="ignore", path="rows.*.reason", of=("sweep", "validate"), why="also why a job is near the limit"),
    dict(VERDICT, op="ignore", path="fastest", of=("sweep",), why="a row near the limit by its band does not win"),
    dict(VERDICT, op="ignore", path="most_per_gpu", of=("sweep",), why="a row near the limit by its band does not win"),
    dict(VERDICT, op="add", path="fastest_near_limit", of=("sweep",)),
    dict(VERDICT, op="add", path="schedules.*.verdict", of=("compare",), check=is_word),
    dict(VERDICT, op="add", path="schedules.*.code", of=("compare",)),
    dict(VERDICT, op="add", path="schedules.*.reason", of=("compare",)),
    dict(VERDICT, op="remove", path="schedules.*.outcome", of=("compare",)),
    dict(VERDICT, op="remove", path="schedules.*.fits", of=("compare",)),
    {"commit": "One registry of every ss. prop", "why": "--set says of a stack's prop what it says of a card's",
     "op": "text", "old": r"(?m)^error: (ss\.[\w.]+): (\S+) is outside (\S+)\.\.(\S+)$",
     "new": r'error: \1="\2" is outside \3 to \4: is the unit right?'},
    {"commit": "One registry of every ss. prop", "why": "the same", "op": "add", "path": "error.hint",
     "check": lambda hint, whole: hint == "is the unit right?"},
    {"commit": "One registry of every ss. prop", "why": "the same", "op": "text",
     "old": r"(ss\.[\w.]+): (\S+) is outside (\S+)\.\.(\S+)", "new": r'\1="\2" is outside \3 to \4'},
    {"commit": "Requests and scenarios: words with places, and the one way to a job",
     "why": "--json holds also where the words of a job behind it are wrong", "of": ("sweep",), "op": "output",
     "old": r"\A--\w", "new": r'(?s)\A\{(?!.*"iteration_ms": \d).*"refused"'},
    {"commit": "Documents in three folders: guide, reference, design", "why": "the list of flags is a reference page",
     "op": "text", "old": r"(?<!/)\bdocs/flags\.md", "new": "docs/reference/flags.md"},
    {"commit": "One registry of every ss. prop", "why": "there is a list of all props that can be set", "op": "text",
     "old": r'"stepsim platform show h800" lists the props of a card', "new": '"stepsim list props" lists them'},
    dict(MODULES, op="ignore", path="rows.*.predicted_outcome", of=("validate",), check=is_refused),
    dict(MODULES, op="ignore", path="rows.*.right", of=("validate",), check=is_refused),
    dict(MODULES, op="ignore", path="rows.*.counted", of=("validate",), check=is_refused),
    dict(MODULES, op="ignore", path="rows.*.predicted_ms", of=("validate",), check=is_refused),
    dict(FLAGS, op="ignore", path="rows.*.predicted_ms", of=("validate",), check=is_unclipped),
    dict(MODULES, op="ignore", path="rows.*.predicted_mib", of=("validate",), check=is_refused),
    dict(MODULES, op="ignore", path="rows.*.memory_error_pct", of=("validate",), check=is_refused),
    dict(FLAGS, op="ignore", path="rows.*.error_pct", of=("validate",), check=is_unclipped),
    dict(MODULES, op="ignore", path="summary.*.*", of=("validate",), why="statistics of the rows"),
    dict(MODULES, op="ignore", path="groups.*.*.*.*", of=("validate",), why="statistics of the rows"),
    dict(MODULES, op="ignore", path="unsupported", of=("validate",), check=lambda old, new, whole: int(new) == int(old) + 3),
    dict(FLAGS, op="ignore", path="notes", of=("validate",), check=adds_note),
    dict(MODULES, op="ignore", path="memory.band_low_pct", of=("run",), why="errors of the rows like a job, without those three"),
    dict(MODULES, op="ignore", path="memory.band_high_pct", of=("run",), why="errors of the rows like a job"),
    dict(MODULES, op="ignore", path="memory.band_like", of=("run",), why="too few rows are left of that kind"),
    dict(MODULES, op="ignore", path="warnings", of=("run",), why="the band in a warning",
         check=lambda old, new, run: without_band(old) == without_band(new)),
    {"commit": "Cards apart from clusters", "why": "cards are listed, too", "of": ("list",), "op": "add", "path": "cards",
     "check": lambda cards, whole: {"h100", "h800"} <= {card["name"] for card in cards}},
    {"commit": "Fixes and comparisons are requests with words set", "of": ("run",), "op": "ignore", "path": "fixes.*.change",
     "without": ("--gbs", "--global-batch-size"),
     "why": "the batch followed from the layout: the words say the one that the changed job is held at"},
    {"commit": "Fixes and comparisons are requests with words set", "of": ("run",), "op": "ignore", "path": "fixes",
     "words": ("--use-tp-pp-dp-mapping",),
     "why": "every changed job was refused: its rank order was completed twice"},
    {"commit": "Fixes and comparisons are requests with words set", "of": ("run",), "op": "ignore", "path": "fixes",
     "words": ("--microbatch-group-size-per-vp-stage", "--microbatch-group-size-per-virtual-pipeline-stage"),
     "why": "more stages dropped the job's group without a word; what is printed is now what is simulated"},
    {"commit": "Fixes and comparisons are requests with words set", "of": ("compare",), "op": "ignore",
     "path": "schedules.*.reason",
     "why": "a row is refused as `run --schedule` refuses it, with the words of the framework"},
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = {}
