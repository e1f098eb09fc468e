/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that somebody has at hand, as the words of a job. */
#include "stepsim/paste.h"

#include <jansson.h>

#include "base/base.h"
#include "import/command.h"
#include "import/hydra.h"
#include "import/sandbox.h"
#include "import/shell.h"
#include "model/model_internal.h"
#include "stepsim/flags.h"

#define MOST_ITEMS 256 /* of a list of a config.json that is kept */

/* ---- the config.json of a model ---- */

static int is_model(const json_t *root)
{
    static const char *const keys[] = {"model_type",        "architectures", "hidden_size", "n_embd",
                                       "num_hidden_layers", "d_model",       "text_config"};

    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++)
        if (json_object_get(root, keys[i]))
            return 1;
    return 0;
}

/* Whether a text can stand in a word of a page: no blank, path or letter beyond ASCII. */
static int is_plain(const char *text)
{
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && !strchr("_.:+-", *text))
            return 0;
    return 1;
}

/* Makes a copy without texts that say nothing about a shape: names of files, tokens, code. NULL: nothing is left. */
static json_t *shape_of(const json_t *from)
{
    json_t *item, *to;
    const char *key;
    size_t i;

    if (json_is_string(from))
        return is_plain(json_string_value(from)) ? json_string(json_string_value(from)) : NULL;
    if (json_is_array(from) && json_array_size(from) <= MOST_ITEMS) {
        to = json_array();
        json_array_foreach((json_t *)from, i, item)
        {
            json_t *copy = shape_of(item);
            if (copy)
                json_array_append_new(to, copy);
        }
        return to;
    }
    if (!json_is_object(from))
        return json_is_array(from) || json_is_null(from) ? NULL : json_deep_copy(from);
    to = json_object();
    json_object_foreach((json_t *)from, key, item)
    {
        json_t *copy = is_plain(key) ? shape_of(item) : NULL;
        if (copy)
            json_object_set_new(to, key, copy);
    }
    return to;
}

static int read_model(const char *text, size_t len, const json_t *root, struct ss_pasted *out,
                      struct ss_error *err)
{
    struct ss_model m;
    int rc = ss_model_parse(text, len, SS_PASTED, &m, err); /* which names line and key of what is wrong */

    if (rc)
        return rc;
    json_t *shape = shape_of(root);
    char *word = shape ? json_dumps(shape, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;
    json_decref(shape);
    rc = word ? ss_request_set(&out->request, "--model-config", word, err) : ss_nomem(err);
    free(word);
    return rc;
}

/* ---- commands of a script ---- */

struct command {
    struct ss_word *w;
    size_t n;
};

/* How many words of a command are flags of a job. */
static int flags_of(const struct command *c)
{
    char name[96];
    int n = 0;

    for (size_t i = 0; i < c->n; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(c->w[i].text, "="), c->w[i].text);
        n += !strncmp(name, "--", 2) ? ss_flag_known(name)
                                     : strchr(name, '.') && ss_hydra_is_override(c->w[i].text);
    }
    return n;
}

/* Whether a command starts a job: as the sandbox's calls are judged, or flags alone. */
static int is_job(const struct command *c)
{
    struct ss_call call = {
        .kind = SS_CALL_LAUNCHER, .n = c->n, .word = ss_calloc(c->n + 1, sizeof *call.word)};

    for (size_t i = 0; i < c->n && call.word; i++)
        call.word[i] = c->w[i].text;
    int is = c->n && !ss_has_word("echo printf", c->w[0].text) && call.word &&
             (ss_launch_is_job(&call) || (c->w[0].text[0] == '-' && flags_of(c) > 0));
    free(call.word);
    return is;
}

/* Takes a prompt and "stepsim run" off what somebody copied from a terminal or from the page itself. */
static void drop_verb(struct command *c)
{
    size_t at = c->n > 0 && !strcmp(c->w[0].text, "$");
    const char *slash = at + 1 < c->n ? strrchr(c->w[at].text, '/') : NULL;

    if (at + 1 < c->n && !strcmp(slash ? slash + 1 : c->w[at].text, "stepsim") &&
        c->w[at + 1].text[0] != '-') {
        c->w += at + 2;
        c->n -= at + 2;
    }
}

