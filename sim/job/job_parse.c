/* SPDX-License-Identifier: Apache-2.0 */
/* Flags to a job. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"

struct parser {
    struct ss_job *job;
    ss_other_option other;
    void *ctx;
    struct ss_notes *notes;
    struct ss_error *err;
    const struct ss_words *words;
    char **argv;   /* the words' texts */
    const char *stored; /* --fp16 or --bf16, when this file or line has had it */
    char *ignored; /* names of flags without effect, ", " between */
    size_t ignored_len, ignored_cap;
};

/* A wrong command line is the user's typing, a wrong file is bad input. */
static int wrong_code(const struct parser *p)
{
    return p->words->file ? SS_ERR_INPUT : SS_ERR_USAGE;
}

static int line_at(const struct parser *p, size_t i)
{
    return p->words->w[i].line;
}

static int is_flag(const char *text)
{
    return text[0] == '-' && text[1] == '-' && text[2];
}

static int remember_ignored(struct parser *p, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = p->ignored; at && (at = strstr(at, name)) != NULL; at += len)
        if (at[len] == ',' || !at[len])
            return SS_OK;
    if (ss_grow(&p->ignored, &p->ignored_cap, p->ignored_len + len + 3, 1))
        return ss_fail(p->err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    p->ignored_len += (size_t)snprintf(p->ignored + p->ignored_len, p->ignored_cap - p->ignored_len, "%s%s",
                                       p->ignored_len ? ", " : "", name);
    return SS_OK;
}

