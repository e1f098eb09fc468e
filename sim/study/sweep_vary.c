/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the flags and values that a sweep varies. */
#include "base/base.h"
#include "job/flags.h"
#include "stepsim/flags.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

static const char by_hand[] = "write --vary nodes=8,16",
                  of_props[] = "write --vary set=ss.nic.bandwidth=12.5GBps,25GBps";

static int refuse(struct ss_error *err, const char *hint, const char *what, const char *why)
{
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--vary %.60s: %s" SS_HINT "%s", what, why, hint);
}

/* Completes "set=ss.nic.bandwidth=12.5GBps,25GBps" and "scale=nic.bandwidth=1x,2x": the later values belong
 * to the prop of the first. */
static int complete_set(struct ss_sweep_flag *f)
{
    char *last = f->value[f->nvalues - 1], whole[2 * sizeof f->value[0]];
    const char *equal = strchr(f->value[0], '=');

    if (strchr(last, '='))
        return 1;
    if (!equal)
        return 0;
    int n = snprintf(whole, sizeof whole, "%.*s=%s", (int)(equal - f->value[0]), f->value[0], last);
    if (n < 0 || (size_t)n >= sizeof f->value[0])
        return 0;
    memcpy(last, whole, (size_t)n + 1);
    return 1;
}

/* Takes the last value back where an earlier one is the same. */
static void drop_same(struct ss_sweep_flag *f)
{
    for (int i = 0; i < f->nvalues - 1; i++)
        if (ss_sweep_same_value(f, i, f->nvalues - 1)) {
            memset(f->value[--f->nvalues], 0, sizeof f->value[0]);
            return;
        }
}

/* Adds a value of `size` characters, unless an earlier one is the same. */
static int add_value(struct ss_sweep_flag *f, const char *at, size_t size, const char *text,
                     struct ss_error *err)
{
    const char *why = size == 0                    ? "an empty value"
                      : size >= sizeof f->value[0] ? "a value is too long"
                                                   : NULL;
    char many[40];
    snprintf(many, sizeof many, "more than %d values", SS_SWEEP_VALUES);
    if (f->nvalues == SS_SWEEP_VALUES)
        return refuse(err, "take several sweeps", f->name, many);
    if (why)
        return refuse(err, "values are separated by commas", f->name, why);
    memcpy(f->value[f->nvalues++], at, size);
    if ((!strcmp(f->name, "--set") || !strcmp(f->name, "--scale")) && !complete_set(f))
        return refuse(err, of_props, text, "no prop");
    drop_same(f);
    return SS_OK;
}

/* Adds the values of a range: "4..64" has 4, 8, 16, 32 and 64. */
static int add_range(struct ss_sweep_flag *f, const char *at, size_t size, const char *text,
                     struct ss_error *err)
{
    char number[24], *end;
    long first = strtol(at, &end, 10), last = strtol(end + 2, &end, 10);

    if (end != at + size || first < 1 || last > INT_MAX)
        return refuse(err, "write nodes=4..64", text, "a range has two whole numbers from 1");
    if (last < first)
        return refuse(err, "write the smaller number first", text, "the range ends before it begins");
    int rc = SS_OK;
    for (; first <= last && !rc; first *= 2) {
        int n = snprintf(number, sizeof number, "%ld", first);
        rc = add_value(f, number, (size_t)n, text, err);
    }
    f->cut = first / 2 < last ? (int)last : f->cut;
    return rc;
}

static int is_range(const char *at, size_t size)
{
    size_t digits = strspn(at, "0123456789");

    return digits > 0 && digits + 2 < size && !strncmp(at + digits, "..", 2) && at[digits + 2] >= '0' &&
           at[digits + 2] <= '9';
}

/* Refuses flags that cannot be varied. */
static int check_name(const struct ss_sweep *s, const struct ss_sweep_flag *f, struct ss_error *err)
{
    static const char *const others[] = {"--measured", "--measured-memory", "--job", "--vary"};

    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++)
        if (!strcmp(f->name, others[i]))
            return refuse(err, "vary what the job is, or set=PROP=VALUE", f->name,
                          "this is no flag of the job");
    if (!strncmp(f->name, "--ss.", 5))
        return refuse(err, of_props, f->name + 2, "a prop is no flag");
    for (int i = 0; i < s->nflags; i++)
        if (!strcmp(s->flags[i].name, f->name) || ss_flag_same(s->flags[i].name, f->name))
            return refuse(err, "name it once, with all values", f->name, "given twice");
    return SS_OK;
}

/* Refuses a value of a flag that has none: it is on or off. */
static int check_values(const struct ss_sweep_flag *f, struct ss_error *err)
{
    struct ss_flag flag;
    int bare = ss_flag_find(f->name, &flag) && flag.values == '0';

    for (int i = 0; bare && i < f->nvalues; i++)
        if (strcmp(f->value[i], "on") != 0 && strcmp(f->value[i], "off") != 0)
            return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                           "--vary %s=%.60s: this flag has no value" SS_HINT "write --vary %s=on,off",
                           f->name + 2, f->value[i], f->name + 2);
    return SS_OK;
}

/* Refuses a flag that leaves nothing of another, or the other of it: rows would come more than once. */
static int check_others(const struct ss_sweep *s, const struct ss_sweep_flag *f, struct ss_error *err)
{
    for (const struct ss_sweep_flag *other = s->flags; other < f; other++)
        if (ss_sweep_hides(f, other) || ss_sweep_hides(other, f))
            return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                           "--vary %s and --vary %s say one thing by two names" SS_HINT "vary one of them",
                           other->name + 2, f->name + 2);
    return SS_OK;
}

