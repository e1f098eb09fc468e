/* SPDX-License-Identifier: Apache-2.0 */
/* Flags to a job. */
#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"
#include "stepsim/scenario.h"

/* Settings that other flags may contradict: the type of stored values, of multiplied values, of both, the
 * scaling of fp8; which parts CUDA graphs hold. */
enum { SAYS_STORED, SAYS_FORMAT, SAYS_PRECISION, SAYS_RECIPE, SAYS_GRAPHED, SAYS_NOTHING };
struct said {
    const char *flag, *value; /* value "": none */
};

struct parser {
    struct ss_asked *asked;
    const struct ss_request *request;
    struct ss_notes *notes;
    struct ss_error *err;
    const char *file;               /* of the place that is read; NULL: the command line */
    struct said said[SAYS_NOTHING]; /* settings of this place so far, flag NULL: none */
    struct ss_notes *ignored;       /* names of flags without effect; may be NULL */
    struct ss_faults *faults;
};

/* A wrong command line is the user's typing, a wrong file is bad input. */
static int wrong_code(const struct parser *p)
{
    return p->file ? SS_ERR_INPUT : SS_ERR_USAGE;
}

static int line_at(const struct parser *p, size_t i)
{
    return p->request->word[i].line;
}

static int says_of(const char *name, const char *value)
{
    if (!strchr("bcfp", name[2])) /* which spares most of the calls */
        return SAYS_NOTHING;
    if (!strcmp(name, "--fp16") || !strcmp(name, "--bf16"))
        return SAYS_STORED;
    if (!strcmp(name, "--fp8-hybrid") || !strcmp(name, "--fp8-e4m3"))
        return SAYS_FORMAT;
    if (!strcmp(name, "--fp8-format") || !strcmp(name, "--fp4-format"))
        return strcmp(value, "none") ? SAYS_FORMAT : SAYS_NOTHING;
    if (!strcmp(name, "--cuda-graph-scope") || !strcmp(name, "--cuda-graph-modules"))
        return SAYS_GRAPHED;
    return !strcmp(name, "--precision")    ? SAYS_PRECISION
           : !strcmp(name, "--fp8-recipe") ? SAYS_RECIPE
                                           : SAYS_NOTHING;
}

/* Do two words of a place contradict each other? `first` is of the kind that comes first in the list of kinds. */
static int contradict(int first, const struct said *a, int second, const struct said *b)
{
    int recipe, p = ss_precision_find(b->value, &recipe), quantized = ss_precision_is_quantized(p);

    if (first == second)
        return first == SAYS_FORMAT ? a->flag[4] != b->flag[4] : strcmp(a->flag, b->flag) != 0;
    if (second == SAYS_PRECISION && first == SAYS_STORED)
        return !quantized && strcmp(a->flag + 2, b->value) != 0;
    if (second == SAYS_PRECISION && first == SAYS_FORMAT)
        return !quantized || strncmp(a->flag, ss_precision_at(p)->flag, strlen("--fp8")) != 0;
    return second == SAYS_RECIPE && first == SAYS_PRECISION && !strcmp(a->value, "mxfp8") &&
           strcmp(b->value, "mxfp8") != 0;
}

/* Megatron asserts that a place has one. A file's may be beaten by the command line's. */
static int check_said(struct parser *p, const struct ss_flag_setter *s, const char *value, size_t i)
{
    struct said word = {s->name, value};
    int says = says_of(s->name, value);

    for (int k = 0; k < SAYS_NOTHING && says != SAYS_NOTHING; k++) {
        const struct said *old = &p->said[k];
        int clash =
            old->flag && (k <= says ? contradict(k, old, says, &word) : contradict(says, &word, k, old));
        if (!clash)
            continue;
        return ss_fail(p->err, SS_ERR_CONFIG, p->file, line_at(p, i),
                       "%s%s%s beside %s%s%s%s" SS_HINT "leave one out", word.flag, *word.value ? " " : "",
                       word.value, old->flag, *old->value ? " " : "", old->value,
                       k == SAYS_FORMAT && says == SAYS_FORMAT ? ": they cannot be used simultaneously" : "");
    }
    if (says != SAYS_NOTHING)
        p->said[says] = word;
    return SS_OK;
}

