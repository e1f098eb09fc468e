/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix that "nvidia-smi topo -m" prints: NVLinks between GPUs, and what is between GPUs and NICs. */
#include "platform/node_facts.h"

#define WORD 48
#define MAX_COLUMNS 1100

struct topo {
    const char *file;
    int line; /* that is read */
    int ngpus, nnics, rows;
    char near[MAX_COLUMNS]; /* by NIC: a PCIe switch joins it to some GPU */
    struct ss_node_facts *facts;
    struct ss_error *err;
};

/* The next word of a line, without the codes that underline it on a terminal; false: there is none. */
static bool next_word(const char **at, char word[WORD])
{
    size_t n = 0;

    for (; **at != 0 && **at != '\n'; ++*at) {
        if (**at == 0x1b) {
            while ((*at)[1] != 0 && (*at)[1] != '\n' && !isalpha((unsigned char)(*at)[0]))
                ++*at;
            continue;
        }
        if (isspace((unsigned char)**at) && n > 0)
            break;
        if (!isspace((unsigned char)**at) && n + 1 < WORD)
            word[n++] = **at;
    }
    word[n] = 0;
    return n > 0;
}

/* "GPU0" with another column behind it: the row of GPU 0 has "X" there. */
static bool is_header(const char *line)
{
    char word[WORD];

    return next_word(&line, word) && strcmp(word, "GPU0") == 0 && next_word(&line, word) &&
           strcmp(word, "X") != 0;
}

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');

    return end != NULL ? end + 1 : NULL;
}

bool ss_topo_is(const char *text)
{
    for (const char *at = text; at != NULL; at = next_line(at))
        if (is_header(at))
            return true;
    return false;
}

static int fail(const struct topo *t, int code, const char *what, const char *word)
{
    return ss_fail(t->err, code, t->file, t->line,
                   "%s \"%.40s\"" SS_HINT "write the file with 'nvidia-smi topo -m' once more, whole", what,
                   word);
}

/* GPUs come first, then NICs, whose names may be any. */
static int read_header(struct topo *t, const char *line)
{
    char word[WORD], want[WORD];

    while (next_word(&line, word) && strcmp(word, "CPU") != 0) {
        snprintf(want, sizeof(want), "GPU%d", t->ngpus);
        if (t->nnics == 0 && strcmp(word, want) == 0)
            t->ngpus++;
        else if (strncmp(word, "GPU", 3) == 0)
            return fail(t, SS_ERR_INPUT, "GPUs out of their order:", word);
        else
            t->nnics++;
        if (t->nnics >= MAX_COLUMNS || t->ngpus > SS_MAX_MESH_GPUS)
            return fail(t, SS_ERR_UNSUPPORTED, "too many columns at", word);
    }
    t->facts->ngpus = t->ngpus;
    return SS_OK;
}

static int read_cell(struct topo *t, int row, int column, const char *word)
{
    static const char paths[] = " SYS SOC NODE PHB PXB PIX PSB ";
    char *end, path[WORD + 2];
    long links = strncmp(word, "NV", 2) == 0 ? strtol(word + 2, &end, 10) : -1;

    snprintf(path, sizeof(path), " %s ", word);
    if (column < t->ngpus && links > 0 && links <= 1000 && *end == 0 && column != row)
        t->facts->nvlink.pair[row * SS_MAX_MESH_GPUS + column] = (double)links;
    else if ((column == row) != (strcmp(word, "X") == 0) || (column != row && strstr(paths, path) == NULL))
        return fail(t, SS_ERR_INPUT, "no cell of the matrix:", word);
    if (column >= t->ngpus && (strcmp(word, "PIX") == 0 || strcmp(word, "PXB") == 0))
        t->near[column - t->ngpus] = 1;
    return SS_OK;
}

static int read_row(struct topo *t, const char *line)
{
    char word[WORD], want[WORD];
    int rc = SS_OK;

    snprintf(want, sizeof(want), "GPU%d", t->rows);
    if (t->rows >= t->ngpus || !next_word(&line, word) || strcmp(word, want) != 0)
        return SS_OK;
    for (int c = 0; c < t->ngpus + t->nnics && !rc; c++)
        rc = next_word(&line, word) ? read_cell(t, t->rows, c, word)
                                    : fail(t, SS_ERR_INPUT, "the row ends too early:", want);
    t->rows++;
    return rc;
}

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)" of nvidia-smi -L; "GPU 0,1: ..." is as others sum it up. */
static int read_name(struct topo *t, const char *line)
{
    const char *at = line + strspn(line, " \t"), *end;
    char name[sizeof(t->facts->model)];

    if (strncmp(at, "GPU ", 4) != 0 || !isdigit((unsigned char)at[4]))
        return SS_OK;
    at += 4 + strspn(at + 4, "0123456789, ");
    if (*at != ':')
        return SS_OK;
    at += 1 + strspn(at + 1, " \t");
    end = at + strcspn(at, "(\r\n");
    while (end > at && end[-1] == ' ')
        end--;
    snprintf(name, sizeof(name), "%.*s", (int)(end - at), at);
    if (t->facts->model[0] != 0 && strcmp(t->facts->model, name) != 0)
        return ss_fail(t->err, SS_ERR_UNSUPPORTED, t->file, t->line,
                       "GPUs of two models: \"%.80s\" and \"%.80s\"" SS_HINT
                       "one platform has one kind of card",
                       t->facts->model, name);
    ss_copy(t->facts->model, sizeof(t->facts->model), name);
    return SS_OK;
}

static int finish(struct topo *t)
{
    struct ss_node_facts *f = t->facts;
    int near = 0;

    if (t->rows < t->ngpus)
        return fail(t, SS_ERR_INPUT, "rows are missing from", t->rows == 0 ? "GPU0" : "the last GPUs");
    for (int a = 0; a < t->ngpus; a++)
        for (int b = 0; b < a; b++)
            if (f->nvlink.pair[a * SS_MAX_MESH_GPUS + b] != f->nvlink.pair[b * SS_MAX_MESH_GPUS + a])
                return ss_fail(t->err, SS_ERR_INPUT, t->file, 0,
                               "GPU%d and GPU%d have unlike NVLinks in the two directions" SS_HINT
                               "is the matrix whole?",
                               b, a);
    for (int i = 0; i < t->nnics; i++)
        near += t->near[i];
    f->nnics = near > 0 ? near : t->nnics;
    f->listed_nics = t->nnics;
    f->memory = ss_model_memory(f->model);
    f->nvlink.given = t->ngpus > 1;
    f->nvlink.counted = 1;
    if (t->ngpus > 1)
        ss_nvlink_sum(&f->nvlink, t->ngpus);
    return SS_OK;
}

int ss_node_facts_topo(const char *text, const char *file, struct ss_node_facts *out, struct ss_error *err)
{
    struct topo t = {.file = file, .facts = out, .err = err};
    int rc = SS_OK;

    memset(out, 0, sizeof(*out));
    for (const char *at = text; at != NULL && !rc; at = next_line(at)) {
        t.line++;
        if (t.ngpus > 0)
            rc = read_row(&t, at);
        else if (is_header(at))
            rc = read_header(&t, at);
        else
            rc = read_name(&t, at);
    }
    return !rc ? finish(&t) : rc;
}