int ss_sweep_vary(struct ss_sweep *s, const char *text, struct ss_error *err)
{
    text = text ? text : "";
    const char *name = strncmp(text, "--", 2) == 0 ? text + 2 : text, *equal = strchr(name, '=');
    struct ss_sweep_flag *f = &s->flags[s->nflags];

    if (!equal || equal == name || !equal[1])
        return refuse(err, by_hand, text, "no values");
    if (s->nflags == SS_SWEEP_FLAGS)
        return refuse(err, "vary fewer", text, "too many flags");
    if ((size_t)(equal - name) + 3 > sizeof f->name)
        return refuse(err, by_hand, text, "the name is too long");
    memset(f, 0, sizeof *f);
    snprintf(f->name, sizeof f->name, "--%.*s", (int)(equal - name), name);
    int rc = check_name(s, f, err);
    for (const char *at = equal + 1; !rc; at++) {
        size_t n = strcspn(at, ",");
        rc = is_range(at, n) ? add_range(f, at, n, text, err) : add_value(f, at, n, text, err);
        at += n;
        if (!*at)
            break;
    }
    SS_THEN(rc, check_values(f, err));
    SS_THEN(rc, check_others(s, f, err));
    s->nflags += !rc;
    return rc;
}

/* Returns whether the values of a flag beat "--flag value": the same thing, the same prop (factors multiply), or more than what it says. */
static int beats(const struct ss_sweep_flag *f, const char *words)
{
    const char *set = words + strcspn(words, "= "), *varied = f->value[0];
    struct ss_sweep_flag given = {.nvalues = 1};

    snprintf(given.name, sizeof given.name, "%.*s", (int)(set - words), words);
    snprintf(given.value[0], sizeof given.value[0], "%s", *set ? set + 1 : "on");
    if (!strcmp(given.name, "--set") && !strcmp(f->name, "--set")) {
        set += !strncmp(set + 1, "ss.", 3) ? 4 : 1;
        varied += !strncmp(varied, "ss.", 3) ? 3 : 0;
        return !strncmp(set, varied, strcspn(varied, "=") + 1);
    }
    return strcmp(given.name, "--scale") != 0 &&
           (ss_flag_same(f->name, given.name) || ss_sweep_hides(f, &given));
}

int ss_sweep_note_beaten(const struct ss_sweep *s, struct ss_request *base, struct ss_error *err)
{
    char text[256];

    for (int f = 0; f < s->nflags; f++)
        for (size_t i = 0, n; i < base->n; i += n) {
            const struct ss_request_place *place = &base->place[base->word[i].place];
            n = ss_request_span(base, i);
            ss_request_words(base, i, n, text, sizeof text);
            if (place->file || place->whence || place->program || !beats(&s->flags[f], text))
                continue;
            if (ss_notes_add(&base->notes, "%s: the values of --vary %s take its place", text,
                             s->flags[f].name + 2))
                return ss_nomem(err);
            ss_request_remove(base, i, n);
            n = 0;
        }
    return SS_OK;
}

int ss_sweep_open(struct ss_sweep *s, struct ss_request *base, struct ss_error *err)
{
    size_t at = ss_request_find(base, "--nodes"), n = at < base->n ? ss_request_span(base, at) : 0;
    const char *joined = n ? strchr(base->word[at].text, '=') : NULL, *value = joined ? joined + 1
                                                                               : n > 1
                                                                                   ? base->word[at + 1].text
                                                                                   : "";
    char text[512];
    int rc = SS_OK;

    if (strchr(value, ',') || strstr(value, "..")) {
        snprintf(text, sizeof text, "nodes=%s", value);
        rc = ss_sweep_vary(s, text, err);
        if (!rc)
            ss_request_drop(base, "--nodes");
    }
    for (const struct ss_sweep_flag *f = s->flags; f < s->flags + s->nflags && !rc; f++)
        if (f->cut &&
            ss_notes_add(&base->notes,
                         "--vary %s: each number of a range is twice the one before, so %d is none of them",
                         f->name + 2, f->cut))
            rc = ss_nomem(err);
    return rc ? rc : ss_sweep_note_beaten(s, base, err);
}

/* Tells what is missing where nothing is varied. */
static int check_any(const struct ss_request *base, struct ss_error *err)
{
    struct ss_asked asked;
    int rc = ss_asked_read(&asked, base, err);

    return rc ? rc : ss_asked_check_given(&asked, base, SS_NEEDS_OF_A_RUN | SS_NEED_VARY, err);
}

int ss_sweep_check(const struct ss_sweep *s, const struct ss_request *base, struct ss_error *err)
{
    if (!s->nflags)
        return check_any(base, err);
    for (int f = 0; f < s->nflags; f++) {
        const struct ss_sweep_flag *flag = &s->flags[f];
        int off = 0, value = 0;
        for (int i = 0; i < flag->nvalues; i++) {
            off |= !strcmp(flag->value[i], "off");
            value |= strcmp(flag->value[i], "off") != 0 && strcmp(flag->value[i], "on") != 0;
        }
        if (off && value)
            return refuse(err, "name a value instead, as recompute=none,full", flag->name,
                          "\"off\" beside a value");
        if (off && (!strcmp(flag->name, "--bf16") || !strcmp(flag->name, "--fp16")))
            return refuse(err, "say the precisions: --vary precision=bf16,fp32", flag->name,
                          "\"off\" leaves the precision open");
        if (off && ss_job_lacks_effect(base, flag->name))
            return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                           "--vary %s=on,off: the job gives it already, or it has no effect" SS_HINT
                           "leave it out of the job, or do not vary it",
                           flag->name);
    }
    return SS_OK;
}