/* Checks --set and --scale, which belong to the scenario. */
static int check_prop(struct parser *p, const char *flag, const char *text, size_t i)
{
    struct ss_error why = {0};
    int rc = strcmp(flag, "--set") ? ss_scale_check(text, &why) : ss_set_check(text, &why);

    if (!rc)
        return SS_OK;
    if (!why.file[0] && p->file) {
        ss_copy(why.file, sizeof(why.file), p->file);
        why.line = line_at(p, i);
    }
    if (p->err)
        *p->err = why;
    return rc;
}

/* Writes " attn moe_rooter": all values of a flag, one of which is wrong. */
static const char *join_values(int n, char *const *values, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < n; i++)
        ss_append(out, size, " %.80s", values[i]);
    return out;
}

/* Megatron-LM's --spec of layers by a pattern: module and function, which --hybrid-layer-pattern needs. */
static int is_spec_of_pattern(const struct ss_flag *f, int n, char *const *values)
{
    return n == 2 && !strcmp(f->name, "--spec") &&
           ss_has_word("hybrid_stack_spec mamba_stack_spec", values[1]);
}

static int apply_known(struct parser *p, const struct ss_flag *f, size_t i, int n, char *const *values)
{
    char buf[512], said[168];
    const char *why = "wrong value";

    switch (is_spec_of_pattern(f, n, values) ? SS_FLAG_NO_EFFECT : (enum ss_flag_treatment)f->treatment) {
    case SS_FLAG_OWN:
    case SS_FLAG_MODELLED: {
        if (f->setter->kind == SS_FLAG_PROP)
            return check_prop(p, f->name, values[0], i);
        int rc = ss_flag_apply(f->setter, p->asked, n, values, buf, sizeof(buf), &why);
        if (rc) {
            rc = ss_fail(p->err, rc == SS_ERR_UNSUPPORTED ? rc : wrong_code(p), p->file, line_at(p, i),
                         "%s%s: %s", f->name, join_values(n, values, said, sizeof said), why);
            return n && strchr(values[0], '$')
                       ? ss_hint(p->err, rc,
                                 "write what the shell makes of it, or run the script by --launch FILE")
                       : rc;
        }
        return check_said(p, f->setter, n ? values[0] : "", i);
    }
    case SS_FLAG_NO_EFFECT: ss_note(p->ignored, "%s", f->name); return SS_OK;
    case SS_FLAG_UNKNOWN_EFFECT:
        if (!p->asked->job.unmodelled[0])
            ss_copy(p->asked->job.unmodelled, sizeof p->asked->job.unmodelled, f->name);
        /* fall through */
    case SS_FLAG_NOT_MODELLED:
        ss_note(p->notes, "%s is accepted, its effect is not modelled: %s", f->name, f->why);
        return SS_OK;
    case SS_FLAG_REFUSED:
    case SS_FLAG_TREATMENTS: break;
    }
    return ss_fail(p->err, SS_ERR_UNSUPPORTED, p->file, line_at(p, i), "%s: %s", f->name, f->why);
}

/* They name files, which are not read: "--merge-file $4" without a fourth argument. */
static const char nameless[] = "--merge-file --tokenizer-model --tokenizer-name-or-path";

/* Values that follow word i: how many belong to the flag. */
static int count_values(struct parser *p, const struct ss_flag *f, size_t i, size_t *n)
{
    *n = ss_request_values(p->request, i, ss_request_takes(p->request, i, f));
    if (*n > 1 && f->values == '1')
        ss_note(p->notes, "%s has %zu values where it takes 1; it has no effect on time or memory", f->name,
                *n);
    if (*n > 0 || (f->values != '1' && f->values != '+'))
        return SS_OK;
    if (f->treatment == SS_FLAG_NO_EFFECT || ss_has_word(nameless, f->name)) {
        ss_note(p->notes, "%s has no value here; %s", f->name,
                f->treatment == SS_FLAG_NO_EFFECT ? "it has no effect on time or memory"
                                                  : "no file is named");
        return SS_OK;
    }
    int rc = ss_fail(p->err, wrong_code(p), p->file, line_at(p, i), "%s needs a value", f->name);
    return strcmp(f->name, "--without")
               ? rc
               : ss_hint(p->err, rc, "say the flag without its dashes: --without sequence-parallel");
}

