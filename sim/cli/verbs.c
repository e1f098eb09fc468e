/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of every command and verb. */

#include "cli/verbs.h"

#define JOB_USAGE "--platform NAME|FILE --model NAME|FILE JOB-OPTION..."
#define SHAPE_USAGE "--pp RANKS --microbatches M"

static const struct cli_verb_row rows[CLI_VERB_COUNT] = {
    [CLI_RUN] = {1, JOB_USAGE " [OPTION...]", "", NULL},
    [CLI_SEARCH] = {1, "JOB-OPTION... [--vary FLAG=VALUES...] [OPTION...]", "", NULL},
    [CLI_SWEEP] = {1, "JOB-OPTION... --vary FLAG=VALUE,VALUE... [OPTION...]", "", NULL},
    [CLI_COMPARE] = {1, "[JOBFILE|RESULT...] [JOB-OPTION...] [OPTION...]", "", "file"},
    [CLI_EXPLAIN] = {1, JOB_USAGE " [OPTION...]", "", NULL},
    [CLI_CHECK] = {1, "JOB-OPTION... MEASURED [OPTION...]", "", NULL},
    [CLI_SHARE] = {1, "JOBFILE[@NODES] JOBFILE[@NODES]... [JOB-OPTION...] [OPTION...]", "", "file"},
    [CLI_CAPACITY] = {1, "JOB-OPTION... --tokens N [--nodes A..B] [--deadline TIME|--budget USD] [OPTION...]",
                      "", NULL},
    [CLI_SERVE] = {1, "[JOB-OPTION...] [--port N]", "", NULL},
    [CLI_PLAN] = {1, JOB_USAGE " [OPTION...]", "", NULL},
    [CLI_IMPORT] = {1, "FILE|--launch SCRIPT [ARGUMENT...]|JOB-OPTION... [OPTION...]", "", "file"},
    [CLI_PROGRAM_WRITE] = {1, "JOB-OPTION... [OPTION...]",
                           "lowers a job (options of \"stepsim run\") and prints its program", NULL},
    [CLI_PROGRAM_READ] =
        {0, "FILE [OPTION...]",
         "replays a program and prints the time by class; a deadlock exits 1 and names the blocked events",
         "file"},
    [CLI_PROGRAM_CHECK] = {0, "FILE [--json]", "reads a program and proves that it can run", "file"},
    [CLI_SCHEDULE_LIST] = {0, "[--json]",
                           "what is known: source, conditions, bubble and activations in flight", NULL},
    [CLI_SCHEDULE_SHOW] = {0, "NAME|FILE [SHAPE] [OPTION...]",
                           "the order as a chart, with free communication", "schedules"},
    [CLI_SCHEDULE_WRITE] = {0, "NAME|FILE [SHAPE] [--csv|--text] [-o FILE]",
                            "the order as a file: CSV (or by the ending of FILE), or text", "schedules"},
    [CLI_SCHEDULE_CHECK] =
        {0, "FILE... [--json]",
         "proves that each action is there once, that the order can run, and what stays in "
         "memory; errors name row and column, a deadlock its cycle",
         "file"},
    [CLI_SCHEDULE_COMPARE] =
        {0, SHAPE_USAGE " [OPTION...]",
         "time, bubble, activations, sends and exposed communication of schedules side by "
         "side",
         NULL},
    [CLI_SCHEDULE_COMPARE_JOB] = {1, "JOB-OPTION... [OPTION...]", "", NULL},
    [CLI_SCHEDULE_SEARCH] =
        {0, SHAPE_USAGE " [OPTION...]",
         "a better order for given stage times and a memory cap, and how far it can be from "
         "the best",
         NULL},
    [CLI_SCHEDULE_SEARCH_JOB] = {1, "JOB-OPTION... [OPTION...]", "", NULL},
    [CLI_PLATFORM_SHOW] = {0, "NAME|FILE [OPTION...]",
                           "nodes, links and the card; --xml writes the platform with its current values",
                           "platforms"},
    [CLI_PLATFORM_DRAW] =
        {0, "NAME|FILE [OPTION...]",
         "a picture (SVG) of nodes, switches and links with their rates; equal nodes are drawn once",
         "platforms"},
    [CLI_PLATFORM_CHECK] =
        {0, "FILE... [--json]",
         "finds what is wrong with a file: structure, names, units, ranges, routes; then lets "
         "SimGrid load it",
         "file"},
    [CLI_PLATFORM_NEW] =
        {0, "--card NAME|FILE --nodes N [OPTION...]",
         "writes a cluster of a card as a commented file to edit: rails, a fat tree, a dragonfly", NULL},
    [CLI_PLATFORM_IMPORT] = {0, "FILE... [OPTION...]",
                             "makes a platform from files that nodes wrote of themselves: hwloc's \"lstopo "
                             "node.xml\", the text of "
                             "\"nvidia-smi topo -m\", or NCCL's XML (NCCL_TOPO_DUMP_FILE=node.xml, a cloud's "
                             "NCCL_TOPO_FILE). Several "
                             "files are several nodes",
                             "file"},
    [CLI_VALIDATE] = {0, "[TABLE...] [OPTION...]", "", "file"},
    [CLI_CALIBRATE] = {0, "--platform NAME|FILE MEASUREMENT... [OPTION...]", "", NULL},
    [CLI_DOCTOR] = {0, "[--json]", "", NULL},
    [CLI_LIST] = {0, "[models|platforms|cards|stacks|schedules|props] [--json]", "", "lists"},
    [CLI_HELP] = {0, "[COMMAND [VERB]] [all] [OPTION...]", "", "commands"},
    [CLI_VERSION] = {0, "[--json]", "", NULL},
};

