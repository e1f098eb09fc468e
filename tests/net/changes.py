# SPDX-License-Identifier: Apache-2.0
"""Changes of the output that are meant: what the net accepts between the binary of before and the new one.

A rule is a dictionary:

    commit   subject of the commit that made the change
    why      its reason, one line
    of       the outputs: a tuple of run, plan, sweep, compare, schedule, validate, list, platform, read,
             pictures (an object of hashes by file name), program (the compact text), expanded (stderr and exit status only: a simulated program has no rules);
             left out: all
    words    of jobs with one of these flags only (left out: of all)
    beside   and with one of these
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
                                one; nothing in it is compared then; whole=True: stderr and exit status neither, and `old`
                               looks into stderr, too
      exit     map              {old: new} exit status; with path and value only where the old JSON has it
      refused  words, hint      what was ignored is a usage error now: a job with one of these words exits 2, and its
                                message contains the hint

A path is keys with dots between them; * is every element of an array or every key; a key with dots, as
ss.power, is written in brackets: inputs.platform.card.[ss.power]. Numbers are compared as text, and a number
in a `value` map is written as that text.

A rule that applies to no output of a whole run fails the run: drop it when the old binary has the change too.
"""

# Props of this tree's registry that the old binary does not know: prop -> subject of the commit that added it.
NEW_PROPS = {p: "Cards of Blackwell, and nodes that NVLink joins" for p in (
    "ss.peak.fp4", "ss.gemm.efficiency.mxfp8", "ss.gemm.efficiency.fp4", "ss.gemm.k_prologue.fp4", "ss.nvlink.nodes")}

_WHOLE = lambda old, new, _: abs(float(old) - int(new)) <= 5e-10 * int(new)  # ten digits
_BLACKWELL = "Cards of Blackwell, and nodes that NVLink joins"
RULES = [
    {"commit": "Kernels of a run by what they are of", "why": "the time of kernels is opened", "of": ("run",),
     "op": "add", "path": "compute"},
] + [
    {"commit": _BLACKWELL, "why": "the hash is over all props of a card", "op": "ignore", "path": path}
    for path in ("inputs.platform.hash", "hash")
] + [
    {"commit": _BLACKWELL, "why": "names of platforms in a message", "op": "text", "old": "a100-roce400, h100,",
     "new": "a100-roce400, b200, b300, gb200, gb300, h100,"},
] + [
    {"commit": _BLACKWELL, "why": "props of the card that are new", "op": "add", "path": "inputs.platform.card.[" + prop + "]"}
    for prop in NEW_PROPS if prop != "ss.nvlink.nodes"
] + [
    {"commit": _BLACKWELL, "why": "four more of each", "of": ("list",), "op": "ignore", "path": path}
    for path in ("platforms", "cards")
] + [
    {"commit": _BLACKWELL, "why": "more measured rows are predicted, and are like a job", "of": of, "op": "ignore", "path": path,
     "check": lambda old, new, _: True}
    for of, path in ((("run",), "error_band_pct"), (("sweep",), "rows.*.error_band_pct"),
                     (("validate",), "rows.*.figures.error_band_pct"))
] + [
    {"commit": "Counts of parameters are whole numbers in every JSON", "why": "plan wrote 8032358400.0",
     "of": ("plan",), "op": "ignore", "path": path, "check": _WHOLE}
    for path in ("parameters", "active_parameters", "stages.*.parameters")
] + [
    {"commit": "Counts of parameters are whole numbers in every JSON", "why": "inputs wrote 2.35724032e10",
     "of": ("run", "plan"), "op": "ignore", "path": "inputs.job." + key, "check": _WHOLE}
    for key in ("parameters", "active_parameters")
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = {}
