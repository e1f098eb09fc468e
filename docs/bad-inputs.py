#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: bad-inputs.py PROGRAM [--check]

Prints docs/reference/bad-inputs.md: inputs that are damaged, foreign or made to do harm, and what each gets. --check compares with
the page. Ends with 1 where an input gets no clean answer: a signal, also that for 60 seconds of processor time, exit status 0 without an
answer, or more than one error. PROGRAM may be the driver of tests/inproc.
"""
import difflib
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[1:1] = [os.path.join(ROOT, "tests", "inproc")]

import driver  # noqa: E402

PAGE = os.path.join(ROOT, "docs/reference/bad-inputs.md")
HEAD = """# Bad inputs that were tried

What each gets: the exit status (0: it is taken, 1: the job fails, 2: the command line, 3: the input) and the message. Made by `python3 docs/bad-inputs.py build/stepsim`,
and a test compares. `JOB` is a job of 16 GPUs, `h800.xml` is platforms/h800.xml with the change that the row tells. Thousands more are in the unit tests of
each reader (`test_platform_damage`, `test_model`, `test_job_refused` ...) and in tests/fuzz/corpus; [SECURITY.md](../../SECURITY.md) has the limits.
"""
JOB = "--nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 32 --engine native".split()
COLUMNS = "id,iteration_ms,outcome,platform,stack,nodes,model,tp,pp,micro_batch,global_batch,seq_length,precision,flags\n"
ROW = "a,900,ok,h800,megatron-2407,1,llama3.1-8b,4,1,1,32,4096,bf16,\n"
DTD = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"%s>\n<platform version=\"4.1\">%s</platform>\n"
BOMB = "[<!ENTITY a \"aaaaaaaaaa\">" + "".join("<!ENTITY %s \"%s\">" % (c, ("&" + chr(ord(c) - 1) + ";") * 10) for c in "bcdefghi") + "]"


def read(path):
    with open(os.path.join(ROOT, path), "rb") as f:
        return f.read()


def inputs(made):
    """(kind, what, command, file name, its bytes); "FILE" in the command is the name."""
    card, model, lstopo = read("platforms/h800.xml"), read("workloads/models/llama3.1-8b.json"), read("tests/unit/data/lstopo-h800-8-switch.xml")
    run, platform = ["run", "--platform", "h800", *JOB], ["platform", "check", "FILE"]
    other = ["run", "--platform", "FILE", *JOB]
    of_model = ["run", "--platform", "h800", *JOB, "--model", "FILE"]
    rows = [
        ("platform", "nothing", platform, "h800.xml", b""),
        ("platform", "its first half", platform, "h800.xml", card[:len(card) // 2]),
        ("platform", "bytes of a picture", platform, "h800.xml", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        ("platform", "a zero byte", platform, "h800.xml", card.replace(b"zone", b"z\0ne", 1)),
        ("platform", "a misspelt attribute", platform, "h800.xml", card.replace(b"routing=", b"rooting=", 1)),
        ("platform", "a terminal's order as routing", platform, "h800.xml", card.replace(b"routing=\"", b"routing=\"\xc2\x9b31m\xe2\x80\xae", 1)),
        ("platform", "another card that there is none of", other, "h800.xml", card.replace(b'value="h800"', b'value="h900"', 1)),
        ("platform", "entities that grow to 10^9 letters", platform, "bomb.xml", (DTD % (BOMB, "&i;")).encode()),
        ("platform", "an entity that is /etc/passwd", platform, "xxe.xml",
         (DTD % ("[<!ENTITY x SYSTEM \"file:///etc/passwd\">]", "<zone id=\"&x;\" routing=\"Full\"/>")).encode()),
        ("platform", "a DTD of another machine's", platform, "dtd.xml",
         b"<!DOCTYPE platform SYSTEM \"http://127.0.0.1:1/x.dtd\" [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/\"> %p;]><platform version=\"4.1\"/>"),
        ("platform", "100,000 attributes", platform, "many.xml", (DTD % ("", "<zone %s/>" % " ".join("a%d='1'" % i for i in range(100000)))).encode()),
        ("platform", "100,000 levels", platform, "deep.xml", (DTD % ("", "<zone>" * 100000)).encode()),
        ("platform", "4,000,000,000 hosts", platform, "wide.xml",
         (DTD % ("", "\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-3999999999\" speed=\"1f\" bw=\"1Bps\" lat=\"1s\"/>")).encode()),
        ("model", "nothing", of_model, "m.json", b""),
        ("model", "a list", of_model, "m.json", b"[]"),
        ("model", "its first half", of_model, "m.json", model[:len(model) // 2]),
        ("model", "no layers", of_model, "m.json", model.replace(b"num_hidden_layers", b"num_layrs", 1)),
        ("model", "10^30 layers", of_model, "m.json", model.replace(b'"num_hidden_layers": 32', b'"num_hidden_layers": 1000000000000000000000000000000', 1)),
        ("model", "-32 layers", of_model, "m.json", model.replace(b'"num_hidden_layers": 32', b'"num_hidden_layers": -32', 1)),
        ("model", "a text where a number stands", of_model, "m.json", model.replace(b'"num_hidden_layers": 32', b'"num_hidden_layers": "many"', 1)),
        ("model", "5 MB of blanks", of_model, "m.json", b" " * 5000000),
        ("job", "an unknown flag", [*run, "--job", "FILE"], "j.args", b"--bf16\n--tensor-paralel 2\n"),
        ("job", "a number that is none", [*run, "--job", "FILE"], "j.args", b"--bf16\n\n--train-iters 1e\n--num-layers 3x\n"),
        ("job", "an output", [*run, "--job", "FILE"], "j.args", b"--output /etc/passwd\n"),
        ("job", "a launch script", [*run, "--job", "FILE"], "j.args", b"--launch x.sh\n"),
        ("job", "itself", [*run, "--job", "FILE"], "j.args", b"--job j.args\n"),
        ("job", "a quote without its end", [*run, "--job", "FILE"], "j.args", b"--bf16 'x\n"),
        ("job", "bytes that are no text", [*run, "--job", "FILE"], "j.args", bytes(range(256))),
        ("job", "a result's JSON, cut", [*run, "--job", "FILE"], "r.json", b"{\"schema_version\": 2, \"inputs\": {"),
        ("schedule", "a rank twice", ["schedule", "check", "FILE"], "s.csv", b"".join(made["schedule"].splitlines(True)[i] for i in (0, 1, 1, 2))),
        ("schedule", "its first half", ["schedule", "check", "FILE"], "s.csv", made["schedule"][:len(made["schedule"]) // 2]),
        ("schedule", "bytes of a program", ["schedule", "check", "FILE"], "s.csv", b"\x7fELF\2\1\1\0"),
        ("program", "its first half", ["program", "read", "FILE"], "p.txt", made["program"][:len(made["program"]) // 2]),
        ("program", "a class of 2^62 ranks", ["program", "read", "FILE"], "p.txt", made["program"].replace(b"ranks 8", b"ranks 4611686018427387904", 1)),
        ("program", "a time of 10^300 s", ["program", "read", "FILE"], "p.txt", made["program"].replace(b"compute 3", b"compute 1e300s #", 1)),
        ("program", "a wait for what never comes", ["program", "read", "FILE"], "p.txt", b"program x\nclass a {\nmemory weights 1MiB\nslot x F 0 0 {\nwait-recv nobody\n}\n}\n"),
        ("table", "no column", ["validate", "FILE"], "t.csv", b"a,b\n1,2\n"),
        ("table", "a row too short", ["validate", "FILE"], "t.csv", (COLUMNS + "a,900\n").encode()),
        ("table", "a time below 0", ["validate", "FILE"], "t.csv", (COLUMNS + ROW.replace("900", "-900")).encode()),
        ("table", "a terminal's order as id", ["validate", "FILE"], "t.csv", (COLUMNS + ROW.replace("a,", "\x1b]0;x\x07,", 1)).encode()),
        ("table", "1,000 columns", ["validate", "FILE"], "t.csv", b"a," * 1000 + b"b\n"),
        ("lstopo", "its first half", ["platform", "import", "FILE"], "l.xml", lstopo[:len(lstopo) // 2]),
        ("lstopo", "no GPU", ["platform", "import", "FILE"], "l.xml", b"<?xml version='1.0'?>\n<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\"/></topology>\n"),
        ("log", "a picture", ["calibrate", "--platform", "h800", "--prop", "ss.gemm.efficiency.bf16", "--log", "FILE", "--job", "8b-16"], "l.txt", b"\x89PNG\r\n\x1a\n"),
        ("trace", "JSON of another kind", ["compare", "--platform", "h800", *JOB, "--kineto", "FILE"], "k.json", b"{\"a\": [1, 2, {\"b\": null}]}"),
        ("trace", "its first half", ["compare", "--platform", "h800", *JOB, "--kineto", "FILE"], "k.json", b"{\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1"),
        ("configuration", "TOML without the end of a text", ["import", "FILE", "--platform", "h800"], "c.toml", b"[training]\nsteps = \"x\n"),
        ("configuration", "YAML whose anchors grow to 10^9", ["import", "FILE", "--platform", "h800"], "c.yaml",
         b"a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 10)) for i in range(1, 9))),
        ("configuration", "100 levels", ["import", "FILE", "--platform", "h800"], "c.yaml", b"training: " + b"[" * 100 + b"]" * 100),
        ("command line", "nothing to run", ["run"], "", b""),
        ("command line", "a folder as cluster", ["platform", "check", "/"], "", b""),
        ("command line", "/dev/zero as cluster", ["platform", "check", "/dev/zero"], "", b""),
        ("command line", "8,192 GPUs in tensor parallel", ["run", "--platform", "h800", *JOB, "--tp", "8192"], "", b""),
        ("command line", "an iteration of 30,000 years", ["run", "--platform", "h800", *JOB, *["--straggler", "0:1000000"] * 3], "", b""),
        ("command line", "an order to the terminal", ["\x1b[31mrun"], "", b""),
        ("command line", "an output over its input", ["schedule", "write", "FILE", "--output", "FILE"], "s.csv", made["schedule"]),
        ("command line", "an output over a program", ["run", "--platform", "h800", *JOB, "--output", "FILE"], "elf", b"\x7fELF\2\1\1\0" + bytes(20)),
    ]
    return rows


# More than 20 times what the slowest input takes of a sanitizer's build.
SECONDS = 60


def text_of(words):
    return " ".join(words).replace(" ".join(JOB), "JOB").replace("\x1b", "ESC")


def tried(program, row):
    kind, what, words, name, data = row
    with tempfile.TemporaryDirectory(prefix="stepsim-bad-") as folder:
        if name:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(data)
        words = [w.replace("FILE", name) if w == "FILE" else w for w in words]
        p = program.run(words, cwd=folder, env={"LC_ALL": "C", "STEPSIM_DATA": ""}, seconds=SECONDS)
        changed = [f for f in os.listdir(folder) if f != name]
        with open(os.path.join(folder, name), "rb") if name else open(os.devnull, "rb") as f:
            changed += [name] if name and f.read() != data else []
    lines = [line for line in p.stderr.decode("utf-8", "replace").splitlines() if not line.startswith(("note: ", "stepsim: note: "))]
    said = lines[0] if lines else "(the answer)" if p.stdout else ""
    bad = p.returncode not in (0, 1, 2, 3) or not said or changed or sum("error: " in line for line in lines) > 1 or b"\x1b" in p.stdout + p.stderr
    said = said.replace(ROOT, "SRC").replace("|", "\\|")
    return (kind, what, text_of(words), p.returncode, said), \
        "%s, %s: exit status %d, files %s: %s" % (kind, what, p.returncode, changed, p.stderr[:300]) if bad else None


def page(program):
    made = {"schedule": ["schedule", "write", "1f1b", "--pp", "4", "-m", "8", "--csv"],
            "program": ["program", "write", "--platform", "h800", *JOB[:-2]]}
    made = {k: program.run(v, check=True).stdout for k, v in made.items()}
    lines, wrong = [HEAD, "| kind | what is bad | command | status | message |", "|---|---|---|---|---|"], []
    for row in inputs(made):
        cells, bad = tried(program, row)
        wrong += [bad] if bad else []
        if cells:
            lines.append("| %s | %s | `%s` | %d | %s |" % cells)
    return "\n".join(lines) + "\n", wrong


def main():
    text, wrong = page(driver.of(sys.argv[1]))
    if "--check" in sys.argv:
        with open(PAGE, encoding="utf-8") as f:
            old = f.read()
        sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), text.splitlines(True), "committed", "now"))
        wrong += ["docs/reference/bad-inputs.md is not what the program says: python3 docs/bad-inputs.py PROGRAM > docs/reference/bad-inputs.md"] \
            if text != old else []
        print("%d inputs" % text.count("\n| "))
    else:
        sys.stdout.write(text)
    for line in wrong:
        print("bad-inputs.py: error: " + line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
