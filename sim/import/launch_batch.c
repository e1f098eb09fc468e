/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a script for its scheduler, "#SBATCH", "#flux:", "#BSUB", "#PBS", "#PJM", "#$": what they ask for, words that are misspelt, cards that the platform
 * does not have. */
#include "base/base.h"
#include "import/launcher.h"

/* Beginnings of such lines, the program that reads them, and the variable that names its file of hosts. */
static const struct {
    const char *mark, *program, *hosts;
    bool stops; /* the program reads no further than the first command */
} kinds[] = {
    {"#SBATCH", "sbatch", NULL, true},
    {"flux:", "flux", NULL, false},
    {"#BSUB", "bsub", "LSB_DJOB_HOSTFILE", false},
    {"#PBS", "qsub", "PBS_NODEFILE", true},
    {"#PJM", "pjsub", "PJM_O_NODEINF", false},
    {"#$", "qsub", "SGE_JOB_HOSTLIST", false},
};

/* What stands behind the mark of a line; NULL: it has not got it. Flux reads "# FLUX:", too. */
static const char *behind(const char *line, const char *mark)
{
    const size_t n = strlen(mark);
    const char *at = line;

    if (mark[0] != '#' && *line == '#')
        at += 1 + strspn(line + 1, " \t");
    if (strncasecmp(at, mark, n) || (mark[0] == '#' ? strncmp(at, mark, n) != 0 : at == line) ||
        !isspace((unsigned char)at[n]))
        return NULL;
    return at + n;
}

void ss_batch_unread(const char *text, const char *file, struct ss_notes *notes)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    int number = 1;

    for (const char *line = text; line; number++, line = strchr(line, '\n'), line += line != NULL)
        for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++)
            if (behind(line, kinds[k].mark)) {
                ss_note(notes,
                        "%.100s:%d: what %s asks for is not read here: --launch %.100s runs the script and "
                        "reads it",
                        name, number, kinds[k].mark, name);
                return;
            }
}

/* The words of the lines of one kind. A quote that is not closed ends with its line. *late: the first line behind the first command, which does not count; 0:
 * there is none. */
static int read_words(const char *text, size_t kind, struct ss_words *out, int *late, struct ss_error *err)
{
    bool began = false;
    int number = 1;

    for (const char *line = text, *end, *at; *line; line = end + (*end == '\n'), number++) {
        const char *first = line + strspn(line, " \t\r\n");
        struct ss_error open = {0};
        size_t i = out->n;
        end = line + strcspn(line, "\n");
        began |= kinds[kind].stops && first < end && *first != '#';
        if ((at = behind(line, kinds[kind].mark)) == NULL)
            continue;
        *late = began && !*late ? number : *late;
        if (began)
            continue;
        int rc = ss_args_read(out, at, at < end ? (size_t)(end - at) : 0, NULL, &open);
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

static void fill(struct ss_batch *b, const struct ss_words *words, size_t kind,
                 const struct ss_launcher_layer_said *said)
{
    const char *hosts = kinds[kind].hosts;
    const int64_t *n = said->count;

    take(&b->nodes, n[SS_COUNT_NODES]);
    take(&b->tasks, n[SS_COUNT_NODE]);
    take(&b->all, n[SS_COUNT_ALL]);
    take(&b->cpus, n[SS_COUNT_CPUS]);
    take(&b->gpus, ss_launcher_gpus(said, b->nodes));
    b->slurm |= kind == 0;
    if (!hosts || b->hosts)
        return;
    b->hosts = hosts;
    b->host_lines = 0;
    take(&b->host_lines, n[SS_COUNT_LINES] ? n[SS_COUNT_LINES] : 1);
    for (size_t i = 0; i < words->n; i++)
        if (!strncmp(words->w[i].text, "rt_", 3))
            snprintf(b->resource, sizeof b->resource, "%.*s", (int)strcspn(words->w[i].text, "="),
                     words->w[i].text);
}

static int read_kind(size_t kind, const char *text, const char *script, const struct ss_cluster *cluster,
                     struct ss_notes *notes, struct ss_batch *b, struct ss_error *err)
{
    const char *slash = strrchr(script, '/');
    struct ss_words words = {0};
    struct ss_launcher_layer_said said;
    int late = 0, rc = read_words(text, kind, &words, &late, err);

    SS_THEN(rc, ss_launcher_lines(&words, kinds[kind].program, script, &said, err));
    if (!rc && words.n)
        fill(b, &words, kind, &said);
    script = slash ? slash + 1 : script;
    if (!rc && late && !strstr(text, "<<")) /* which may write another script */
        ss_note(notes, "%s:%d: %s reads no line %s behind the first command", script, late,
                kinds[kind].program, kinds[kind].mark);
    if (!rc)
        ss_launcher_cards(&words, 0, words.n, cluster, script, notes);
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
    if (!b->tasks && b->hosts && b->hosts[0] == 'L') /* of LSF all are processors */
        of_node = 0;
    if (!b->nodes && b->all && of_node && b->all % of_node == 0)
        b->nodes = b->all / of_node;
    return SS_OK;
}