/* Finds the command with most flags of a job; the first of equal ones. */
static int find_job(const struct ss_words *all, struct command *out, int *jobs)
{
    int most = 0;

    *jobs = 0;
    for (size_t i = 0, from = 0; i <= all->n; i++) {
        if (i < all->n && strcmp(all->w[i].text, ";") != 0)
            continue;
        struct command c = {all->w + from, i - from};
        from = i + 1;
        drop_verb(&c);
        if (!is_job(&c))
            continue;
        ++*jobs;
        if (flags_of(&c) + 1 > most) {
            most = flags_of(&c) + 1;
            *out = c;
        }
    }
    return most > 0;
}

/* Whether a flag has a value behind it; an option of a launcher, which is no flag of a job, has one. */
static int takes_value(const char *flag)
{
    struct ss_request r;

    if (!ss_flag_known(flag))
        return 1;
    ss_request_init(&r);
    int rc = ss_request_set(&r, flag, "1", NULL);
    size_t n = rc ? 0 : ss_request_span(&r, 0);
    ss_request_free(&r);
    return n > 1;
}

/* The flag or key whose value a word is, or a part of; "": it is neither. */
static void flag_at(const char *before, const char *text, char *name, size_t size)
{
    const char *equal = strchr(text, '='), *gap = strchr(text, SS_GAP);

    name[0] = 0;
    if (equal && equal < gap)
        snprintf(name, size, "%.*s", (int)(equal - text), text);
    else if (before[0] == '-' && gap == text && takes_value(before))
        snprintf(name, size, "%s", before);
}

/* What stands in place of a gap: what the user said of the flag; else, where it decides nothing, a dash. NULL: it is missing. */
static const char *fill(struct ss_shell *s, const char *flag)
{
    for (size_t i = 0; i < s->n; i++)
        if (flag[0] && !strcmp(s->value[i].name, flag))
            return s->value[i].text;
    if (flag[0] == '-' && !ss_launch_decides(flag))
        return "x";
    return flag[0] == '-' || (strchr(flag, '.') && !strncmp(flag + (flag[0] == '+'), "model.", 6)) ? NULL
                                                                                                   : "x";
}

/* Closes the gaps of a command; *missing gets the names of those that decide something, a flag where a gap has no name. A word that is
 * nothing but a gap, and no value, is left out. */
static int close_gaps(struct ss_shell *s, struct command *c, struct ss_pasted *out, struct ss_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++) {
        char *text = c->w[i].text, *gap, flag[160], name[160];
        flag_at(kept ? c->w[kept - 1].text : "", text, flag, sizeof flag);
        int alone =
            text[0] == SS_GAP && !flag[0] && text[strcspn(text, "\2")] && !text[strcspn(text, "\2") + 1];
        while (!alone && (gap = strchr(text, SS_GAP)) != NULL) {
            char *end = strchr(gap, SS_GAP_END);
            const char *with = strchr(text, '/') ? "x" : fill(s, flag); /* no path decides */
            size_t n = end ? (size_t)(end - gap - 1) : strlen(gap + 1);
            snprintf(name, sizeof name, "%.*s", (int)n, gap + 1);
            if (!with)
                ss_note(&out->missing, "%s", name[0] == '?' ? flag : name);
            size_t size = strlen(text) + strlen(with ? with : "x") + 1;
            char *closed = malloc(size);
            SS_NEED(closed, err);
            snprintf(closed, size, "%.*s%s%s", (int)(gap - text), text, with ? with : "x",
                     end ? end + 1 : "");
            free(text);
            text = c->w[i].text = closed;
        }
        if (alone) {
            free(text);
            c->w[i].text = NULL;
        } else {
            c->w[kept++].text = text;
            if (kept - 1 != i)
                c->w[i].text = NULL;
        }
    }
    c->n = kept;
    return SS_OK;
}