/* Names that other frameworks have for what is asked for otherwise here. */
static const char *foreign_flag(const char *name)
{
    static const char *const known[][2] = {
        {"--dp", "data parallelism is what is left: GPUs / (tp x pp x cp)"},
        {"--data-parallel-size", "data parallelism is what is left: GPUs / (tp x pp x cp)"},
        {"--fp8", "take --fp8-format hybrid, or --precision fp8"},
        {"--zero-stage",
         "take --use-distributed-optimizer for stage 1, --fsdp grad for 2, --fsdp full for 3"},
        {"--deepspeed", "take --use-distributed-optimizer for stage 1, --fsdp grad for 2, --fsdp full for 3"},
        {"--config-path", "NeMo's Hydra overrides are not read: say the job in Megatron's flags"},
        {"--config-name", "NeMo's Hydra overrides are not read: say the job in Megatron's flags"},
        {"--nnodes", "take --nodes"},
        {"--nproc-per-node", "take --gpus-per-node"},
        {"--nproc_per_node", "take --gpus-per-node"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++)
        if (!strcmp(name, known[i][0]))
            return known[i][1];
    return NULL;
}

static int unknown_word(struct parser *p, size_t i, const char *name)
{
    char near[96];
    int code = wrong_code(p);

    if (!is_flag(name)) {
        ss_fail(p->err, code, p->words->file, line_at(p, i), "\"%.100s\" is no flag", name);
        return ss_hint(
            p->err, code,
            p->words->file
                ? "flags begin with --; of a launch script give the command as its shell expands it"
                : "flags begin with --");
    }
    const char *ours = foreign_flag(name);
    if (ours) {
        ss_fail(p->err, code, p->words->file, line_at(p, i), "unknown flag %.100s", name);
        return ss_hint(p->err, code, "%s", ours);
    }
    ss_fail(p->err, code, p->words->file, line_at(p, i), "unknown flag %.100s", name);
    if (ss_flag_nearest(name, near, sizeof(near)))
        return ss_hint(p->err, code, "did you mean %s?", near);
    return ss_hint(p->err, code, "docs/reference/flags.md lists all of them");
}

/* Megatron asserts that there is one. A file's may be beaten by the command line's. */
static int check_stored(struct parser *p, const char *name, size_t i)
{
    int one = !strcmp(name, "--fp16") || !strcmp(name, "--bf16");

    if (one && p->stored && strcmp(p->stored, name) != 0) {
        ss_fail(p->err, SS_ERR_CONFIG, p->words->file, line_at(p, i), "%s beside %s", name, p->stored);
        return ss_hint(p->err, SS_ERR_CONFIG, "leave one out");
    }
    if (one)
        p->stored = !strcmp(name, "--fp16") ? "--fp16" : "--bf16";
    return SS_OK;
}

static int apply_known(struct parser *p, const struct ss_flag *f, size_t i, int n, char *const *values)
{
    char buf[512];
    const char *why = "wrong value";

    switch ((enum ss_flag_treatment)f->treatment) {
    case SS_FLAG_OWN:
    case SS_FLAG_MODELLED: {
        int rc = check_stored(p, f->name, i);
        if (rc)
            return rc;
        rc = ss_flag_apply(f->setter, p->job, n, values, buf, sizeof(buf), &why);
        if (rc) {
            rc = ss_fail(p->err, rc == SS_ERR_UNSUPPORTED ? rc : wrong_code(p), p->words->file, line_at(p, i),
                         "%s%s%.80s: %s", f->name, n ? " " : "", n ? values[0] : "", why);
            return n && strchr(values[0], '$') ? ss_hint(p->err, rc, "write what the shell makes of it") : rc;
        }
        ss_job_origin_set(p->job, f->setter, p->words->file, line_at(p, i));
        return SS_OK;
    }
    case SS_FLAG_NO_EFFECT:
    case SS_FLAG_EXPERTS: return remember_ignored(p, f->name);
    case SS_FLAG_NOT_MODELLED:
        ss_note(p->notes, "%s is accepted, its effect is not modelled: %s", f->name, f->why);
        return SS_OK;
    case SS_FLAG_REFUSED:
    case SS_FLAG_TREATMENTS: break;
    }
    return ss_fail(p->err, SS_ERR_UNSUPPORTED, p->words->file, line_at(p, i), "%s: %s", f->name, f->why);
}

/* Values that follow word i: how many belong to the flag. */
static int count_values(struct parser *p, const struct ss_flag *f, size_t i, size_t *n)
{
    size_t end = i + 1;

    while (end < p->words->n && !is_flag(p->argv[end]) && (f->values != '1' || end == i + 1))
        end++;
    *n = f->values == '0' ? 0 : end - i - 1;
    if (*n == 0 && (f->values == '1' || f->values == '+'))
        return ss_fail(p->err, wrong_code(p), p->words->file, line_at(p, i), "%s needs a value", f->name);
    return SS_OK;
}

/* Offers word i to the other; *used 0 when it does not want it. */
static int ask_other(struct parser *p, size_t i, size_t *used)
{
    struct ss_error why = {0};

    *used = 0;
    if (!p->other)
        return SS_OK;
    int n = p->other(p->ctx, (int)(p->words->n - i), p->argv + i, &why);
    if (n < 0) {
        if (!why.file[0] && p->words->file) {
            ss_copy(why.file, sizeof(why.file), p->words->file);
            why.line = line_at(p, i);
        }
        if (p->err)
            *p->err = why;
        return n;
    }
    *used = (size_t)n < p->words->n - i ? (size_t)n : p->words->n - i;
    return SS_OK;
}

/* The flag at word i; *used words are taken. */
static int parse_flag(struct parser *p, size_t i, size_t *used)
{
    struct ss_flag f;
    char *text = p->argv[i], *equal = is_flag(text) ? strchr(text, '=') : NULL;
    char name[128];
    size_t n = equal ? (size_t)(equal - text) : strlen(text);

    snprintf(name, sizeof(name), "%.*s", n < sizeof(name) ? (int)n : (int)sizeof(name) - 1, text);
    int found = ss_flag_find(name, &f);
    /* Megatron's seed has no effect, but commands that draw take it; those that compare schedules take --vp */
    if (!found || !strcmp(name, "--seed") || !strcmp(name, "--vp")) {
        int rc = ask_other(p, i, used);
        if (rc || *used || !found)
            return rc || *used ? rc : unknown_word(p, i, name);
    }
    if (equal) {
        if (f.values == '0')
            return ss_fail(p->err, wrong_code(p), p->words->file, line_at(p, i), "%s takes no value", f.name);
        char *const value[] = {equal + 1};
        *used = 1;
        return apply_known(p, &f, i, 1, value);
    }
    int rc = count_values(p, &f, i, &n);
    if (rc)
        return rc;
    *used = 1 + n;
    return apply_known(p, &f, i, (int)n, p->argv + i + 1);
}

static int parse_place(struct parser *p, const struct ss_words *words)
{
    int rc = SS_OK;

    p->words = words;
    p->stored = NULL;
    p->argv = ss_calloc(words->n + 1, sizeof(*p->argv));
    if (!p->argv)
        return ss_fail(p->err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    for (size_t i = 0; i < words->n; i++)
        p->argv[i] = words->w[i].text;
    for (size_t i = 0, used = 0; i < words->n && !rc; i += used)
        rc = parse_flag(p, i, &used);
    free(p->argv);
    p->argv = NULL;
    return rc;
}

/* Do two jobs differ in more than what was measured and where they stand? */
static int differ(const struct ss_job *a, const struct ss_job *b)
{
    struct ss_job other;

    memcpy(&other, b, sizeof(other));
    memcpy(&other.origins, &a->origins, sizeof(other.origins));
    other.measured_ms = a->measured_ms;
    other.measured_mib = a->measured_mib;
    return memcmp(a, &other, sizeof(other)) != 0;
}

/* A measurement is of the job that it stands in: where flags that beat it make another job, it is let go. */
static int parse_over(struct parser *p, const struct ss_words *words)
{
    struct ss_job before;

    memcpy(&before, p->job, sizeof(before));
    p->job->measured_ms = p->job->measured_mib = 0;
    int rc = parse_place(p, words);
    if (rc || !(before.measured_ms > 0 || before.measured_mib > 0))
        return rc;
    if (differ(&before, p->job)) {
        ss_note(p->notes,
                    "the measurement of the job file is left out: flags that beat it make another job");
        return SS_OK;
    }
    if (!(p->job->measured_ms > 0))
        p->job->measured_ms = before.measured_ms;
    if (!(p->job->measured_mib > 0))
        p->job->measured_mib = before.measured_mib;
    return SS_OK;
}

/* Takes `words` over. The job changes only when all of them are right. */
static int parse_words(struct ss_job *job, struct ss_words *words, ss_other_option other, void *ctx,
                       struct ss_notes *notes, struct ss_error *err)
{
    struct ss_job draft = *job;
    struct ss_places places = {0};
    struct parser p = {.job = &draft, .other = other, .ctx = ctx, .notes = notes, .err = err};
    int rc = ss_places_expand(&places, words, err);

    for (size_t i = 0; i < places.n && !rc; i++)
        rc = parse_over(&p, &places.place[i]);
    if (!rc && p.ignored)
        ss_note(notes, "accepted without effect on time or memory: %s", p.ignored);
    if (!rc)
        *job = draft;
    free(p.ignored);
    ss_places_free(&places);
    return rc;
}

int ss_job_parse(struct ss_job *job, int argc, char *const *argv, ss_other_option other, void *ctx,
                 struct ss_notes *notes, struct ss_error *err)
{
    struct ss_words words = {0};

    for (int i = 0; i < argc; i++)
        if (ss_words_add(&words, argv[i], strlen(argv[i]), 0)) {
            ss_words_free(&words);
            return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
        }
    return parse_words(job, &words, other, ctx, notes, err);
}

int ss_job_parse_text(struct ss_job *job, const char *text, size_t len, const char *file,
                      ss_other_option other, void *ctx, struct ss_notes *notes, struct ss_error *err)
{
    struct ss_words words = {0};
    int rc;

    words.file = strdup(file);
    rc = words.file ? ss_words_split(&words, text, len, file, err)
                    : ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    if (rc) {
        ss_words_free(&words);
        return rc;
    }
    return parse_words(job, &words, other, ctx, notes, err);
}

int ss_job_parse_file(struct ss_job *job, const char *path, ss_other_option other, void *ctx,
                      struct ss_notes *notes, struct ss_error *err)
{
    struct ss_words words = {0};
    static const char flag[] = "--job";

    if (ss_words_add(&words, flag, sizeof(flag) - 1, 0) || ss_words_add(&words, path, strlen(path), 0)) {
        ss_words_free(&words);
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    }
    return parse_words(job, &words, other, ctx, notes, err);
}