/* clang-format off */
static const struct cli_command commands[] = {
    {"run", "predict one training iteration: time, where it goes, memory",
     "Predicts one training iteration: how long it takes, where the time goes, how much memory every pipeline stage needs, and "
     "whether it fits. The job is described in Megatron-LM's own flags.",
     "less than a second, also for 16,384 GPUs",
     "0 it fits or is near the limit\n1 out of memory or deadlock\n2 usage\n3 bad input or a configuration that the framework refuses\n"
     "4 outside --tolerance",
     "stepsim run --platform h800 --nodes 4 --model llama3.1-8b --bf16 \\\n"
     "    --tp 2 --pp 2 --seq 8192 --mbs 1 --gbs 1024 --sequence-parallel \\\n"
     "    --use-distributed-optimizer --tp-comm-overlap --overlap-grad-reduce \\\n"
     "    --overlap-param-gather --measured 33070.9ms"},
    {"search", "the best layout of a job, on each number of nodes",
     "Searches the layouts that the framework takes: tensor, context, pipeline and expert parallelism, virtual stages, micro batch, "
     "recompute (nothing, modules, as few layers as fit, or all) and sharding; --axes adds switches and offload. What the job "
     "gives stays as it is, so --gbs, --seq and --model must be given.\n"
     "Reports the fastest layout that fits with certainty, those too close to call, the best trade-offs of time against memory, why the "
     "rest were refused, and what helps the best beside its layout.\n"
     "Tensor parallelism brings sequence parallelism along, and data parallelism the distributed optimizer, unless the job says "
     "otherwise. Experts are split by tensor parallelism or left whole (--etp 1). The first and last stage have other layers where "
     "the stages do not divide them.",
     "seconds for a dense model, a minute for a mixture; --journal keeps what is done",
     "0 one fits or is near the limit\n1 none does\n2 usage\n3 bad input, or all are refused",
     "stepsim search --platform h800 --vary nodes=4..16 --model llama3.1-70b \\\n"
     "    --bf16 --seq 8192 --gbs 1024"},
    {"sweep", "a job under all combinations of some flags' values, side by side",
     "Predicts a job under every combination of some flags' values, and prints them side by side: time, MFU, tokens a second and "
     "GPU, bubble, memory, verdict. What Megatron refuses has its reason in the row. The lines below the table name the fastest that "
     "fits, and the one that gets most from each GPU.\n"
     "A row \"near limit\" is predicted to fit, but is not sure to, or fits so tightly that the allocator gives back what it caches, "
     "which makes the run slower.",
     "a few milliseconds a row",
     "0 one fits or is near the limit\n1 none does\n2 usage\n3 bad input, or all are refused",
     "stepsim sweep --job 70b-14 --platform h800 --vary nodes=8,16 --vary vp=1,2,5"},
    {"compare", "which term of time and memory moves between jobs, by how much",
     "Predicts up to eight jobs and prints their time by label and by kernel, and their memory by class, side by side. Differences "
     "are against the first job; they sum to the difference of the totals. A side is a job file, or what \"stepsim run --json\" wrote, "
     "with the JOB-OPTIONs behind it. A --with makes a side of the first one and its own words. Measured pairs of runs decide which "
     "differences are too close to call.",
     "well below a second",
     "0 compared\n2 usage\n3 bad input, or the first side or all others are refused",
     "stepsim compare yesterday.json today.args\n"
     "stepsim compare run.json --kineto rank0.json.gz\n"
     "stepsim compare --job 70b-14 --platform h800 --svg bars.svg \\\n"
     "    --with \"--scale nic.bandwidth=2x\" \\\n"
     "    --with \"--without overlap-grad-reduce --without overlap-param-gather\""},
    {"explain", "why a job is slow, and the changes that help most",
     "Predicts a job and says where its time goes beside an ideal, the model's FLOP at the card's peak: slower kernels, recompute, "
     "communication that nothing hides, bubble, waiting. It says how many per cent of time one per cent more of FLOP/s, of each "
     "bandwidth, latency and launch speed is worth. It names the five changes that help most, each simulated, with memory and "
     "verdict, and what those together give that help one after the other.",
     "less than a second for most jobs: about 50 simulations",
     "0 it fits or is near the limit\n1 out of memory or deadlock\n2 usage\n3 bad input or a configuration that the framework refuses",
     "stepsim explain --job 70b-14 --platform h800"},
    {"check", "is a run as fast as such a job is, and if not, why",
     "Compares what a run took with its prediction. MEASURED is --log with lines that the training printed (Megatron-LM, "
     "Megatron-Bridge, NeMo, GPT-NeoX, torchtitan, nanotron, DeepSpeed, Trainer), one figure, or --table with a row for each layout. "
     "The verdict is \"as fast as such a job is\" inside the error band, else slower or faster than predicted; memory likewise. "
     "For a slower or faster run it ranks suspects, each simulated: a switch that does not act, a slow link, GPU, NIC or "
     "host, another batch, precision or count of FLOP. Then it says what to measure next.",
     "less than a second",
     "0 as fast as such a job is (or takes as much memory, where only memory is told)\n2 usage\n"
     "3 bad input or a configuration that the framework refuses\n5 slower (or more memory)\n6 faster (or less memory)\n"
     "7 no verdict: the figures contradict each other or the card\nWith --table the lowest of the rows that is not 0",
     "stepsim check --platform h100 --nodes 16 --model llama3.1-8b --bf16 --tp 2 \\\n"
     "    --mbs 1 --gbs 256 --seq 8192 --tflops 410"},
    {"share", "jobs on one cluster at the same time, which share its links",
     "Runs jobs alone and beside each other on nodes of one cluster, in one replay. Prints how much each is slowed down, and which "
     "shared link is used most. JOBFILE@0-3,8 gives a job its nodes, as --on-nodes in the file does; else a job has the nodes behind "
     "those of the job before. JOB-OPTIONs hold for all jobs, as --platform and --cluster-nodes do. Iterations follow each other "
     "until several of the longest job are over; --starts says at how many different times the jobs begin.",
     "about a second for jobs of a few nodes",
     "0 done\n1 deadlock\n2 usage\n3 bad input or a configuration that the framework refuses",
     "stepsim share 8b.args@0,2 8b.args@1,3 --set ss.nodes_per_leaf=2 \\\n"
     "    --set ss.oversubscription=4"},
    {"capacity", "how many nodes, days, GPU-hours, money and energy a training takes",
     "Plans a training on so many tokens for each number of nodes (--nodes 16..256: each twice the one before; default 2..4096): "
     "the best layout of a search, or the job's own, then days with failures and checkpoints, GPU-hours, money and energy, each with "
     "the range of 90 % of such jobs.\n"
     "With --deadline it names the cheapest number of nodes of the whole range, with --budget alone the fastest; without both, the "
     "most nodes at which cost stays within 10 % of the cheapest. A global batch that the GPUs do not divide becomes a near one, which "
     "is said. Prices, power, failures and storage are props of the platform (--set ss.mtbf=50000h): docs/guide/capacity.md.",
     "milliseconds with --layout given; a search takes seconds to a minute a platform; --journal keeps what is done",
     "0 a number of nodes is within what was asked\n1 none is\n2 usage, or an amount that is a unit off\n3 bad input, or all are refused",
     "stepsim capacity --platform h100 --model llama3.1-70b --bf16 --seq 8192 \\\n"
     "    --gbs 1024 --tokens 1T --deadline 30d --nodes 16..256 --svg curve.svg\n"
     "stepsim capacity --job 70b-14 --platform h800 --nodes 8,16,24 --layout given \\\n"
     "    --tokens 100B"},
    {"serve", "a web page: move a job by hand, and the prediction follows",
     "Serves a page to the browsers of this machine, and to no other. Model, cluster and layout are controls; time, breakdown, memory, "
     "timeline and the values of one flag follow; a second job can stand beside the first. The address of the page holds the whole job, "
     "and the page writes it as a job file. The page begins with the JOB-OPTIONs. docs/reference/serve.md lists addresses and limits.",
     "each answer milliseconds, until Ctrl-C",
     "0 it was ended (Ctrl-C)\n2 usage\n3 bad input, the port is taken, or built without libmicrohttpd",
     "stepsim serve --job 70b-14"},
    {"plan", "groups, layers of every stage and chunk, microbatches, memory",
     "Shows what runs where: process groups with their ranks, layers of every stage and chunk, microbatches, warm-up, and memory by "
     "stage. A plan that does not fit the card is no error here. With --steps: which operators and collectives a stage's slots are "
     "made of, in order, with times.",
     "milliseconds",
     "0 it can run\n2 usage\n3 bad input or a configuration that the framework refuses",
     "stepsim plan --platform h800 --nodes 8 --model llama3.1-70b --bf16 \\\n"
     "    --tp 4 --pp 8 --cp 2 --num-layers-per-virtual-pipeline-stage 2 \\\n"
     "    --seq 8192 --mbs 1 --gbs 1024 --sequence-parallel \\\n"
     "    --use-distributed-optimizer"},
    {"import", "a job file made of a launch script, a configuration or flags",
     "Prints a job as a file of flags for \"stepsim run --job\", one a line, each with the file and line that it is from. The job is "
     "what a launch script starts (--launch), what a configuration of a framework asks for, or an earlier result. Overridden flags are "
     "left out. Flags without effect and assumptions are comments, with the reason. Refused flags stay, with the reason behind them.",
     "milliseconds, plus the launch script's own time",
     "0 done\n1 some flags are refused\n2 usage\n3 bad input",
     "stepsim import --env WORLD_SIZE=2 --launch run.sh -o mine.args\n"
     "stepsim run --platform h800 --job mine.args"},
    {"program", "write, replay or check the simulated program as text",
     "The program is the body of one iteration: for each class of equal ranks its computations, transfers, waits and allocations. It "
     "knows nothing of models; docs/reference/formats-program.md is its grammar. FILE may be - for stdin.",
     "milliseconds, or seconds for a large program of every rank",
     "0 it can run\n1 a deadlock\n2 usage\n3 bad input",
     "stepsim program write --platform h800 --nodes 1 --model llama3.1-8b --bf16 \\\n"
     "    --tp 4 --pp 2 --seq 4096 --mbs 1 --gbs 8 -o job.prog\n"
     "stepsim program read job.prog --engine simgrid\n"
     "stepsim program check job.prog"},
    {"schedule", "show, check, compare and search pipeline schedules",
     "A pipeline schedule is an order of slots for each rank: F, B or I and W of a microbatch and chunk. FILE is the CSV of PyTorch's "
     "pipelining or our text form (docs/reference/formats-schedule.md); \"stepsim run --schedule FILE\" replays it on a cluster. "
     "docs/guide/schedules.md tells what each schedule costs.\n"
     "SHAPE is --pp RANKS --microbatches M [--vp CHUNKS] [--group N]; JOB-OPTIONs are those of \"stepsim run\".",
     "less than a second; search a few seconds",
     "0 it can run\n1 a schedule that deadlocks\n2 usage\n3 bad input, a schedule that refuses the numbers, or no order under the cap",
     "stepsim schedule list\n"
     "stepsim schedule show zb-v --pp 4 --microbatches 8\n"
     "stepsim schedule write 1f1b --pp 4 --microbatches 8 -o 1f1b.csv\n"
     "stepsim schedule check 1f1b.csv\n"
     "stepsim schedule compare --schedules 1f1b,interleaved:2,zb-h1 --pp 8 \\\n"
     "    --microbatches 16\n"
     "stepsim schedule compare --job 70b-14 --platform h800\n"
     "stepsim schedule search --pp 4 --microbatches 8 --times 1,1.2,0.8 --cap 4 \\\n"
     "    -o mine.csv\n"
     "stepsim schedule search --job 70b-14 --platform h800 --cap 60GiB"},
    {"platform", "write, import, show, draw or check a cluster description",
     "A platform is a SimGrid XML in which every GPU is a host; docs/reference/formats-platform.md lists the props that describe a card.",
     "milliseconds",
     NULL,
     "stepsim platform show h800 --nodes 4\n"
     "stepsim platform draw h800 --nodes 64 -o h800.svg\n"
     "lstopo node.xml && stepsim platform import node.xml -o mine.xml\n"
     "nvidia-smi -L > node.txt && nvidia-smi topo -m >> node.txt && \\\n"
     "    stepsim platform import node.txt --nodes 4 -o mine.xml\n"
     "stepsim platform new --card h100 --nodes 64 --nic 400Gbps \\\n"
     "    --oversubscription 2 -o mine.xml\n"
     "stepsim platform check mine.xml\n"
     "stepsim run --platform mine.xml --nodes 2 --model llama3.1-8b --bf16 --tp 8 \\\n"
     "    --mbs 1 --gbs 64 --seq 4096"},
    {"validate", "hold predictions against tables of measured runs",
     "Predicts every run of tables of measured runs. Prints the error of each, then mean, median, worst and bias by model, GPU, "
     "precision, source and outcome. A TABLE is a CSV file with the columns of docs/reference/formats.md, or a name in validation/ "
     "(runs, foreign, foreign-2, vtrain, hybrid; nanotron, alephalpha, torchtitan-memory); runs if none is given. A large error is "
     "no failure here.",
     "about a second a thousand runs",
     "0 done\n2 usage\n3 bad input\n4 a prediction moved (--against)",
     "stepsim validate mine.csv --svg mine.svg"},
    {"calibrate", "fit numbers of a platform or a stack to measured runs",
     "Fits numbers of a platform or a stack to measurements, by least squares of the relative errors within bounds. Prints the errors "
     "before and after, each number with its standard deviation and correlations, and which numbers the measurements do not determine. "
     "A MEASUREMENT is --rows, --nccl, --microbench or --log with --job. --microbench alone, without --platform, fits nothing and "
     "compares every row with its prediction.",
     "seconds to minutes, by the number of rows and of --prop",
     NULL,
     "stepsim calibrate --platform h800 --rows runs --leave-out model -o mine.xml \\\n"
     "    --prop ss.gemm.efficiency.fp8=0.4:0.8 --prop ss.fabric.efficiency"},
    {"doctor", "what works here: data, engines, libraries, and a self-test",
     "Looks for the data and the modules, prints the versions of libraries, whether launch scripts can run in a sandbox, and the "
     "number of cores. Then it predicts a job on both engines, whose times must agree to a billionth. A missing part that predictions "
     "need is marked wrong; one that a single command or option needs is marked without.",
     "less than a second",
     "0 predictions can run\n1 something that they need is wrong\n2 usage", "stepsim doctor"},
    {"list", "names of models, platforms, cards, stacks and schedules",
     "Prints the names that --model, --platform, --stack and --schedule know. Each of these flags takes a path to a file of the same kind as "
     "well. Of a model it tells parameters, layers x hidden size, and the vocabulary. Cards are what platforms name by ss.card.base. Props "
     "are the values that --set changes.",
     "milliseconds", NULL, "stepsim list models"},
    {"help", "help of all commands, of one command, or of one of its verbs",
     "Prints the help of all commands, of one, or of one verb. The word \"all\" behind them adds the rare options. Manual pages and shell "
     "completion are made from the same tables.",
     NULL, NULL, "stepsim help schedule search"},
    {"version", "the program's version", "Prints the version of the program.", NULL, NULL, "stepsim version --json"},
};
/* clang-format on */
#define NCOMMANDS ((int)(sizeof commands / sizeof commands[0]))

