/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch script asks its scheduler for: lines "#SBATCH", "#flux:", "#BSUB", "#PBS", "#$". */
#include "base/base.h"
#include "import/import.h"

#define MOST (1 << 20)

/* What a script asks PBS for; 0: it does not tell. */
struct pbs {
    int nodes, gpus, tasks; /* nodes, GPUs of a node, processes of a node */
    int lines;              /* lines for a node in the file of hosts */
};

/* The number that is all of the n bytes at p; 0: none. */
static int number(const char *p, size_t n)
{
    char text[16];
    int64_t found;

    if (n == 0 || n >= sizeof text)
        return 0;
    memcpy(text, p, n);
    text[n] = '\0';
    return ss_parse_i64(text, 1, MOST, &found) ? 0 : (int)found;
}

/* The number of "ngpus=8" among the options behind ":" of a chunk; 0: it has none. */
static int option(const char *p, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (; (p = memchr(p, ':', (size_t)(end - p))) != NULL; p++)
        if ((size_t)(end - p) > n + 1 && !strncmp(p + 1, name, n) && p[1 + n] == '=') {
            const char *value = p + n + 2;
            size_t len = strcspn(value, ":+, \t\r\n");
            return number(value, len < (size_t)(end - value) ? len : (size_t)(end - value));
        }
    return 0;
}

/* Reads chunks joined by "+": nodes add up; GPUs are those of a node where all chunks have equally many. The
 * name of a host is one node. */
static void read_chunks(const char *p, const char *end, struct pbs *out)
{
    struct pbs sum = {0};
    int same = 1;

    for (const char *next; p < end; p = next + 1) {
        next = memchr(p, '+', (size_t)(end - p));
        next = next ? next : end;
        size_t n = strcspn(p, ":+");
        int nodes = number(p, n < (size_t)(next - p) ? n : (size_t)(next - p));
        int gpus = option(p, next, "ngpus"), tasks = option(p, next, "mpiprocs"),
            lines = option(p, next, "ppn");
        gpus = gpus ? gpus : option(p, next, "gpus");
        gpus = gpus ? gpus : option(p, next, "gpu");
        lines = lines ? lines : tasks;
        same &= sum.nodes == 0 || (gpus == sum.gpus && tasks == sum.tasks && lines == sum.lines);
        sum = (struct pbs){sum.nodes + (nodes ? nodes : 1), gpus, tasks, lines};
        if (sum.nodes > MOST)
            return;
    }
    if (!same)
        sum = (struct pbs){.nodes = sum.nodes};
    *out = sum;
}

/* Reads a list of resources, "select=4:ngpus=8,walltime=2:00", up to a blank. Whole nodes of ABCI are "rt_F=4". */
static void read_list(const char *p, struct pbs *out)
{
    static const char *const names[] = {"select=", "nodes=", "rt_F=", "rt_AF=", "rt_HF="};

    for (; *p && !isspace((unsigned char)*p); p += strcspn(p, ", \t\r\n"), p += *p == ',')
        for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
            size_t n = strlen(names[i]);
            if (!strncmp(p, names[i], n))
                read_chunks(p + n, p + n + strcspn(p + n, ", \t\r\n"), out);
        }
}

/* Reads nodes and GPUs as a script asks PBS or Grid Engine for them: "#PBS -l select=4:ngpus=8", "#PBS -l nodes=4:ppn=8:gpus=8", "#$ -l rt_F=4"; of
 * NQSV "#PBS -b 4". Returns 1 where there is a line of that mark. */
static int launch_pbs(const char *text, const char *mark, struct pbs *out)
{
    const size_t length = strlen(mark);
    int asked = 0;

    *out = (struct pbs){0};
    for (const char *line = text, *next; line; line = next ? next + 1 : NULL) {
        next = strchr(line, '\n');
        if (strncmp(line, mark, length) != 0 || !isspace((unsigned char)line[length]))
            continue;
        asked = 1;
        const char *end = line + strcspn(line, "\n");
        for (const char *p = line + length; p + 3 < end; p++) {
            if (!isspace((unsigned char)p[0]) || p[1] != '-')
                continue;
            const char *value = p + 3 + strspn(p + 3, " \t");
            if (p[2] == 'l')
                read_list(value, out);
            else if (p[2] == 'b' && mark[1] == 'P')
                out->nodes = number(value, strcspn(value, " \t\r\n"));
        }
    }
    return asked;
}