/* Applies flag f of word i to its n values, the words behind it. */
static int apply_words(struct parser *p, const struct ss_flag *f, size_t i, size_t n)
{
    char *few[8], **values = n <= SS_ARRAY_LEN(few) ? few : ss_calloc(n, sizeof *values);

    SS_NEED(values, p->err);
    for (size_t k = 0; k < n; k++)
        values[k] = p->request->word[i + 1 + k].text;
    int rc = apply_known(p, f, i, (int)n, values);
    if (values != few)
        free(values);
    return rc;
}

/* The flag at word i; *used words are taken. */
static int parse_flag(struct parser *p, size_t i, size_t *used)
{
    struct ss_flag f;
    char *text = p->request->word[i].text, *equal = ss_is_flag(text) ? strchr(text, '=') : NULL;
    size_t n;

    *used = ss_request_extent(p->request, i);
    if (!ss_request_flag(p->request, i, &f))
        return ss_faults_unknown(p->request, i, p->err);
    if (equal) {
        if (f.values == '0')
            return ss_fail(p->err, wrong_code(p), p->file, line_at(p, i), "%s takes no value", f.name);
        char *const value[] = {equal + 1};
        return apply_known(p, &f, i, 1, value);
    }
    int rc = count_values(p, &f, i, &n);
    return rc ? rc : apply_words(p, &f, i, n);
}

/* Words first .. end - 1, which stand in one place. */
static int parse_place(struct parser *p, size_t first, size_t end)
{
    int rc = SS_OK;

    p->file = p->request->place[p->request->word[first].place].file;
    memset(p->said, 0, sizeof p->said);
    for (size_t i = first, used = 0; i < end && !rc; i += used) {
        rc = parse_flag(p, i, &used);
        if (rc && rc != SS_ERR_NOMEM && ss_request_is_beaten(p->request, i))
            rc = SS_OK; /* the later place says what holds */
        else if (rc)
            rc = ss_faults_add(p->faults, p->request, i, p->err);
    }
    return rc;
}

/* Do they ask for different jobs, whatever was measured? */
static int differ(const struct ss_asked *a, const struct ss_asked *b)
{
    struct ss_asked other;

    memcpy(&other, b, sizeof(other));
    other.measured_ms = a->measured_ms;
    other.measured_mib = a->measured_mib;
    return memcmp(a, &other, sizeof(other)) != 0;
}

/* A measurement is of the job that it stands in: where flags that beat it make another job, it is let go. */
static int parse_over(struct parser *p, size_t first, size_t end)
{
    int measured = p->asked->measured_ms > 0 || p->asked->measured_mib > 0;
    struct ss_asked before;

    if (measured)
        memcpy(&before, p->asked, sizeof(before));
    p->asked->measured_ms = p->asked->measured_mib = 0;
    int rc = parse_place(p, first, end);
    if (rc || !measured)
        return rc;
    if (differ(&before, p->asked)) {
        ss_note(p->notes, "the measurement of the job file is left out: flags that beat it make another job");
        return SS_OK;
    }
    if (!(p->asked->measured_ms > 0))
        p->asked->measured_ms = before.measured_ms;
    if (!(p->asked->measured_mib > 0))
        p->asked->measured_mib = before.measured_mib;
    return SS_OK;
}

void ss_asked_init(struct ss_asked *asked)
{
    memset(asked, 0, sizeof *asked);
    ss_job_init(&asked->job);
#define SS_ASKED(type, field, unset, key) asked->field = unset;
#include "stepsim/job_fields.def"
}

void ss_asked_of(struct ss_asked *asked, const struct ss_job *job)
{
    ss_asked_init(asked);
    memcpy(&asked->job, job, sizeof *job);
    asked->given = ~(~0u << SS_GIVEN_COUNT);
}