const struct cli_verb_row *cli_verb_row(int verb)
{
    return &rows[verb];
}

const struct cli_command *cli_command_at(int i)
{
    return i >= 0 && i < NCOMMANDS ? &commands[i] : NULL;
}

const struct cli_command *cli_command_find(const char *name)
{
    for (int i = 0; i < NCOMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static const char *const names[][2] = {
#define X(symbol, command, verb, function, reads) {command, verb},
    CLI_VERB_LIST(X)
#undef X
};

const char *cli_verb_command(int verb)
{
    return names[verb][0];
}

const char *cli_verb_name(int verb)
{
    return names[verb][1];
}

int cli_verb_find(const char *command, const char *name)
{
    for (int v = 0; v < CLI_VERB_COUNT; v++)
        if (!strcmp(cli_verb_command(v), command) && (!name || !strcmp(cli_verb_name(v), name)))
            return v;
    return -1;
}

int cli_verb_sibling(int verb)
{
    for (int v = verb > 0 ? verb - 1 : 0; v <= verb + 1 && v < CLI_VERB_COUNT; v++)
        if (v != verb && !strcmp(cli_verb_command(v), cli_verb_command(verb)) &&
            !strcmp(cli_verb_name(v), cli_verb_name(verb)))
            return v;
    return -1;
}

int cli_verb_has_job(int verb)
{
    return rows[verb].job;
}