/* ---- PBS ---- */

/* The number behind one of the names, "--nodes=4", "--nodes 4", "-N4", "span[ptile=8]", in a line; 0: none. */
static int number_behind(const char *line, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = line; p + n < end; p++)
        if (!strncmp(p, name, n) && (p == line || isspace((unsigned char)p[-1]) || strchr("[\"':", p[-1]))) {
            const char *value = p + n;
            value += *value == '=' || *value == ' ';
            value += !strncmp(value, "gpu:", 4) ? 4 : 0;
            while (value < end && isalpha((unsigned char)*value)) /* gpu:h100:8 */
                value += strcspn(value, ":\n") + 1;
            int found = value < end ? atoi(value) : 0;
            if (found > 0 && found <= 1 << 20)
                return found;
        }
    return 0;
}

/* The number of the first of the names, "--nodes -N", that lines "#SBATCH --nodes=4" have; 0: none has. */
static int directive(const char *text, const char *mark, const char *names)
{
    char name[32];

    for (const char *p = names; *p; p += strcspn(p, " "), p += *p == ' ') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        for (const char *line = text, *next; line; line = next ? next + 1 : NULL) {
            next = strchr(line, '\n');
            int found =
                strncmp(line, mark, strlen(mark)) ? 0 : number_behind(line, line + strcspn(line, "\n"), name);
            if (found)
                return found;
        }
    }
    return 0;
}

int ss_batch_product(int a, int b)
{
    int64_t n = (int64_t)a * b;

    return n <= 1 << 20 ? (int)n : 0;
}

static void take(int *to, int value)
{
    *to = *to ? *to : value;
}

static void read_slurm(const char *text, const char *mark, struct ss_batch *b)
{
    take(&b->nodes, directive(text, mark, "--nodes -N"));
    take(&b->tasks, directive(text, mark, "--ntasks-per-node --tasks-per-node"));
    take(&b->all, directive(text, mark, "--ntasks -n --nslots"));
    take(&b->cpus, directive(text, mark, "--cpus-per-task -c"));
    take(&b->gpus, directive(text, mark, "--gpus-per-node --gres"));
    int each = directive(text, mark, "--gpus-per-task --gpus-per-slot"),
        cards = directive(text, mark, "--gpus -G");
    take(&b->gpus, ss_batch_product(b->tasks, each));
    if (b->nodes && cards % b->nodes == 0)
        take(&b->gpus, cards / b->nodes);
}

void ss_launch_batch(const char *text, const struct ss_cluster *cluster, struct ss_batch *b)
{
    static const char *const marks[][2] = {
        {"#PBS", "PBS_NODEFILE"}, {"#$", "SGE_JOB_HOSTLIST"}, {"#BSUB", "LSB_DJOB_HOSTFILE"}};
    struct pbs pbs;

    *b = (struct ss_batch){.nodes = cluster->nodes, .gpus = cluster->gpus_per_node};
    for (size_t i = 0; i < SS_ARRAY_LEN(marks) && !b->hosts; i++)
        if (launch_pbs(text, marks[i][0], &pbs)) {
            b->hosts = marks[i][1];
            b->host_lines = pbs.lines ? pbs.lines : 1;
        }
    read_slurm(text, "#SBATCH", b);
    read_slurm(text, "#flux:", b);
    take(&b->nodes, directive(text, "#BSUB", "-nnodes"));
    take(&b->tasks, directive(text, "#BSUB", "ptile"));
    take(&b->all, directive(text, "#BSUB", "-n"));
    take(&b->gpus, directive(text, "#BSUB", "num"));
    take(&b->nodes, pbs.nodes);
    take(&b->tasks, pbs.tasks);
    take(&b->gpus, pbs.gpus);
    b->asked = !cluster->gpus_per_node && b->gpus;
    if (!b->gpus && b->tasks > 1)
        b->gpus = b->tasks;
    int of_node = b->tasks ? b->tasks : b->gpus ? b->gpus : b->all ? (int)ss_cluster_gpus(cluster) : 0;
    if (!b->nodes && b->all && of_node && b->all % of_node == 0)
        b->nodes = b->all / of_node;
}
