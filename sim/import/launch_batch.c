/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a script for its scheduler, "#SBATCH", "#flux:", "#BSUB", "#PBS", "#$": what they ask for, words that are misspelt, cards that the platform
 * does not have. */
#include "base/base.h"
#include "import/launcher.h"

/* Beginnings of such lines, the program that reads them, and the variable that names its file of hosts. */
static const struct {
    const char *mark, *program, *hosts;
    bool stops; /* the program reads no further than the first command */
} kinds[] = {
    {"#SBATCH", "sbatch", NULL, true},
    {"#flux:", "flux", NULL, false},
    {"#BSUB", "bsub", "LSB_DJOB_HOSTFILE", false},
    {"#PBS", "qsub", "PBS_NODEFILE", true},
    {"#$", "qsub", "SGE_JOB_HOSTLIST", false},
};

/* The words of the lines of one kind. A quote that is not closed ends with its line. */
static int read_words(const char *text, size_t kind, struct ss_words *out, struct ss_error *err)
{
    const size_t n = strlen(kinds[kind].mark);
    int number = 1;

    for (const char *line = text, *end; *line; line = end + (*end == '\n'), number++) {
        const char *first = line + strspn(line, " \t\r\n");
        struct ss_error open = {0};
        size_t i = out->n;
        end = line + strcspn(line, "\n");
        if (kinds[kind].stops && first < end && *first != '#')
            break;
        if (strncmp(line, kinds[kind].mark, n) || !isspace((unsigned char)line[n]))
            continue;
        int rc = ss_args_read(out, line + n, (size_t)(end - line) - n, NULL, &open);
        SS_NEED(rc != SS_ERR_NOMEM, err);
        for (; i < out->n; i++)
            out->w[i].line = number;
    }
    return SS_OK;
}

int ss_batch_product(int a, int b)
{
    int64_t n = (int64_t)a * b;

    return n <= 1 << 20 ? (int)n : 0;
}

static void take(int *to, int64_t value)
{
    *to = *to || value > 1 << 20 ? *to : (int)value;
}

static void fill(struct ss_batch *b, const struct ss_launcher_layer_said *said, const char *hosts)
{
    const int64_t *n = said->count;

    take(&b->nodes, n[SS_COUNT_NODES]);
    take(&b->tasks, n[SS_COUNT_NODE]);
    take(&b->all, n[SS_COUNT_ALL]);
    take(&b->cpus, n[SS_COUNT_CPUS]);
    take(&b->gpus, ss_launcher_gpus(said, b->nodes));
    if (!hosts || b->hosts)
        return;
    b->hosts = hosts;
    b->host_lines = 0;
    take(&b->host_lines, n[SS_COUNT_LINES] ? n[SS_COUNT_LINES] : 1);
}

static int read_kind(size_t kind, const char *text, const char *script, const struct ss_cluster *cluster,
                     struct ss_notes *notes, struct ss_batch *b, struct ss_error *err)
{
    const char *slash = strrchr(script, '/');
    struct ss_words words = {0};
    struct ss_launcher_layer_said said;
    int rc = read_words(text, kind, &words, err);

    SS_THEN(rc, ss_launcher_lines(&words, kinds[kind].program, script, &said, err));
    if (!rc && words.n)
        fill(b, &said, kinds[kind].hosts);
    if (!rc)
        ss_launcher_cards(&words, 0, words.n, cluster, slash ? slash + 1 : script, notes);
    ss_words_free(&words);
    return rc;
}

int ss_launch_batch(const char *text, const char *script, const struct ss_cluster *cluster,
                    struct ss_notes *notes, struct ss_batch *b, struct ss_error *err)
{
    *b = (struct ss_batch){.nodes = cluster->nodes, .gpus = cluster->gpus_per_node};
    for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++)
        SS_TRY(read_kind(k, text, script, cluster, notes, b, err));
    b->asked = !cluster->gpus_per_node && b->gpus;
    if (!b->gpus && b->tasks > 1)
        b->gpus = b->tasks;
    int of_node = b->tasks ? b->tasks : b->gpus ? b->gpus : b->all ? (int)ss_cluster_gpus(cluster) : 0;
    if (!b->nodes && b->all && of_node && b->all % of_node == 0)
        b->nodes = b->all / of_node;
    return SS_OK;
}
