/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch script asks its scheduler for: lines "#SBATCH", "#flux:", "#BSUB", "#PBS", "#$". */
#include "base/base.h"
#include "import/launcher.h"

/* Reads nodes and GPUs as a script asks PBS or Grid Engine for them: "#PBS -l select=4:ngpus=8", "#PBS -l nodes=4:ppn=8:gpus=8", "#$ -l rt_F=4"; of
 * NQSV "#PBS -b 4". Returns 1 where there is a line of that mark. */
static int launch_pbs(const char *text, const char *mark, struct ss_pbs *out)
{
    const size_t length = strlen(mark);
    int asked = 0;

    *out = (struct ss_pbs){0};
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
                ss_pbs_list(value, out);
            else if (p[2] == 'b' && mark[1] == 'P')
                out->nodes = atoi(value) > 0 && atoi(value) <= 1 << 20 ? atoi(value) : 0;
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
    struct ss_pbs pbs;

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
