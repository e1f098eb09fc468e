/* SPDX-License-Identifier: Apache-2.0 */
/* Output of nccl-tests. A line of column names ("# size count type redop root time algbw busbw #wrong time ...") tells where the times
 * stand; below it come lines of numbers. Sizes are bytes, times us. Gathers of 2020 to 2022 leave redop blank, a replayed trace what is
 * out of place; #wrong is "N/A" where nothing is checked; a timestamp is two words behind all. Whatever launchers and loggers write
 * before a line is no part of it: a comment begins at the '#' behind which it is known, a row where a size, a count and a type follow
 * each other, and a row that is cut behind as many words as stand before the column names. */
#include "base/base.h"
#include "study/calibrate.h"

#define MAX_WORDS 32
#define MAX_HOSTS 4096

struct reader {
    const char *file;
    struct ss_nccl_log *log;
    size_t cap, nhosts, host_cap;
    char **hosts;
    int time[2], algbw, redop, root, wrong[2]; /* columns, -1 = not seen */
    int prefix, glued; /* words before the column names; glued 1: no blank separates them */
    int columns, line; /* number of columns; line of the file */
    int cut; /* the line that may be the only one of a size in a log that was cut; 0: other lines follow */
    struct ss_error *err;
};

static int second_run(struct reader *r)
{
    return ss_fail(r->err, SS_ERR_INPUT, r->file, 0,
                   "a second run of nccl-tests, after %d sizes of the first" SS_HINT "give one run a file",
                   r->log->npoints);
}

static int split(char *line, char *words[MAX_WORDS])
{
    char *rest;
    int n = 0;

    for (char *w = strtok_r(line, " \t\r", &rest); w && n < MAX_WORDS; w = strtok_r(NULL, " \t\r", &rest))
        words[n++] = w;
    return n;
}

static int read_columns(struct reader *r, char *words[], int n)
{
    int times = 0, checks = 0;

    if (n < 4 || strcmp(words[0], "size") != 0 || strcmp(words[1], "count") != 0)
        return 0;
    r->time[0] = r->time[1] = r->algbw = r->redop = r->root = r->wrong[0] = r->wrong[1] = -1;
    r->columns = n;
    for (int i = 0; i < n; i++) {
        if (!strcmp(words[i], "time") && times < 2)
            r->time[times++] = i;
        if (!strcmp(words[i], "algbw") && r->algbw < 0)
            r->algbw = i;
        if (!strcmp(words[i], "redop"))
            r->redop = i;
        if (!strcmp(words[i], "root"))
            r->root = i;
        if (!strcmp(words[i], "#wrong") && checks < 2)
            r->wrong[checks++] = i;
    }
    return 1;
}

/* Reads a line of the list of devices: "#  Rank  0 Group  0 Pid 123 on host device 0 [0x0f] NVIDIA ...". */
static int read_device(struct reader *r, char *words[], int n)
{
    int i = 0;

    while (i + 1 < n && strcmp(words[i], "on") != 0)
        i++;
    if (i + 1 >= n)
        return SS_OK;
    r->log->ranks++;
    for (int k = i + 5; k < n && r->log->ranks == 1; k++) /* on HOST device 0 [0x0f] NVIDIA ... */
        ss_append(r->log->device, sizeof r->log->device, "%s%s", k > i + 5 ? " " : "", words[k]);
    for (size_t h = 0; h < r->nhosts; h++)
        if (!strcmp(r->hosts[h], words[i + 1]))
            return SS_OK;
    if (r->nhosts == MAX_HOSTS)
        return SS_OK;
    if (ss_grow(&r->hosts, &r->host_cap, r->nhosts + 1, sizeof *r->hosts) ||
        !(r->hosts[r->nhosts] = strdup(words[i + 1])))
        return ss_nomem(r->err);
    r->nhosts++;
    return SS_OK;
}