/* The words in quotes, as one line for a shell. */
static char *line_of(const struct command *c)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; out && i < c->n; i++) {
        fputs(i ? " '" : "'", out);
        for (const char *p = c->w[i].text; *p; p++)
            fprintf(out, *p == '\'' ? "'\\''" : "%c", *p);
        fputc('\'', out);
    }
    if (!out || fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

static void set_environment(struct ss_shell *s, const struct ss_batch *b)
{
    static const char *const zeros[] = {"RANK",         "NODE_RANK",    "LOCAL_RANK",
                                        "SLURM_PROCID", "SLURM_NODEID", "SLURM_LOCALID"};
    const struct {
        const char *name;
        int value;
    } sizes[] = {{"SLURM_NNODES", b->nodes},
                 {"SLURM_JOB_NUM_NODES", b->nodes},
                 {"SLURM_GPUS_ON_NODE", b->gpus},
                 {"SLURM_GPUS_PER_NODE", b->gpus},
                 {"SLURM_NTASKS_PER_NODE", b->tasks}};
    char text[16];

    for (size_t i = 0; i < SS_ARRAY_LEN(zeros); i++)
        ss_shell_set(s, zeros[i], strlen(zeros[i]), "0", 0);
    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++) {
        snprintf(text, sizeof text, "%d", sizes[i].value);
        if (sizes[i].value)
            ss_shell_set(s, sizes[i].name, strlen(sizes[i].name), text, 0);
    }
}

/* "NAME=VALUE" a line. */
static void set_values(struct ss_shell *s, const char *values)
{
    char text[256];

    for (const char *p = values; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t n = strcspn(p, "=\n"), all = strcspn(p, "\n");
        snprintf(text, sizeof text, "%.*s", n < all ? (int)(all - n - 1) : 0, p + n + 1);
        if (n && n < all)
            ss_shell_set(s, p, n, text, 1);
    }
}

/* ---- the job's words ---- */

/* Takes out what changes neither time nor memory, learning rates or tokenizers, and what names a file, which is not at hand. */
static void drop_idle(struct ss_pasted *out)
{
    struct ss_request *r = &out->request;

    for (size_t i = 0, n; i < r->n; i += n) {
        char name[96];
        int path = 0;
        n = ss_request_span(r, i);
        for (size_t k = 0; k < n; k++)
            path |= strchr(r->word[i + k].text, '/') != NULL;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(r->word[i].text, "="), r->word[i].text);
        enum ss_flag_effect effect = ss_flag_effect(name, NULL);
        if (name[0] != '-' || (effect != SS_FLAG_IS_WITHOUT_EFFECT && !path))
            continue;
        out->asks_vocabulary |= ss_has_word("--vocab-file --merge-file", name);
        if (effect == SS_FLAG_IS_READ)
            ss_note(&out->notes, "%s is left out: no file is read", name);
        ss_request_remove(r, i, n);
        n = 0;
    }
}

static int read_words(const char *text, size_t len, struct ss_pasted *out, struct ss_error *err)
{
    SS_TRY(ss_request_read_text(&out->request, text, len, SS_PASTED, err));
    drop_idle(out);
    ss_notes_add_all(&out->notes, &out->request.notes);
    if (!out->request.n)
        return ss_fail(err, SS_ERR_INPUT, SS_PASTED, 0, "no word of a job stands in it");
    return SS_OK;
}

/* A flag that Megatron core refuses tells that the script is of before. */
static int assume_stack(struct ss_pasted *out, struct ss_error *err)
{
    static const char flag[] = "--checkpoint-activations", stack[] = "megatron-2021";
    const struct ss_request *r = &out->request;

    if (ss_request_find(r, flag) == r->n || ss_request_find(r, "--stack") < r->n)
        return SS_OK;
    ss_note(&out->notes,
            "assumed: Megatron-LM of 2021 (--stack %s), which has %s; --stack says another release", stack,
            flag);
    return ss_request_set(&out->request, "--stack", stack, err);
}

