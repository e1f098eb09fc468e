/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of the program beside those of a job. */
#include "cli/cli.h"
#include "cli/verbs.h"

#define AT(field) offsetof(struct cli_flags, field)
#define V(verb) ((uint64_t)1 << CLI_##verb)
_Static_assert(CLI_VERB_COUNT <= 64, "a bit a verb");

/* Sets of verbs: those that write JSON, that lower a job to a program, that draw pictures, that need the
 * shape of a pipeline */
#define JSON                                                                                                 \
    (V(RUN) | V(SEARCH) | V(SWEEP) | V(COMPARE) | V(EXPLAIN) | V(CHECK) | V(SHARE) | V(CAPACITY) | V(PLAN) | \
     V(IMPORT) | V(PROGRAM_READ) | V(PROGRAM_CHECK) | V(SCHEDULE_LIST) | V(SCHEDULE_SHOW) |                  \
     V(SCHEDULE_CHECK) | ORDERS | SEARCH | V(PLATFORM_SHOW) | V(PLATFORM_CHECK) | V(VALIDATE) |              \
     V(CALIBRATE) | V(LIST) | V(DOCTOR) | V(VERSION))
#define OUTPUT                                                                                               \
    (V(RUN) | V(SEARCH) | V(SWEEP) | V(COMPARE) | V(EXPLAIN) | V(CHECK) | V(SHARE) | V(CAPACITY) | V(PLAN) | \
     V(IMPORT) | V(PROGRAM_WRITE) | V(PROGRAM_READ) | V(SCHEDULE_SHOW) | V(SCHEDULE_WRITE) | ORDERS |        \
     V(PLATFORM_SHOW) | V(VALIDATE))
#define ORDERS (V(SCHEDULE_COMPARE) | V(SCHEDULE_COMPARE_JOB))
#define SEARCH (V(SCHEDULE_SEARCH) | V(SCHEDULE_SEARCH_JOB))
#define LOWER (V(RUN) | V(COMPARE) | V(EXPLAIN) | V(CHECK) | V(PROGRAM_WRITE))
#define DRAW (V(RUN) | V(PROGRAM_READ))
#define SHAPE (V(SCHEDULE_SHOW) | V(SCHEDULE_WRITE) | V(SCHEDULE_COMPARE) | V(SCHEDULE_SEARCH))
#define ALL UINT64_MAX

#define MAX_RANKS 65536
#define EXPORTS "for other simulators (docs/reference/formats-export.md)"
#define PICTURES "pictures (docs/guide/pictures.md)"
#define SHAPES "shape of the pipeline"
#define SEARCHES "search"
#define MEASURED "what was measured (beside --measured and --measured-memory)"
#define PICTURE_FILES "--report --gantt --card --memory --trace --kineto-trace"

static const char *engine(int i)
{
    return i >= SS_ENGINE_NATIVE && i <= SS_ENGINE_SIMGRID ? ss_engine_name(i) : NULL;
}

static const char *level(int i)
{
    return i < SS_LEVEL_COUNT ? ss_level_name(i) : NULL;
}

static const char *color(int i)
{
    return i == SS_COLOR_PHASE ? "phase" : i == SS_COLOR_MICROBATCH ? "microbatch" : NULL;
}

static const char *layout(int i)
{
    return i == SS_CAPACITY_SEARCH ? "search" : i == SS_CAPACITY_GIVEN ? "given" : NULL;
}

static const char *axes(int i)
{
    return i >= 0 && i < SS_FIND_AXES_COUNT ? ss_find_axes_word(i) : NULL;
}

const char *cli_shell(int i)
{
    static const char *const names[] = {"bash", "zsh", "fish", NULL};

    return i >= 0 && i < 3 ? names[i] : NULL;
}

