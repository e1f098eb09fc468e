# SPDX-License-Identifier: Apache-2.0
"""What the scripts beside this one share: options, a GPU and its versions, time, tables of micro-benchmarks, errors."""
import argparse
import collections
import csv
import datetime
import fnmatch
import itertools
import os
import signal
import statistics
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = "stepsim-" + os.path.splitext(os.path.basename(sys.argv[0]))[0]
INTERRUPTED = 130
BATCHES = 9
WARM_UP_S, BATCH_S = 0.05, 0.005


def first_line(error):
    return str(error).split("\n")[0] or type(error).__name__


def note(message):
    print("%s: note: %s" % (PROGRAM, message), file=sys.stderr)


def fail(message):
    print("%s: error: %s" % (PROGRAM, message), file=sys.stderr)
    sys.exit(3)


# ---- options ----

def options(doc, output):
    """The parser of what all scripts take; doc is the script's first paragraph."""
    parser = argparse.ArgumentParser(prog=PROGRAM, description=doc.replace("\n", " "))
    parser.add_argument("-o", "--output", "--out", metavar="FILE", default=output,
                        help="table that the rows are added to (%(default)s)")
    parser.add_argument("--models", metavar="FOLDER", default=os.path.join(HERE, "..", "..", "workloads", "models"),
                        help="folder of models (workloads/models)")
    parser.add_argument("--list", action="store_true", help="only says what would be measured")
    parser.add_argument("--only", metavar="PATTERN", default="",
                        help="of what --list prints what has PATTERN in it, * for anything")
    parser.add_argument("--without", metavar="PATTERN", help="leaves these out, likewise")
    parser.add_argument("--seconds", type=float, default=float("inf"),
                        help="begins nothing more after so long; the same command goes on")
    return parser


def is_chosen(name, words):
    def has(pattern):
        return fnmatch.fnmatchcase(name, "*" + pattern + "*")

    return has(words.only) and not (words.without and has(words.without))


def print_list(lines):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader may stop early
    print("\n".join(lines))


NOTHING = "nothing that --list prints is chosen by --only and --without"


class Budget:
    """The time that --seconds gives."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def is_spent(self):
        return time.monotonic() >= self.end


# ---- the GPU ----

def driver_version():
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as f:
            words = f.readline().split()
    except OSError:
        return "unknown"
    return next((w for w in words if w[0].isdigit()), "unknown")


def open_gpu(release, is_there):
    """PyTorch of a release that has what is asked of it, and a GPU; else one line and status 3."""
    try:
        import torch
    except ImportError:
        fail("PyTorch is not installed: install it, version %s or later, for the GPU's CUDA" % release)
    if not is_there(torch):
        fail("PyTorch %s is too old: install version %s or later" % (torch.__version__, release))
    if not torch.cuda.is_available():
        fail("no GPU that PyTorch can use: see with nvidia-smi that there is one")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: what was measured is kept
    warnings.simplefilter("ignore")  # of kernels that are not taken, which are told together at the end
    return torch


def check_alive(torch, name):
    """Behind a failure: a kernel that broke off may take the GPU from its process for good."""
    try:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    except RuntimeError as e:
        fail("the GPU is lost behind %s (%s): the same command goes on with --without \"%s\"" % (name, first_line(e), name))


def about(torch):
    return "driver %s, CUDA %s, PyTorch %s, cuDNN %s" % (
        driver_version(), torch.version.cuda, torch.__version__, torch.backends.cudnn.version())


def today():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")


def spread_pct(samples):
    """The quartiles' distance, in per cent of the median."""
    low, middle, high = statistics.quantiles(samples, n=4)
    return 100 * (high - low) / middle