int ss_asked_add(struct ss_asked *asked, const struct ss_request *r, struct ss_notes *notes,
                 struct ss_notes *ignored, struct ss_error *err)
{
    struct ss_faults faults;
    struct ss_error why;
    struct parser p = {
        .asked = asked, .request = r, .notes = notes, .ignored = ignored, .err = &why, .faults = &faults};
    int rc = SS_OK;

    faults.n = 0; /* its texts begin with the first of them */
    for (size_t first = 0, end; first < r->n && !rc; first = end) {
        for (end = first + 1; end < r->n && r->word[end].place == r->word[first].place;)
            end++;
        rc = parse_over(&p, first, end);
    }
    if (rc && rc != SS_ERR_NOMEM && !faults.n) { /* a wrong value: unknown words and names are told before */
        struct ss_error before;
        int other = ss_request_check_known(r, &before);
        SS_THEN(other, ss_request_check_names(r, &before));
        if (other && err)
            *err = before;
        if (other)
            return other;
    }
    return rc || faults.n ? ss_faults_end(&faults, rc, &why, err) : SS_OK;
}

int ss_asked_parse(struct ss_asked *asked, const struct ss_request *r, struct ss_notes *notes,
                   struct ss_notes *ignored, struct ss_error *err)
{
    struct ss_asked draft;

    memcpy(&draft, asked, sizeof draft); /* padding too */
    int rc = ss_asked_add(&draft, r, notes, ignored, err);
    if (!rc)
        memcpy(asked, &draft, sizeof draft);
    return rc;
}

int ss_asked_settings(const struct ss_asked *asked, const struct ss_request *r, struct ss_setting *out,
                      int most)
{
    struct ss_asked with = *asked;
    int n = 0;

    if (asked->measured_ms > 0 || asked->measured_mib > 0 || ss_asked_add(&with, r, NULL, NULL, NULL))
        return -1;
    for (size_t i = 0, used; i < r->n; i += used, n++) {
        const struct ss_request_word *w = &r->word[i];
        used = ss_request_extent(r, i);
        const char *value = used > 1 ? r->word[i + 1].text : "";
        if (n == most || used > 2 || !w->setter || w->setter->kind == SS_FLAG_PROP || strchr(w->text, '=') ||
            strlen(value) >= sizeof out->value)
            return -1;
        out[n].setter = w->setter;
        out[n].nvalues = (int)used - 1;
        ss_copy(out[n].value, sizeof out->value, value);
    }
    return n;
}

int ss_asked_apply(struct ss_asked *asked, struct ss_setting *settings, int n)
{
    char buf[512];
    const char *why;
    int rc = SS_OK;

    for (int i = 0; i < n && !rc; i++) {
        char *const values[] = {settings[i].value};
        rc = ss_flag_apply(settings[i].setter, asked, settings[i].nvalues, values, buf, sizeof buf, &why);
    }
    return rc;
}

int ss_asked_read(struct ss_asked *asked, const struct ss_request *r, struct ss_error *err)
{
    struct ss_request left;
    int rc = ss_request_copy(r, &left, err);

    ss_asked_init(asked);
    if (rc)
        return rc;
    rc = ss_request_resolve(&left, NULL, err);
    SS_THEN(rc, ss_asked_parse(asked, &left, NULL, NULL, err));
    ss_request_free(&left);
    return rc;
}

int ss_job_check_words(const struct ss_request *r, struct ss_notes *notes, struct ss_error *err)
{
    struct ss_asked asked;

    ss_asked_init(&asked);
    return ss_asked_parse(&asked, r, notes, NULL, err);
}

int ss_job_lacks_effect(const struct ss_request *r, const char *flag)
{
    struct ss_request with;
    struct ss_asked before, after;
    int rc = ss_request_copy(r, &with, NULL);

    if (rc)
        return 0;
    ss_asked_init(&before);
    rc = ss_request_resolve(&with, NULL, NULL);
    SS_THEN(rc, ss_asked_parse(&before, &with, NULL, NULL, NULL));
    memcpy(&after, &before, sizeof(after)); /* padding too */
    SS_THEN(rc, ss_request_set(&with, flag, NULL, NULL));
    SS_THEN(rc, ss_asked_parse(&after, &with, NULL, NULL, NULL));
    ss_request_free(&with);
    return !rc && !differ(&before, &after);
}