static const struct {
    const char *name;
    int kind;
} operations[] = {{"all_reduce", SS_COLL_ALL_REDUCE},
                  {"all_gather", SS_COLL_ALL_GATHER},
                  {"reduce_scatter", SS_COLL_REDUCE_SCATTER},
                  {"alltoall", SS_COLL_ALL_TO_ALL}};

/* A launch of a collective's kernel among several of one thread: 33.7 us over 8 GPUs, 16.9 over 4, where one channel's ring
 * takes far less (DGX A100; NVIDIA/nccl-tests' issue 123). Another node of A100 has 42.4 us over 8, from 8 bytes on
 * (NVIDIA/nccl's issue 1809). */
#define ISSUE_SECONDS 4.2e-6

double ss_nccl_issue_seconds(int gpus)
{
    return gpus > 1 ? gpus * ISSUE_SECONDS : 0;
}

int ss_nccl_kind(const char *operation)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(operations); i++)
        if (!strcmp(operations[i].name, operation))
            return operations[i].kind;
    return -1;
}

/* Finds the operation: the first word like "all_reduce_perf", wherever it stands. */
static void read_operation(struct reader *r, const char *line)
{
    const char *first = NULL, *at;
    char word[48];

    for (size_t i = 0, known = r->log->operation[0] != 0; i < SS_ARRAY_LEN(operations) && !known; i++) {
        snprintf(word, sizeof word, "%s_perf", operations[i].name);
        at = strstr(line, word);
        if (at && (!first || at < first)) {
            first = at;
            ss_copy(r->log->operation, sizeof r->log->operation, operations[i].name);
        }
    }
}

/* Reads the GPUs of a thread: "# nThread 1 nGpus 8 minBytes ...". */
static void read_threads(struct reader *r, const char *gpus)
{
    char *end;
    long n = strtol(gpus, &end, 10);

    if (!*end && n > 1 && n <= SS_MAX_GPUS_PER_NODE)
        r->log->per_thread = (int)n;
}

/* Returns true for the lines with which a run begins. */
static int begins(char *words[], int n)
{
    return n > 3 && (!strcmp(words[0], "nThread") || !strcmp(words[0], "Rank") ||
                     (!strcmp(words[0], "Collective") && !strcmp(words[2], "starting:")));
}

static int is_whole(const char *word)
{
    return word[strspn(word, "0123456789")] == '\0';
}