/* Adds what the user says of flags. A vocabulary that only a file tells is asked for. */
static int complete(const struct ss_shell *s, struct ss_pasted *out, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; i < s->n && !rc; i++)
        if (s->value[i].given && !strncmp(s->value[i].name, "--", 2) &&
            ss_request_find(&out->request, s->value[i].name) == out->request.n)
            rc = ss_request_set(&out->request, s->value[i].name, s->value[i].text, err);
    if (!rc && out->asks_vocabulary && ss_request_find(&out->request, "--vocab-size") == out->request.n)
        ss_note(&out->missing, "--vocab-size");
    return rc ? rc : assume_stack(out, err);
}

static int read_script(const char *text, size_t len, const char *values, struct ss_pasted *out,
                       struct ss_error *err)
{
    const struct ss_cluster cluster = {0};
    struct ss_shell s = {0};
    struct ss_batch batch;
    struct command c = {0};
    char *line = NULL, number[16];
    int jobs = 0;

    SS_TRY(ss_launch_batch(text, SS_PASTED, &cluster, &out->notes, &batch, err));
    set_environment(&s, &batch);
    set_values(&s, values);
    int rc = ss_shell_run(&s, text, len) ? ss_nomem(err) : SS_OK;
    if (!rc && !find_job(&s.out, &c, &jobs)) {
        rc = ss_fail(err, SS_ERR_INPUT, SS_PASTED, 0,
                     "no command in it starts a job, and it is no configuration that is known");
        ss_hint(err, SS_ERR_INPUT,
                "paste flags of Megatron-LM, a command with torchrun, srun or python, or a config.json");
    }
    SS_THEN(rc, close_gaps(&s, &c, out, err));
    for (unsigned long i = 0; i < s.asked.n && !rc; i++)
        ss_note(&out->missing, "%s", s.asked.text[i]);
    if (!rc && !out->missing.n) {
        line = line_of(&c);
        rc = line ? read_words(line, strlen(line), out, err) : ss_nomem(err);
        snprintf(number, sizeof number, "%d", batch.nodes);
        if (!rc && batch.nodes && ss_request_find(&out->request, "--nodes") == out->request.n)
            rc = ss_request_set(&out->request, "--nodes", number, err);
        SS_THEN(rc, complete(&s, out, err));
        if (jobs > 1)
            ss_note(&out->notes, "the text starts %d jobs: this is the one with most flags", jobs);
        ss_notes_add_all(&out->notes, &s.skipped);
    }
    free(line);
    ss_shell_free(&s);
    return rc;
}

/* Whether a text has flags alone, without variables: its bars and brackets are no shell's. */
static int is_flags(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '-' && !strchr(text, '$') && !strchr(text, '`');
}

int ss_paste_read(const char *text, size_t len, const char *values, struct ss_pasted *out,
                  struct ss_error *err)
{
    int rc;

    memset(out, 0, sizeof *out);
    ss_request_init(&out->request);
    if (len > SS_PASTE_MOST || memchr(text, 0, len))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       len > SS_PASTE_MOST ? "the text is longer than %d bytes"
                                           : "the text has a zero byte, within %d bytes",
                       SS_PASTE_MOST);
    json_t *root = ss_begins_json(text, len) ? json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (ss_begins_json(text, len) && (!root || is_model(root)))
        rc = read_model(text, len, root, out, err);
    else if (root || ss_import_is_configuration(text, len) || is_flags(text))
        rc = read_words(text, len, out, err);
    else
        rc = read_script(text, len, values, out, err);
    json_decref(root);
    if (rc)
        ss_pasted_free(out);
    return rc;
}

void ss_pasted_free(struct ss_pasted *p)
{
    ss_request_free(&p->request);
    ss_notes_free(&p->missing);
    ss_notes_free(&p->notes);
}