def seconds_of(torch, run):
    """Seconds of one run in each of BATCHES batches, behind a warm-up; the first run of all loads kernels, or compiles them."""
    run()
    torch.cuda.synchronize()
    start, count = time.monotonic(), 0
    while time.monotonic() - start < WARM_UP_S or count < 3:
        run()
        torch.cuda.synchronize()
        count += 1
    launches = max(1, int(count * BATCH_S / (time.monotonic() - start)))
    out = []
    for _ in range(BATCHES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(launches):
            run()
        end.record()
        torch.cuda.synchronize()
        out.append(begin.elapsed_time(end) * 1e-3 / launches)
    return out


def host_seconds_of(torch, run, calls=100):
    """Seconds in which the host issues one run; the GPU waits for it, for what it gets is tiny."""
    out = []
    for _ in range(BATCHES + 1):
        start = time.perf_counter()
        for _ in range(calls):
            run()
        out.append((time.perf_counter() - start) / calls)
        torch.cuda.synchronize()
    return out[1:]


def in_turn(torch, make, size):
    """`make()` again and again, each time the next of copies that are three times the L2 cache, for operands of `size` bytes."""
    cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
    return itertools.cycle([make() for _ in range(1 + 3 * cache // size)])


# ---- tables ----

def read_table(path, columns, like):
    """Rows of the table so far; none if there is none."""
    if not os.path.exists(path):
        return []
    try:
        with open(path, encoding="utf-8", newline="") as f:
            rows = list(csv.reader(f))
    except (OSError, UnicodeDecodeError, csv.Error) as e:
        fail("%s: it cannot be read (%s): name another file with -o" % (path, e))
    if rows and rows[0] != columns:
        fail("%s:1: its columns are not those of %s: name another file with -o" % (path, like))
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(columns):
            fail("%s:%d: a row of %d fields, not of %d: remove it" % (path, line, len(row), len(columns)))
    return rows[1:]


def write_table(path, columns, rows):
    """Whole or not at all."""
    temporary = "%s.tmp.%d" % (path, os.getpid())
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as f:
            csv.writer(f, lineterminator="\n").writerows([columns] + rows)
        os.replace(temporary, path)
    except OSError as e:
        fail("%s: it cannot be written (%s)" % (path, e.strerror))
    finally:
        if os.path.exists(temporary):  # a full disk, or Ctrl-C
            os.remove(temporary)


# ---- micro-benchmarks ----

COLUMNS = ["kind", "gpu", "shape_or_bytes", "ranks/nodes", "precision", "measured value", "unit", "source"]
SCALE = {"TFLOP/s": 1e12, "GB/s": 1e9}

# A row to be. `amount`: FLOP or bytes of a run; of a row in us there is none. `more`: what its source says beside the versions.
Row = collections.namedtuple("Row", "kind shape precision unit amount more", defaults=(None, ""))
# Rows that are measured together. `open(torch)`: a context whose value is a run for each row. Those of one `library` that cannot be
# measured are told in one line.
Item = collections.namedtuple("Item", "library rows open clock", defaults=(seconds_of,))


def value_of(row, seconds):
    return 1e6 * seconds if row.unit == "us" else row.amount / seconds / SCALE[row.unit]


def name_of(row):
    return " ".join(filter(None, (row.kind, row.shape, row.precision)))


def fields_of(row, gpu, samples, versions):
    source = "stepsim probe: %s%s, median of %d, quartiles %.1f %% apart, %s" % (
        versions, row.more and ", " + row.more, len(samples), spread_pct(samples), today())
    return [row.kind, gpu, row.shape, "1 GPU", row.precision, "%.6g" % value_of(row, statistics.median(samples)), row.unit, source]


def measure(torch, item):
    """Samples of each row; a text where the library has no kernel for this card or shape, or no memory."""
    try:
        with item.open(torch) as runs:
            return [item.clock(torch, run) for run in runs]
    except (RuntimeError, AttributeError, NotImplementedError, TypeError, ValueError) as e:
        why = first_line(e)
    check_alive(torch, name_of(item.rows[0]))
    return why


def run_items(torch, items, words):
    """Adds what the table lacks, item by item."""
    gpu, versions, budget, left_out = torch.cuda.get_device_name(), about(torch), Budget(words.seconds), {}
    rows = read_table(words.output, COLUMNS, "validation/microbench.csv")
    for row in rows:
        if row[1] != gpu:
            fail("%s: measured on %s, this is %s: name another file with -o" % (words.output, row[1], gpu))
    write_table(words.output, COLUMNS, rows)  # that it can be written is known before the work
    known = {(r[0], r[2], r[4]) for r in rows}
    try:
        for at, item in enumerate(items):
            missing = [r for r in item.rows if (r.kind, r.shape, r.precision) not in known]
            if not missing:
                continue
            if budget.is_spent():
                note("the time is over, %d of %d left; the same command goes on" % (len(items) - at, len(items)))
                break
            samples = measure(torch, item)
            if isinstance(samples, str):
                left_out.setdefault(item.library, []).append("%s: %s" % (name_of(item.rows[0]), samples))
                continue
            rows += [fields_of(r, gpu, s, versions) for r, s in zip(item.rows, samples) if r in missing]
            write_table(words.output, COLUMNS, rows)
            if sys.stderr.isatty():
                print("\r%-90.90s" % name_of(item.rows[0]), end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("%s: interrupted; the same command goes on" % PROGRAM, file=sys.stderr)
        return INTERRUPTED
    for library, why in left_out.items():
        note("%s left out %d times, first %s" % (library, len(why), why[0]))
    return 0


def main(doc, items, release, is_there):
    """A script that adds rows of `items(folder of models)` to a table of micro-benchmarks."""
    words = options(doc, "probe.csv").parse_args()
    todo = [i for i in items(words.models) if any(is_chosen(name_of(r), words) for r in i.rows)]
    if not todo:
        fail(NOTHING)
    if words.list:
        print_list(name_of(r) for item in todo for r in item.rows)
        return 0
    return run_items(open_gpu(release, is_there), todo, words)
