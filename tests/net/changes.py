# SPDX-License-Identifier: Apache-2.0
"""Changes of the output that are meant: what the net accepts between the binary of before and the new one.

A rule is a dictionary:

    commit   subject of the commit that made the change
    why      its reason, one line
    of       the outputs: a tuple of run, plan, sweep, compare, schedule, validate, list, platform, program
             (the compact text), expanded (stderr and exit status only: a simulated program has no rules);
             left out: all
    op       what changed, and its words:
      add      path             a key that only the new one has; check=function(value, whole object): must be true
      remove   path             a key that only the old one has
      rename   path, to         the key's new name, at the same place
      move     path, to         the same value at another place: a whole path
      order    path             keys of this object are in another order ("" is the outermost)
      value    path, map        a dictionary from old text to new text, or a function of the old value
      ignore   path             the value may differ in any way: for texts only, never for a prediction
      text     old, new         a regular expression and what replaces it, in every text: values, stderr, plain text
      exit     map              {old: new} exit status; with path and value only where the old JSON has it
      refused  words, hint      what was ignored is a usage error now: a job with one of these words exits 2, and its
                                message contains the hint

A path is keys with dots between them; * is every element of an array or every key; a key with dots, as
ss.power, is written in brackets: inputs.platform.card.[ss.power]. Numbers are compared as text, and a number
in a `value` map is written as that text.

A rule that applies to no output of a whole run fails the run: drop it when the old binary has the change too.
"""

RULES = [
    {"commit": "Documents in three folders: guide, reference, design", "why": "the list of flags is a reference page",
     "op": "text", "old": r"(?<!/)\bdocs/flags\.md", "new": "docs/reference/flags.md"},
    {"commit": "One registry of every ss. prop", "why": "there is a list of all props that can be set", "op": "text",
     "old": r'"stepsim platform show h800" lists the props of a card', "new": '"stepsim list props" lists them'},
]

# Flags of this tree's table that the old binary does not know: flag -> subject of the commit that added it.
NEW_FLAGS = {}