/* clang-format off */
static const struct cli_option table[] = {
    /* ---- how a job is simulated ---- */
    {.name = "--engine", .how = 1, .value = "engine", .verbs = V(RUN) | V(SWEEP) | V(COMPARE) | V(EXPLAIN) | V(CHECK) | V(SHARE) | V(PROGRAM_READ) | V(SCHEDULE_COMPARE_JOB) | V(VALIDATE),
     .kind = CLI_CHOICE, .call = cli_read_how, .choice = engine, .usual = "native", .doc = "which kernel replays"},
    {.name = "--level", .how = 1, .value = "level", .verbs = LOWER, .kind = CLI_CHOICE, .call = cli_read_how,
     .choice = level, .usual = "chunk, or flow where links make it more than 3 % off", .doc = "chunk: one event a slot; layer: every operator; flow: an alias of layer"},
    {.name = "--level", .how = 1, .value = "level", .verbs = V(SHARE), .kind = CLI_CHOICE, .call = cli_read_how,
     .choice = level, .usual = "flow", .doc = "chunk: collectives inside layers are closed forms, which no other job slows; layer, flow: flows"},
    {.name = "--log", .value = "FILE", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.log), .section = MEASURED,
     .beside = "--table", .doc = "lines that the training printed; -: stdin. First iterations are left out where there are three or more"},
    {.name = "--tokens-per-second", .value = "N[/gpu]", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.figure[0]),
     .beside = "--table", .section = MEASURED, .doc = "of all GPUs, or of one"},
    {.name = "--samples-per-second", .value = "N", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.figure[1]),
     .beside = "--table", .section = MEASURED, .doc = "sequences of all GPUs"},
    {.name = "--tflops", .value = "N[:COUNT]", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.figure[2]),
     .beside = "--table", .section = MEASURED, .doc = "TFLOP/s a GPU; COUNT is causal (half of the attention square), windows (of it what they leave), full or hardware (recompute counted): "
     "as the stack logs it without one"},
    {.name = "--mfu", .value = "N%[:COUNT]", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.figure[3]),
     .beside = "--table", .section = MEASURED, .doc = "of the dense 16-bit peak; COUNT likewise"},
    {.name = "--memory", .value = "SIZE[:KIND]", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.figure[4]),
     .beside = "--table", .section = MEASURED, .doc = "of the fullest GPU; KIND is device (as nvidia-smi shows it, without one), reserved or allocated"},
    {.name = "--table", .value = "FILE.csv", .verbs = V(CHECK), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(check.table), .section = MEASURED,
     .doc = "a row for each layout: columns are flags of the job (tp, pp, mbs, ...) and seconds, ms, tokens_per_s, "
            "tokens_per_s_per_gpu, samples_per_s, tflops, mfu or memory"},
    {.name = "--starts", .value = "N", .verbs = V(SHARE), .kind = CLI_COUNT, .offset = AT(starts), .low = 1, .high = 1000,
     .usual = "4", .doc = "times at which jobs begin behind each other, by parts of the shortest iteration; 1: all at once"},
    {.name = "--unfold", .rare = 1, .how = 1, .verbs = LOWER, .kind = CLI_SET, .call = cli_read_how,
     .doc = "simulates every rank, not one of those that do the same: about 1 GB for 7 million slots of the pipeline, of which it takes up to 64 million; layer level takes more"},
    {.name = "--full-replay", .rare = 1, .how = 1, .verbs = V(RUN) | V(COMPARE) | V(EXPLAIN), .kind = CLI_SET, .call = cli_read_how,
     .doc = "native engine: runs every microbatch and does not jump over the steady state"},
    {.name = "--placement", .rare = 1, .how = 1, .value = "FILE", .verbs = LOWER, .kind = CLI_PATH, .call = cli_read_how, .several = CLI_ONCE,
     .doc = "where ranks are: docs/reference/formats.md"},
    {.name = "--straggler", .rare = 1, .how = 1, .value = "RANK:FACTOR", .verbs = LOWER, .kind = CLI_CALL, .call = cli_read_how, .several = CLI_ALL,
     .doc = "a GPU that takes FACTOR times as long; may be repeated"},
    {.name = "--slow-link", .rare = 1, .how = 1, .value = "NAME:FACTOR", .verbs = LOWER, .kind = CLI_CALL, .call = cli_read_how, .several = CLI_ALL,
     .doc = "a link with 1/FACTOR of its bandwidth, or \"failed\": flows go around; may be repeated"},
    {.name = "--spread-seed", .rare = 1, .how = 1, .value = "N", .verbs = LOWER, .kind = CLI_WHOLE, .call = cli_read_how, .doc = "draws the lasting spread for each GPU instead of using its expected effect"},
    {.name = "--jitter", .rare = 1, .how = 1, .value = "SIGMA", .verbs = V(RUN), .kind = CLI_CALL, .call = cli_read_how,
     .doc = "log-normal noise on what is computed between two waits (at chunk level a whole slot): percentiles of "
            "--replicas iterations"},
    {.name = "--replicas", .rare = 1, .how = 1, .value = "R", .verbs = V(RUN), .kind = CLI_WHOLE, .call = cli_read_how, .needs = "--jitter", .usual = "100", .doc = "iterations that --jitter draws"},
    {.name = "--workers", .rare = 1, .value = "N", .verbs = V(RUN), .kind = CLI_COUNT, .offset = AT(how.options.workers.n), .low = 1,
     .high = 1024, .needs = "--jitter", .doc = "processes that share the replicas, which changes no figure (one a core)"},
    {.name = "--seed", .rare = 1, .how = 1, .value = "N", .verbs = V(RUN), .kind = CLI_WHOLE, .call = cli_read_how,
     .usual = "0", .doc = "of the noise of --jitter; without it Megatron's, which changes nothing"},
    {.name = "--tolerance", .rare = 1, .value = "PERCENT", .verbs = V(RUN), .kind = CLI_CALL, .call = cli_read_tolerance,
     .doc = "exits 4 if the prediction is further off --measured or --measured-memory than this"},
    {.name = "--vary", .value = "FLAG=V1,V2,...", .verbs = V(SWEEP), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(vary),
     .doc = "a flag of the job and its values: nodes=8,16, vp=1,2,5, model=a,b, recompute=none,full; \"on\" and \"off\" "
            "give and leave out a flag without value, which the job itself then must not give: sequence-parallel=on,off; "
            "set=ss.nic.bandwidth=12.5GBps,...; up to 8 flags, 16384 combinations"},
    {.name = "--vary", .value = "FLAG=V1,V2,...", .verbs = V(SEARCH), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(vary),
     .doc = "a flag of the job and its values: nodes=4..64 (each twice the one before), nodes=4,8, tp=1,2,4, schedule=auto (all "
            "that are known); tp, cp, pp, ep, vp, mbs, recompute and fsdp take all legal values where the job does not give them"},
    {.name = "--vary", .value = "FLAG=V1,V2,...", .verbs = V(CAPACITY), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(vary),
     .doc = "platform=h100,gb200: platforms side by side; or a flag of the layout and the values that the search has for it: tp=1,2,4, schedule=auto, overlap-grad-reduce=on,off; "
            "without it tp, cp, pp, ep, vp, mbs, recompute and fsdp take all legal values where the job does not give them"},
    {.name = "--report", .value = "FILE.html", .verbs = V(SEARCH), .writes = CLI_BESIDE, .starts = "<!doctype html>", .kind = CLI_NEW_FILE, .several = CLI_ONCE, .offset = AT(sweep.report),
     .doc = "writes a page: the best, picture, table and words"},
    {.name = "--top", .value = "N", .verbs = V(SEARCH), .kind = CLI_COUNT, .offset = AT(search.top), .low = 1, .high = 100000,
     .usual = "5", .beside = "--json", .doc = "layouts that the text has of each number of nodes, best first"},
    {.name = "--workers", .value = "N", .verbs = V(SEARCH) | V(SWEEP) | V(CAPACITY), .kind = CLI_COUNT, .offset = AT(workers.n), .low = 1,
     .high = 1024, .usual = "one a core", .doc = "processes that share the work, which changes no figure"},
    {.name = "--workers", .value = "N", .verbs = V(CALIBRATE) | V(VALIDATE), .kind = CLI_COUNT, .offset = AT(workers.n), .low = 1,
     .high = 1024, .usual = "one a core", .doc = "processes that share the rows, which changes no figure"},
    {.name = "--workers", .rare = 1, .value = "N", .verbs = SEARCH, .kind = CLI_COUNT, .offset = AT(workers.n), .low = 1, .high = 1024,
     .usual = "one a core", .needs = "--layouts", .beside = "--gantt", .doc = "processes that share the layouts"},
    {.name = "--journal", .value = "FILE", .verbs = V(SEARCH) | V(SWEEP) | V(CAPACITY), .writes = CLI_BESIDE, .starts = "stepsim-journal ", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(journal),
     .doc = "keeps each prediction there as soon as it is made: what is interrupted or killed goes on with --resume"},
    {.name = "--resume", .verbs = V(SEARCH) | V(SWEEP) | V(CAPACITY), .kind = CLI_SET, .offset = AT(workers.resume), .low = 1, .needs = "--journal",
     .doc = "goes on from the predictions of --journal, where it has any"},
    {.name = "--axes", .value = "axes", .verbs = V(SEARCH), .kind = CLI_CHOICE, .offset = AT(search.axes), .choice = axes, .usual = "layout",
     .doc = "switches: grouped GEMMs, dispatcher, what is exchanged beside compute, attention's kernel, offload, of the job's own layout; all: both. "
            "Otherwise what the stack's recipe switches on is on"},
    {.name = "--exhaustive", .verbs = V(SEARCH), .kind = CLI_SET, .offset = AT(search.exhaustive), .low = 1,
     .doc = "also predicts layouts that a lower bound rules out"},
    {.name = "--unconfirmed", .verbs = V(SEARCH), .kind = CLI_SET, .offset = AT(search.unconfirmed), .low = 1,
     .doc = "skips the check of the best layout by SimGrid"},
    {.name = "--csv", .value = "FILE", .verbs = V(SEARCH), .writes = CLI_BESIDE, .starts = "nodes,flags,", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(csv),
     .doc = "writes the layouts that were predicted, with every figure, as CSV"},
    {.name = "--svg", .value = "FILE", .verbs = V(SEARCH), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(svg),
     .doc = "writes a picture: memory over time for each number of nodes, the best trade-offs, what is too close to call"},
    {.name = "--with", .value = "WORDS", .verbs = V(COMPARE), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(with),
     .doc = "one side more: the first one with these words behind it, flags of the job and options of the simulation: \"--tp 4\", \"--scale "
            "nic.bandwidth=2x\", \"--without sequence-parallel\"; may be repeated"},
    {.name = "--kineto", .value = "TRACE.json[.gz]", .verbs = V(COMPARE), .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(kineto),
     .beside = "--with", .doc = "holds a real iteration of one rank against the one job: a trace of PyTorch's profiler (docs/reference/formats-kineto.md)"},
    {.name = "--nsys", .value = "TRACE.csv[.gz]", .verbs = V(COMPARE), .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(nsys),
     .beside = "--with --kineto", .doc = "holds a trace of Nsight Systems against the one job: what nsys stats --report cuda_gpu_trace --format csv prints"},
    {.name = "--report", .value = "FILE.html", .verbs = V(COMPARE), .writes = CLI_BESIDE, .starts = "<!doctype html>", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(sweep.report), .needs = "--kineto --nsys", .doc = "writes a page: the trace beside the prediction, as picture and tables"},
    {.name = "--csv", .value = "FILE", .verbs = V(COMPARE), .writes = CLI_BESIDE, .starts = "table,term,", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(csv),
     .doc = "writes the terms of all sides as a table"},
    {.name = "--svg", .value = "FILE", .verbs = V(COMPARE), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(svg),
     .doc = "writes a picture: time and memory of each side as stacked bars"},
    {.name = "--tokens", .value = "N", .verbs = V(CAPACITY), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(capacity.tokens),
     .doc = "tokens to train on: 15.6T, 2e12 (k, M, B, T)"},
    {.name = "--deadline", .value = "TIME", .verbs = V(CAPACITY), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(capacity.deadline),
     .doc = "54d (s, min, h, d, w): asks for the cheapest number of nodes that is done by then"},
    {.name = "--budget", .value = "USD", .verbs = V(CAPACITY), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(capacity.budget),
     .doc = "5e6, 5M: asks for the fastest number of nodes that costs no more, with --deadline for the cheapest"},
    {.name = "--layout", .value = "layout", .verbs = V(CAPACITY), .kind = CLI_CHOICE, .offset = AT(capacity.layout),
     .choice = layout, .usual = "search", .doc = "the best layout on each number of nodes, or the job's own"},
    {.name = "--price", .value = "USD/h", .verbs = V(CAPACITY), .kind = CLI_NUMBER, .offset = AT(capacity.price), .low = 1e-6,
     .high = 1e6, .unit = SS_UNIT_PRICE, .usual = "the platform's, else an example",
     .doc = "of a GPU, as 2.5USD/h: --set ss.price"},
    {.name = "--csv", .value = "FILE", .verbs = V(CAPACITY), .writes = CLI_BESIDE, .starts = "platform,nodes,global_batch,", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(csv),
     .doc = "writes the numbers of nodes, with every figure, as CSV"},
    {.name = "--svg", .value = "FILE", .verbs = V(CAPACITY), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(svg),
     .doc = "writes a picture: days and cost over the number of nodes, with the error band"},
    {.name = "--report", .value = "FILE.html", .verbs = V(CAPACITY), .writes = CLI_BESIDE, .starts = "<!doctype html>", .kind = CLI_NEW_FILE, .several = CLI_ONCE, .offset = AT(sweep.report),
     .doc = "writes a page: answers, picture, table, what was taken"},
    {.name = "--sort", .value = "FIGURE", .verbs = V(SWEEP), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(sweep.sort),
     .doc = "puts the rows in the order of a figure, by its name in --json, the best first: iteration_ms, mfu, peak_mib, "
            "usd_per_million_tokens, ...; iteration_ms:up and :down say the way"},
    {.name = "--top", .value = "N", .verbs = V(SWEEP), .kind = CLI_COUNT, .offset = AT(sweep.top), .low = 1, .high = 100000,
     .usual = "all", .doc = "rows that table, picture and page have, the first ones"},
    {.name = "--fits", .verbs = V(SWEEP), .kind = CLI_SET, .offset = AT(sweep.fits), .low = 1,
     .doc = "leaves out what is refused or too large"},
    {.name = "--svg", .value = "FILE", .verbs = V(SWEEP), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE, .offset = AT(svg),
     .doc = "writes a picture: the iteration of each row with its error band"},
    {.name = "--report", .value = "FILE.html", .verbs = V(SWEEP), .writes = CLI_BESIDE, .starts = "<!doctype html>", .kind = CLI_NEW_FILE, .several = CLI_ONCE, .offset = AT(sweep.report),
     .doc = "writes a page: answer, picture, table and words"},
    {.name = "--csv", .value = "FILE", .verbs = V(SWEEP), .writes = CLI_BESIDE, .starts = "--", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(csv),
     .doc = "writes the rows, with every figure, as CSV beside the table"},
    {.name = "--steps", .value = "STAGE", .verbs = V(PLAN), .kind = CLI_COUNT, .offset = AT(stage), .low = 0, .high = MAX_RANKS,
     .beside = "--json",
     .doc = "writes, in place of the plan, what a rank of this pipeline stage does in each kind of slot, as CSV: operators, "
            "collectives, waits, at layer level"},

    {.name = "--port", .value = "N", .verbs = V(SERVE), .kind = CLI_COUNT, .offset = AT(port), .low = 0, .high = 65535,
     .usual = "8420", .doc = "of 127.0.0.1; 0: any that is free"},

    /* ---- clusters ---- */
    {.name = "--nodes", .value = "N", .verbs = V(PLATFORM_SHOW) | V(PLATFORM_DRAW) | V(PLATFORM_CHECK), .kind = CLI_COUNT, .offset = AT(nodes), .low = 1,
     .high = SS_MAX_GPUS, .doc = "so many nodes of a platform that is told by one"},
    {.name = "--nodes", .value = "N", .verbs = V(PLATFORM_IMPORT), .kind = CLI_COUNT, .offset = AT(nodes), .low = 1,
     .high = SS_MAX_GPUS, .usual = "the number of files", .doc = "so many equal nodes"},
    {.name = "--card", .value = "NAME|FILE", .verbs = V(PLATFORM_NEW), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(platform.card), .doc = "the card: \"stepsim list cards\""},
    {.name = "--nodes", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(nodes), .low = 1,
     .high = SS_MAX_GPUS, .doc = "nodes"},
    {.name = "--gpus-per-node", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(gpus_per_node),
     .low = 1, .high = 1024, .usual = "as on the platform of that name", .doc = "GPUs of a node"},
    {.name = "--nics", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(platform.made.nics_per_node),
     .low = 0, .high = 1024, .usual = "one a GPU", .doc = "NICs of a node"},
    {.name = "--nic", .value = "RATE", .verbs = V(PLATFORM_NEW), .kind = CLI_NUMBER, .offset = AT(platform.made.nic_bandwidth),
     .low = 1e6, .high = 1e15, .unit = SS_UNIT_BANDWIDTH, .usual = "as on the platform of that name", .doc = "bandwidth of one NIC, as 400Gbps"},
    {.name = "--nvlink", .value = "RATE", .verbs = V(PLATFORM_NEW), .kind = CLI_NUMBER, .offset = AT(platform.made.fabric_bandwidth),
     .low = 1e6, .high = 1e15, .unit = SS_UNIT_BANDWIDTH, .usual = "as on the platform of that name",
     .doc = "bandwidth of a GPU's NVLinks in one direction, as 450GBps"},
    {.name = "--nvlink-nodes", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(platform.made.fabric_nodes),
     .low = 1, .high = 1024, .usual = "as on the platform of that name", .doc = "nodes that one NVLink switch joins: 18 of NVL72"},
    {.name = "--fabric", .value = "fabric", .verbs = V(PLATFORM_NEW), .kind = CLI_CHOICE, .offset = AT(platform.made.network),
     .choice = ss_network_name, .usual = "rail",
     .doc = "how nodes are joined: a leaf switch a rail below spines, or SimGrid's clusters of up to 1024 GPUs"},
    {.name = "--nodes-per-leaf", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(platform.made.nodes_per_leaf),
     .low = 1, .high = SS_MAX_GPUS, .usual = "32; of a fat tree at most 16 that divide the nodes", .doc = "nodes below a leaf switch"},
    {.name = "--oversubscription", .value = "X", .verbs = V(PLATFORM_NEW), .kind = CLI_NUMBER, .offset = AT(platform.made.oversubscription),
     .low = 0.01, .high = 1000, .unit = SS_UNIT_NONE, .usual = "1",
     .doc = "bandwidth of the NICs of a leaf or group over the bandwidth of its uplinks"},
    {.name = "--groups", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(platform.made.groups),
     .low = 1, .high = 1024, .needs = "--fabric", .usual = "the most that divide the nodes", .doc = "groups of a dragonfly"},
    {.name = "--routers", .value = "N", .verbs = V(PLATFORM_NEW), .kind = CLI_COUNT, .offset = AT(platform.made.routers),
     .low = 1, .high = 1024, .needs = "--fabric", .usual = "the fewest that divide the nodes", .doc = "routers of a group of a dragonfly, no fewer than groups"},
    {.name = "--price", .value = "PRICE", .verbs = V(PLATFORM_NEW), .kind = CLI_NUMBER, .offset = AT(platform.made.price),
     .low = 0, .high = 1e6, .unit = SS_UNIT_PRICE, .usual = "none", .doc = "of one GPU, as 2.5USD/h"},
    {.name = "--card", .value = "NAME|FILE", .verbs = V(PLATFORM_IMPORT), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(platform.card), .usual = "what the file names", .doc = "the card: \"stepsim list cards\""},
    {.name = "--card", .value = "NAME|FILE", .verbs = V(PLATFORM_SHOW) | V(PLATFORM_DRAW) | V(PLATFORM_CHECK), .kind = CLI_TEXT,
     .several = CLI_ONCE, .offset = AT(platform.card), .usual = "what the platform names",
     .doc = "the card of a platform that was written for SimGrid alone: \"stepsim list cards\""},
    {.name = "--gpus-per-node", .value = "N", .verbs = V(PLATFORM_SHOW) | V(PLATFORM_DRAW) | V(PLATFORM_CHECK), .kind = CLI_COUNT,
     .offset = AT(gpus_per_node), .low = 1, .high = 1024,
     .doc = "of each node the first N GPUs; of a SimGrid platform that does not say it, how many hosts are a node"},
    {.name = "--set", .value = "PROP=VALUE", .verbs = V(PLATFORM_SHOW) | V(PLATFORM_DRAW), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(sets),
     .doc = "changes one value of the card or the cluster; may be repeated"},

    /* ---- programs ---- */
    {.name = "--expanded", .verbs = V(PROGRAM_WRITE), .kind = CLI_SET, .offset = AT(expanded), .low = 1,
     .doc = "every event of every class, without templates"},
    {.name = "--goal", .value = "FILE", .verbs = V(PROGRAM_WRITE) | V(PROGRAM_READ), .writes = CLI_BESIDE, .starts = "// stepsim",
     .kind = CLI_NEW_FILE, .several = CLI_ONCE, .offset = AT(goal), .section = EXPORTS,
     .doc = "the program as GOAL text, for LogGOPSim and ATLAHS; one rank a class: --unfold makes it one a GPU"},
    {.name = "--chakra", .value = "PREFIX", .verbs = V(PROGRAM_WRITE) | V(PROGRAM_READ), .writes = CLI_BESIDE,
     .kind = CLI_NEW_FILE, .several = CLI_ONCE, .offset = AT(chakra), .section = EXPORTS,
     .doc = "the program as Chakra execution traces, for ASTRA-sim: PREFIX.RANK.et, and its process groups in PREFIX.json"},

    /* ---- schedules ---- */
    {.name = "--pp", .value = "RANKS", .verbs = SHAPE, .kind = CLI_COUNT, .offset = AT(schedule.shape.stages), .low = 1,
     .high = MAX_RANKS, .section = SHAPES, .doc = "pipeline ranks"},
    {.name = "--microbatches", .alias = "-m", .value = "M", .verbs = SHAPE, .kind = CLI_COUNT,
     .offset = AT(schedule.shape.microbatches), .low = 1, .high = 1 << 24, .section = SHAPES,
     .doc = "microbatches of an iteration"},
    {.name = "--vp", .value = "CHUNKS", .verbs = SHAPE, .kind = CLI_COUNT, .offset = AT(schedule.shape.chunks), .low = 1,
     .high = 4096, .section = SHAPES, .doc = "model chunks a rank"},
    {.name = "--group", .value = "N", .verbs = SHAPE & ~V(SCHEDULE_SEARCH), .kind = CLI_COUNT,
     .offset = AT(schedule.shape.microbatch_group_size), .low = 1, .high = 1 << 24, .section = SHAPES,
     .doc = "interleaved, group-interleaved: microbatches in a row on one chunk"},
    {.name = "--paired", .verbs = V(SCHEDULE_SHOW) | V(SCHEDULE_WRITE), .kind = CLI_SET, .offset = AT(schedule.shape.paired),
     .low = 1, .section = SHAPES,
     .doc = "1f1b, interleaved: forwards beside backwards, as with --overlap-moe-expert-parallel-comm"},
    {.name = "--schedules", .value = "A,B,...", .verbs = ORDERS, .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(schedule.names), .usual = "all known ones",
     .doc = "names or files; NAME:V asks for V chunks a rank"},
    {.name = "--times", .value = "F,I,W", .verbs = V(SCHEDULE_SHOW), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(schedule.times), .usual = "1,1,1",
     .doc = "of a chunk: forward, gradient of the input, gradient of the weights"},
    {.name = "--times", .value = "F,I,W", .verbs = V(SCHEDULE_COMPARE), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(schedule.times), .usual = "1,1,1",
     .doc = "of a whole stage: forward, gradient of the input, gradient of the weights"},
    {.name = "--times", .value = "F,I,W[;F,I,W...]", .verbs = V(SCHEDULE_SEARCH), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(schedule.times), .usual = "1,1,1", .section = SEARCHES,
     .doc = "of a chunk, with --layouts of a whole stage; with ; one for each rank"},
    {.name = "--memory", .value = "A,W", .verbs = V(SCHEDULE_SEARCH), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(schedule.memory), .usual = "1,1", .section = SEARCHES,
     .doc = "what a chunk (--layouts: a stage) keeps from F to I, and from I to W; 1,1 counts as check and compare do"},
    {.name = "--cap", .value = "X", .verbs = V(SCHEDULE_SEARCH), .kind = CLI_NUMBER, .offset = AT(schedule.cap), .low = 0,
     .high = 1e300, .unit = SS_UNIT_NONE, .usual = "no limit", .section = SEARCHES,
     .doc = "memory of a rank, in the unit of --memory"},
    {.name = "--cap", .value = "SIZE", .verbs = V(SCHEDULE_SEARCH_JOB), .kind = CLI_NUMBER, .offset = AT(schedule.cap),
     .low = 0, .high = 1e15, .unit = SS_UNIT_BYTES, .usual = "the card's", .section = SEARCHES,
     .doc = "memory of a rank with all that \"stepsim run\" counts, as 40GiB"},
    {.name = "--cap", .value = "SIZE", .verbs = V(SCHEDULE_COMPARE_JOB), .kind = CLI_NUMBER, .offset = AT(schedule.cap),
     .low = 0, .high = 1e15, .unit = SS_UNIT_BYTES, .usual = "the card's",
     .doc = "memory of a rank with all that \"stepsim run\" counts, as 40GiB: what needs more is too large"},
    {.name = "--layouts", .verbs = SEARCH, .kind = CLI_SET, .offset = AT(schedule.layouts), .low = 1,
     .beside = "--v", .section = SEARCHES,
     .doc = "one chunk a rank, two, and a V, of a job for all numbers of pipeline ranks; --output gets the best"},
    {.name = "--v", .verbs = SEARCH, .kind = CLI_SET, .offset = AT(schedule.v), .low = 1, .beside = "--vp",
     .section = SEARCHES, .doc = "two chunks a rank on a V"},
    {.name = "--whole", .verbs = SEARCH, .kind = CLI_SET, .offset = AT(schedule.whole), .low = 1, .section = SEARCHES,
     .doc = "the backward is not split"},
    {.name = "--no-barrier", .rare = 1, .verbs = SEARCH, .kind = CLI_SET, .offset = AT(schedule.no_barrier), .low = 1,
     .section = SEARCHES, .doc = "ranks need not wait for each other at the end"},
    {.name = "--seed", .rare = 1, .how = 1, .value = "N", .verbs = SEARCH, .kind = CLI_WHOLE, .offset = AT(schedule.seed), .low = 0,
     .high = 1e15, .usual = "1", .section = SEARCHES, .doc = "of the local search"},
    {.name = "--steps", .rare = 1, .value = "N", .verbs = SEARCH, .kind = CLI_COUNT, .offset = AT(schedule.steps), .low = 1,
     .high = 100000000, .usual = "about a second of them", .section = SEARCHES, .doc = "of the local search"},
    {.name = "--csv", .verbs = V(SCHEDULE_WRITE), .kind = CLI_SET, .offset = AT(schedule.form),
     .low = CLI_FORM_CSV, .beside = "--text", .doc = "as PyTorch's pipelining writes it"},
    {.name = "--text", .verbs = V(SCHEDULE_WRITE), .kind = CLI_SET, .offset = AT(schedule.form), .low = CLI_FORM_TEXT,
     .doc = "in our text form; by default the ending of FILE decides"},
    {.name = "--csv", .verbs = SEARCH, .kind = CLI_SET, .offset = AT(schedule.form), .low = CLI_FORM_CSV,
     .needs = "--output", .beside = "--text", .doc = "--output as PyTorch's pipelining writes it"},
    {.name = "--text", .verbs = SEARCH, .kind = CLI_SET, .offset = AT(schedule.form), .low = CLI_FORM_TEXT,
     .needs = "--output", .doc = "--output in our text form; by default the ending of FILE decides"},
    {.name = "--width", .value = "N", .verbs = V(SCHEDULE_SHOW), .kind = CLI_COUNT, .offset = AT(schedule.width),
     .low = 20, .high = 100000, .usual = "the terminal's", .beside = "--json", .doc = "columns of the chart"},

    /* ---- measurements ---- */
    {.name = "--platform", .value = "NAME|FILE", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(calibrate.platform), .doc = "the platform to start from"},
    {.name = "--rows", .value = "TABLE", .verbs = V(CALIBRATE), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(calibrate.rows),
     .doc = "measured runs, as for \"stepsim validate\"; rows of this platform count; may be repeated"},
    {.name = "--nccl", .value = "FILE", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(calibrate.nccl),
     .doc = "what a program of nccl-tests printed"},
    {.name = "--nodes", .value = "N", .verbs = V(CALIBRATE), .kind = CLI_COUNT, .offset = AT(nodes), .low = 1,
     .high = SS_MAX_GPUS, .needs = "--nccl", .doc = "nodes that the nccl-tests ran on"},
    {.name = "--microbench", .value = "FILE", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(calibrate.microbench),
     .doc = "kernels and collectives measured alone, as validation/probe writes them; rows of this platform's card count"},
    {.name = "--log", .value = "FILE", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(calibrate.log),
     .doc = "a log of Megatron's training loop, of the run with the flags of --job; its timers are held against the "
            "predicted ones"},
    {.name = "--job", .value = "FILE", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE, .offset = AT(calibrate.job),
     .needs = "--log", .doc = "flags of the run that made --log"},
    {.name = "--timer-rows", .value = "FILE", .verbs = V(CALIBRATE), .kind = CLI_PATH, .several = CLI_ONCE,
     .offset = AT(timer_rows), .doc = "measured timers of the tables' runs (columns run, timer, ms), likewise"},
    {.name = "--timers", .verbs = V(CALIBRATE), .kind = CLI_SET, .offset = AT(calibrate.timers), .low = 1,
     .doc = "fits those timers too that take a hundredth of the iteration or more"},
    {.name = "--stack", .value = "NAME|FILE", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(calibrate.stack),
     .doc = "predicts all rows with this stack, not with each row's own; the attention of micro-benchmarks is its"},
    {.name = "--prop", .value = "ID[=LOW:HIGH]", .verbs = V(CALIBRATE), .kind = CLI_EACH, .several = CLI_ALL, .offset = AT(calibrate.props),
     .doc = "a number to fit, within its own bounds or these; may be repeated. Without one: efficiencies of GEMMs in "
            "the rows' precisions, NVLink and NIC; of micro-benchmarks all that they tell"},
    {.name = "--leave-out", .value = "COLUMN", .verbs = V(CALIBRATE), .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(calibrate.leave_out),
     .doc = "model, gpu, precision or id: predicts each by a fit of all others; half: odd lines of the tables by a fit "
            "of the even ones, and these by the odd; with --microbench alone, half of the shapes, or gpu: the curves of kernels"},
    {.name = "--seed", .how = 1, .value = "N", .verbs = V(CALIBRATE), .kind = CLI_WHOLE, .offset = AT(calibrate.seed), .low = 0, .high = 1e15,
     .usual = "1", .needs = "--leave-out", .doc = "draws the half of a table of kernels"},
    {.name = "--stack-output", .value = "FILE", .verbs = V(CALIBRATE), .writes = CLI_BESIDE, .starts = "<?xml", .kind = CLI_TEXT, .several = CLI_ONCE,
     .offset = AT(calibrate.stack_output), .doc = "writes a stack with the fitted numbers over --stack"},
    {.name = "--spread", .how = 1, .value = "N", .verbs = V(VALIDATE) | V(CALIBRATE), .kind = CLI_NUMBER, .offset = AT(spread), .low = 0,
     .high = 10, .unit = SS_UNIT_NONE, .doc = "of all rows, times the lasting spread of GPUs that their cards have; 0: all are as fast"},
    {.name = "--csv", .value = "FILE", .verbs = V(VALIDATE), .writes = CLI_BESIDE, .starts = "table,id,model,", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(csv),
     .doc = "writes the predictions as a table"},
    {.name = "--svg", .value = "FILE", .verbs = V(VALIDATE), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(svg),
     .doc = "writes a picture: the error of each run over its measured time, a colour a card"},
    {.name = "--against", .value = "FILE", .verbs = V(VALIDATE), .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(against),
     .beside = "--json", .doc = "compares with an earlier --csv: prints what moved and exits 4 if anything did; without "
     "a TABLE runs, foreign, foreign-2, vtrain and hybrid are taken"},
    {.name = "--timer-rows", .value = "FILE", .verbs = V(VALIDATE), .kind = CLI_PATH, .beside = "--against", .several = CLI_ONCE, .offset = AT(timer_rows),
     .doc = "measured timers of these runs (columns run, timer, ms): prints them beside the predicted ones; of the table "
            "runs, validation/gpt2-timers.csv"},
    {.name = "--coverage", .verbs = V(VALIDATE), .kind = CLI_SET, .offset = AT(coverage), .low = 1,
     .doc = "predicts nothing: prints how often the error bands hold runs of a source that they are made without, from "
            "validation/results.csv or a TABLE that --csv wrote"},
    {.name = "--regret", .verbs = V(VALIDATE), .kind = CLI_SET, .offset = AT(regret), .low = 1,
     .doc = "layouts chosen: of rows that are layouts of one job (model, GPUs, batch, sequence, precision, kernels; four or more), how much "
            "slower the one predicted fastest is than the one measured fastest, pairs ranked right, errors by tensor ranks, micro batch and MFU"},
    {.name = "--update", .verbs = V(VALIDATE), .kind = CLI_SET, .offset = AT(update), .low = 1,
     .doc = "writes validation/results.csv of runs, foreign, foreign-2, vtrain and hybrid"},

    /* ---- what is written ---- */
    {.name = "--xml", .verbs = V(PLATFORM_SHOW), .kind = CLI_SET, .beside = "--json", .offset = AT(xml), .low = 1,
     .doc = "writes the platform with its current values"},
    {.name = "--json", .verbs = JSON, .kind = CLI_SET, .offset = AT(json), .low = 1,
     .doc = "everything as one JSON object: docs/reference/formats.md"},
    {.name = "--ranks-csv", .rare = 1, .value = "FILE", .verbs = DRAW, .writes = CLI_BESIDE, .starts = "rank,ranks,class,", .kind = CLI_NEW_FILE,
     .several = CLI_ONCE, .offset = AT(ranks_csv), .doc = "time by label and memory of every rank, a row each (of a program: of every class)"},
    {.name = "--brief", .verbs = V(RUN) | V(CHECK), .kind = CLI_SET, .beside = "--json --report", .offset = AT(brief), .low = 1,
     .doc = "writes the answer alone, a line"},
    {.name = "--verbose", .verbs = V(RUN), .kind = CLI_SET, .beside = "--json --brief", .offset = AT(verbose), .low = 1,
     .doc = "writes all of the answer, not one screen"},
    {.name = "--link", .verbs = V(RUN), .kind = CLI_SET, .offset = AT(link), .low = 1,
     .doc = "writes a link: the page of serve with this job"},
    {.name = "--timing", .rare = 1, .verbs = V(RUN) | V(PROGRAM_READ) | V(VALIDATE) | V(CALIBRATE), .kind = CLI_SET,
     .offset = AT(timing), .low = 1, .doc = "adds the wall-clock time of the prediction"},
    {.name = "--output", .alias = "-o", .value = "FILE", .verbs = OUTPUT, .writes = CLI_ANSWER, .kind = CLI_PATH, .several = CLI_ONCE,
     .offset = AT(output), .doc = "writes there instead of stdout"},
    {.name = "--output", .alias = "-o", .value = "FILE", .verbs = V(PLATFORM_NEW) | V(PLATFORM_IMPORT), .writes = CLI_ANSWER, .starts = "<?xml",
     .kind = CLI_PATH, .several = CLI_ONCE, .offset = AT(output), .doc = "writes there instead of stdout, over no file that is no XML"},
    {.name = "--output", .alias = "-o", .value = "FILE.svg", .verbs = V(PLATFORM_DRAW), .writes = CLI_ANSWER, .starts = "<svg", .kind = CLI_PATH, .several = CLI_ONCE,
     .offset = AT(output), .doc = "writes there instead of stdout"},
    {.name = "--output", .alias = "-o", .value = "FILE", .verbs = SEARCH, .writes = CLI_BESIDE, .kind = CLI_PATH, .several = CLI_ONCE,
     .offset = AT(output), .doc = "writes the order that was found"},
    {.name = "--output", .alias = "-o", .value = "FILE", .verbs = V(CALIBRATE), .writes = CLI_BESIDE, .starts = "<?xml", .kind = CLI_PATH, .several = CLI_ONCE,
     .offset = AT(output), .doc = "writes the platform with the fitted numbers"},
    {.name = "--help", .alias = "-h", .verbs = ALL, .kind = CLI_SET, .offset = AT(help), .low = 1, .doc = "this text; --help all: every option"},

    /* ---- help itself ---- */
    {.name = "--man", .verbs = V(HELP), .kind = CLI_SET, .offset = AT(man), .low = 1,
     .doc = "as a manual page; all verbs of a command are on its page"},
    {.name = "--completion", .value = "shell", .verbs = V(HELP), .kind = CLI_CHOICE, .offset = AT(shell),
     .choice = cli_shell, .beside = "--man", .doc = "the completion script of a shell"},
    {.name = "--complete", .value = "-- WORD...", .verbs = V(HELP), .kind = CLI_TEXT, .offset = AT(line),
     .beside = "--man --completion --options",
     .doc = "what can stand for the last word behind \"stepsim\", for these scripts"},
    {.name = "--options", .verbs = V(HELP), .kind = CLI_SET, .offset = AT(list_options), .low = 1,
     .beside = "--man --completion",
     .doc = "every option of every verb, a line each: command, verb, job or -, option, alias, value, its kind, which counts of several"},

    /* ---- pictures ---- */
    {.name = "--report", .value = "FILE.html", .verbs = DRAW, .writes = CLI_BESIDE, .starts = "<!doctype html>", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_REPORT]), .section = PICTURES,
     .doc = "one page: answer, timeline, memory, network, inputs"},
    {.name = "--gantt", .value = "FILE.svg", .verbs = DRAW, .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_GANTT]), .section = PICTURES, .doc = "who computes, sends and waits when"},
    {.name = "--gantt", .value = "FILE.svg", .verbs = SEARCH, .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_GANTT]), .needs = "--layouts", .doc = "the orders found, on one time axis"},
    {.name = "--gantt", .value = "FILE.svg", .verbs = ORDERS, .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_GANTT]), .doc = "all of them, one below the other on one time axis"},
    {.name = "--card", .value = "FILE.svg", .verbs = V(RUN), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_CARD]), .section = PICTURES,
     .doc = "one iteration, explained, on one slide"},
    {.name = "--card", .value = "FILE.svg", .verbs = V(COMPARE), .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_CARD]), .beside = "--kineto --nsys",
     .doc = "both iterations, explained, one above the other: stages over time, memory, what the time is lost to"},
    {.name = "--memory", .value = "FILE.svg", .verbs = DRAW, .writes = CLI_BESIDE, .starts = "<svg", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_MEMORY]), .section = PICTURES, .doc = "memory over time, stage by stage"},
    {.name = "--trace", .value = "FILE.json[.gz]", .verbs = DRAW, .writes = CLI_BESIDE, .starts = "{", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_TRACE]), .section = PICTURES, .doc = "for Perfetto and chrome://tracing"},
    {.name = "--kineto-trace", .rare = 1, .value = "FILE.json[.gz]", .verbs = DRAW, .writes = CLI_BESIDE, .starts = "{", .kind = CLI_NEW_FILE, .several = CLI_ONCE,
     .offset = AT(pictures.path[CLI_KINETO]), .section = PICTURES,
     .doc = "the same with the names of PyTorch's profiler, to lay beside a real one; kernels with --level layer"},
    {.name = "--window", .value = "FROM:TO", .verbs = DRAW, .kind = CLI_CALL, .call = cli_read_window,
     .needs = PICTURE_FILES, .section = PICTURES,
     .doc = "draws only this part, as 0s:2s; all: all, not folded"},
    {.name = "--width", .rare = 1, .value = "PX", .verbs = DRAW, .kind = CLI_COUNT, .offset = AT(pictures.width), .low = 600, .high = 20000,
     .needs = "--gantt --card --memory --report", .section = PICTURES, .doc = "width of the pictures; by default each as it needs"},
    {.name = "--width", .rare = 1, .value = "PX", .verbs = V(VALIDATE), .kind = CLI_COUNT, .offset = AT(pictures.width), .low = 600, .high = 20000,
     .needs = "--svg", .doc = "width of the picture"},
    {.name = "--width", .rare = 1, .value = "PX", .verbs = V(SEARCH) | V(SWEEP) | V(CAPACITY), .kind = CLI_COUNT, .offset = AT(pictures.width), .low = 600, .high = 20000,
     .needs = "--svg --report", .doc = "width of the picture"},
    {.name = "--width", .rare = 1, .value = "PX", .verbs = V(COMPARE), .kind = CLI_COUNT, .offset = AT(pictures.width), .low = 600, .high = 20000,
     .needs = "--svg --card --report", .doc = "width of the picture"},
    {.name = "--width", .rare = 1, .value = "PX", .verbs = SEARCH | ORDERS, .kind = CLI_COUNT, .offset = AT(pictures.width), .low = 600, .high = 20000,
     .needs = "--gantt", .doc = "width of the picture"},
    {.name = "--width", .rare = 1, .value = "PX", .verbs = V(PLATFORM_DRAW), .kind = CLI_COUNT, .offset = AT(pictures.width), .low = 600, .high = 20000,
     .doc = "width of the picture; by default as its boxes need"},
    {.name = "--color-by", .rare = 1, .value = "colouring", .verbs = DRAW, .kind = CLI_CHOICE, .offset = AT(pictures.color),
     .choice = color, .needs = "--gantt", .usual = "phase", .section = PICTURES,
     .doc = "boxes of the Gantt chart"},
};
/* clang-format on */
_Static_assert(sizeof table / sizeof table[0] <= CLI_MOST_OPTIONS,
               "given of struct cli_flags has a place for each row");

const struct cli_option *cli_option_at(int i)
{
    return i >= 0 && i < (int)(sizeof table / sizeof table[0]) ? &table[i] : NULL;
}