/* Returns the bytes of an element of a type, 0: the word is no type. */
static int type_size(const char *word)
{
    static const struct {
        const char *name;
        int size;
    } types[] = {{"float", 4},    {"half", 2},    {"bfloat16", 2}, {"double", 8},  {"int8", 1},
                 {"uint8", 1},    {"int32", 4},   {"uint32", 4},   {"int64", 8},   {"uint64", 8},
                 {"f8e4m3", 1},   {"f8e5m2", 1},  {"float16", 2},  {"float32", 4}, {"float64", 8},
                 {"fp8_e4m3", 1}, {"fp8_e5m2", 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(types); i++)
        if (!strcmp(types[i].name, word))
            return types[i].size;
    return 0;
}

/* Returns the number at the end of a word that begins with a label: "[1,0]<stdout>:1024". */
static char *behind_label(char *word)
{
    char *at = word + strlen(word);

    while (at > word && !strchr("]>:|", at[-1]))
        at--;
    return at;
}

/* Takes the words before a row away; returns how many are left. */
static int skip_prefix(const struct reader *r, char *words[], int n)
{
    int at = n > r->prefix ? r->prefix : 0;

    if (r->glued && at > 0 && *behind_label(words[at - 1])) {
        at--;
        words[at] = behind_label(words[at]);
    }

    for (int i = 0; i + 2 < n; i++)
        if (*behind_label(words[i]) && is_whole(behind_label(words[i])) && is_whole(words[i + 1]) &&
            type_size(words[i + 2])) {
            words[i] = behind_label(words[i]);
            at = i;
            break;
        }
    memmove(words, words + at, (size_t)(n - at) * sizeof *words);
    return n - at;
}

static int is_wrong(const struct reader *r, const char *what, int line)
{
    return ss_fail(
        r->err, SS_ERR_INPUT, r->file, line,
        "%s: the run's own check of the data failed" SS_HINT
        "its times say nothing of a network that works: measure again, and take a run without wrong values",
        what);
}

static int cut_line(const struct reader *r, int line, int n)
{
    return ss_fail(r->err, SS_ERR_INPUT, r->file, line,
                   "the line has %d of %d columns" SS_HINT "give the whole log, or delete a line that is cut",
                   n, r->columns);
}

static int read_time(const struct reader *r, const char *word, double *us)
{
    if (!ss_parse_double(word, us) && *us >= 1e-3 && *us < 1e12)
        return SS_OK;
    return ss_fail(r->err, SS_ERR_INPUT, r->file, r->line,
                   "\"%.40s\" is no time" SS_HINT
                   "nccl-tests print microseconds there: delete the line, or measure again",
                   word);
}

/* Reads a line below the column names that begins with a size and a count. */
static int read_point(struct reader *r, char *words[], int n)
{
    struct ss_nccl_log *log = r->log;
    double bytes, us, best = 0, algbw, busbw, count;

    if (r->time[0] < 0 || !is_whole(words[0]) || ss_parse_double(words[0], &bytes) ||
        !(bytes >= 1 && bytes < 1e15) || (n > 1 && !is_whole(words[1])))
        return SS_OK;
    if (n == 1) {
        r->cut = r->line;
        return SS_OK;
    }
    int blank = r->redop >= 0 && r->redop < n && !ss_parse_double(words[r->redop], &us);
    int there = n + blank;
    if (there < r->columns && there != r->time[1])
        return cut_line(r, r->line, n);
    for (int i = 0; i < 2 && r->wrong[i] >= 0 && r->wrong[i] < there; i++)
        if (!ss_parse_double(words[r->wrong[i] - blank], &us) && us > 0)
            return is_wrong(r, "#wrong above 0", r->line);
    for (int i = 0; i < 2 && r->time[i] >= 0 && r->time[i] < there; i++) {
        SS_TRY(read_time(r, words[r->time[i] - blank], &us));
        best = best == 0 || us < best ? us : best;
    }
    SS_NEED(!ss_grow(&log->points, &r->cap, (size_t)log->npoints + 1, sizeof *log->points), r->err);
    log->points[log->npoints++] = (struct ss_nccl_point){bytes, best * 1e-6};
    if (r->redop >= 0 && r->root >= 0 && r->root < there && !blank && !strcmp(words[r->redop], "sum") &&
        !strcmp(words[r->root], "-1") && !ss_parse_double(words[1], &count) && n > 2)
        log->summed = count * type_size(words[2]) == bytes ? 1 : 2;
    if (r->algbw >= 0 && r->algbw + 1 < there && !ss_parse_double(words[r->algbw - blank], &algbw) &&
        !ss_parse_double(words[r->algbw + 1 - blank], &busbw) && algbw >= 1 && busbw > 0 && busbw < 1e6)
        log->traffic = busbw / algbw;
    return SS_OK;
}

/* Reads a comment; *known: whether it is one of nccl-tests. */
static int read_comment(struct reader *r, char *text, int before, bool *known)
{
    char *words[MAX_WORDS];
    int n = split(text, words);

    *known = true;
    if (r->log->npoints && begins(words, n))
        return second_run(r);
    if (n > 3 && !strcmp(words[0], "Rank"))
        return read_device(r, words, n);
    if (n > 3 && !strcmp(words[0], "nThread") && !strcmp(words[2], "nGpus"))
        read_threads(r, words[3]);
    else if (n > 3 && !strcmp(words[0], "Out") && !strcmp(words[n - 1], "FAILED"))
        return is_wrong(r, "FAILED", r->line);
    else if (read_columns(r, words, n))
        r->prefix = before;
    else
        *known = false;
    return SS_OK;
}

/* Returns how many words stand before `at`. A label that is glued to it counts as one. */
static int words_before(const char *text, const char *at)
{
    int n = 0;

    for (const char *p = text; p < at; p++)
        n += strchr(" \t", *p) == NULL && (p == text || strchr(" \t", p[-1]) != NULL);
    return n;
}

static int read_line(void *ctx, char *line, int number)
{
    struct reader *r = ctx;
    char *words[MAX_WORDS], *text = line + strspn(line, " \t"), part[1024];
    bool known = false;
    int n, rc;

    r->line = number;
    r->cut = 0;
    read_operation(r, text);
    if (strstr(text, "Test NCCL failure") || strstr(text, "Test CUDA failure"))
        return is_wrong(r, "the run ended with a failure", number);
    for (char *at = strchr(text, '#'); at; at = strchr(at + 1, '#')) {
        ss_copy(part, sizeof part, at + 1);
        rc = read_comment(r, part, words_before(text, at), &known);
        if (known)
            r->glued = at > text && at[-1] != ' ' && at[-1] != '\t';
        if (rc || known)
            return rc;
    }
    if (*text == '#' && r->prefix == 0)
        return SS_OK;
    n = split(text, words);
    n = skip_prefix(r, words, n);
    return n ? read_point(r, words, n) : SS_OK;
}

/* Guesses the operation. If more is transferred than the buffer holds, it is an all-reduce, whose factor
 * is 2(n-1)/n. So is a sum without a root whose count is all elements of the buffer; the count of a
 * reduce-scatter is a rank's share. */
static void guess_operation(struct ss_nccl_log *log)
{
    if (!log->operation[0] && (log->traffic > 1.02 || log->summed == 1))
        ss_copy(log->operation, sizeof log->operation, "all_reduce");
    else if (!log->operation[0] && log->summed == 2)
        ss_copy(log->operation, sizeof log->operation, "reduce_scatter");
}

static int finish(struct reader *r)
{
    r->log->nodes = (int)r->nhosts;
    guess_operation(r->log);
    if (r->cut)
        return cut_line(r, r->cut, 1);
    if (r->log->npoints)
        return SS_OK;
    return ss_fail(
        r->err, SS_ERR_INPUT, r->file, 0,
        "no line of sizes and times" SS_HINT
        "give what all_reduce_perf or another program of nccl-tests prints, with its line of column "
        "names");
}

/* Reads a text; text NULL: the file of that name. */
static int read_all(const char *name, const char *text, unsigned long len, struct ss_nccl_log **out,
                    struct ss_error *err)
{
    struct reader r = {
        .file = name, .time = {-1, -1}, .algbw = -1, .redop = -1, .root = -1, .wrong = {-1, -1}, .err = err};

    r.log = ss_calloc(1, sizeof *r.log);
    if (r.log)
        r.log->per_thread = 1;
    int rc = r.log ? ss_log_read(name, text, len, read_line, &r, err) : ss_nomem((&r)->err);
    SS_THEN(rc, finish(&r));
    ss_names_free(r.hosts, r.nhosts);
    if (rc)
        ss_nccl_free(r.log);
    else
        *out = r.log;
    return rc;
}

int ss_nccl_parse(const char *text, unsigned long len, const char *name, struct ss_nccl_log **out,
                  struct ss_error *err)
{
    return read_all(name, text, len, out, err);
}

int ss_nccl_load(const char *path, struct ss_nccl_log **out, struct ss_error *err)
{
    return read_all(path, NULL, 0, out, err);
}

void ss_nccl_free(struct ss_nccl_log *log)
{
    if (!log)
        return;
    SS_FREE(log->points, log);
}
