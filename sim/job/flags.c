/* SPDX-License-Identifier: Apache-2.0 */
#include "job/flags.h"

#include <strings.h>

#include "base/base.h"

void ss_flag_of_setter(const struct ss_flag_setter *s, struct ss_flag *out)
{
    ss_copy(out->name, sizeof(out->name), s->name);
    out->treatment = s->treatment;
    out->values = s->values;
    out->why = s->doc;
    out->setter = s;
}

/* A flag of a group by its name without "--". */
static void from_group(const struct ss_flag_group *g, const char *name, size_t len, struct ss_flag *out)
{
    snprintf(out->name, sizeof(out->name), "--%.*s", (int)len, name);
    out->treatment = g->treatment;
    out->values = g->values;
    out->why = g->why;
    out->setter = NULL;
}

/* Next name of a group's list; *p moves past it. NULL at the end. */
static const char *next_name(const char **p, size_t *len)
{
    *p += strspn(*p, " ");
    const char *name = *p;
    *len = strcspn(name, " ");
    *p += *len;
    return *len ? name : NULL;
}

int ss_flag_next(struct ss_flag_walk *w, struct ss_flag *out)
{
    if (ss_flag_setters[w->setter].name) {
        ss_flag_of_setter(&ss_flag_setters[w->setter++], out);
        return 1;
    }
    for (const struct ss_flag_group *g = &ss_flag_groups[w->group]; g->names;
         g = &ss_flag_groups[++w->group]) {
        size_t len;
        if (!w->names)
            w->names = g->names;
        const char *name = next_name(&w->names, &len);
        if (name) {
            from_group(g, name, len, out);
            return 1;
        }
        w->names = NULL;
    }
    return 0;
}

/* The group of a table that has the name, of `len` bytes and without "--"; NULL: none. */
static const struct ss_flag_group *find_group(const struct ss_flag_group *g, const char *name, size_t len)
{
    char word[sizeof((struct ss_flag *)0)->name];

    if (len >= sizeof word || memchr(name, ' ', len))
        return NULL;
    memcpy(word, name, len);
    word[len] = '\0';
    while (g->names && !ss_has_word(g->names, word))
        g++;
    return g->names ? g : NULL;
}

static int find_in_groups(const struct ss_flag_group *table, const char *name, struct ss_flag *out)
{
    size_t len = strlen(name + 2);
    const struct ss_flag_group *g = find_group(table, name + 2, len);

    if (g)
        from_group(g, name + 2, len, out);
    return g != NULL;
}

const struct ss_flag_group *ss_flag_group_of(const char *word)
{
    return strncmp(word, "--", 2) ? NULL : find_group(ss_flag_groups, word + 2, strcspn(word + 2, "="));
}

void ss_flag_of_group(const struct ss_flag_group *g, const char *word, struct ss_flag *out)
{
    from_group(g, word + 2, strcspn(word + 2, "="), out);
}

const struct ss_flag_setter *ss_flag_setter_of(const char *word)
{
    if (strncmp(word, "--", 2) != 0 || !word[2])
        return NULL;
    const size_t n = strcspn(word, "=");
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name;
         s++) /* the letters spare most of the calls */
        if (s->name[2] == word[2] && s->name[3] == word[3] && !strncmp(s->name, word, n) && !s->name[n])
            return s;
    return NULL;
}

int ss_flag_find(const char *name, struct ss_flag *out)
{
    if (strncmp(name, "--", 2))
        return 0;
    const struct ss_flag_setter *s = strchr(name, '=') ? NULL : ss_flag_setter_of(name);
    if (!s)
        return find_in_groups(ss_flag_groups, name, out);
    ss_flag_of_setter(s, out);
    return 1;
}

int ss_flag_find_of_program(const char *name, struct ss_flag *out)
{
    if (!strncmp(name, "--", 2) && find_in_groups(ss_flags_of_programs, name, out))
        return 1;
    return ss_flag_find(name, out) && out->treatment != SS_FLAG_OWN;
}

int ss_flag_is_of_model(const struct ss_flag *f)
{
    /* those that set no field of struct ss_model */
    static const char others[] =
        "--model-config --padded-vocab-size --pad-vocab-size-to --tokenizer-type --patch-tokenizer-type "
        "--tokenizer-model "
        "--tokenizer-name-or-path --merge-file --group-query-attention --multi-latent-attention "
        "--multi-head-latent-attention --no-position-embedding --enable-mhc-connections "
        "--enable-hyper-connections "
        "--quick-geglu --glu-activation --activation-func-clamp-value --window-size --window-attn-skip-freq "
        "--hybrid-layer-pattern --hybrid-override-pattern --mtp-hybrid-override-pattern --is-hybrid-model "
        "--experimental-attention-variant --linear-attention-type --linear-attention-freq "
        "--csa-compress-ratios "
        "--mtp-num-layers --moe-layer-freq --moe-router-score-function --first-k-dense-replace "
        "--n-shared-experts";
    const size_t begin = offsetof(struct ss_asked, job.model);
    const struct ss_flag_setter *s = f->setter;

    return (s && s->kind < SS_FLAG_CALL && s->offset >= begin &&
            s->offset < begin + sizeof(struct ss_model)) ||
           ss_has_word(others, f->name);
}

const char *ss_job_word(const char *flag, int value)
{
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        for (const struct ss_flag_choice *c = s->choices; c && c->name; c++)
            if (c->value == value && !strcmp(s->name, flag))
                return c->name;
    return "unknown";
}

/* Whether a flag has all words of `name`, whatever their case: --expert-parallel is in --expert-model-parallel-size. */
static int has_words(const char *flag, const char *name)
{
    for (const char *p = name + strspn(name, "-"); *p; p += strspn(p, "-")) {
        size_t n = strcspn(p, "-"), len;
        const char *word = flag + strspn(flag, "-");
        for (; *word; word += len + (word[len] == '-')) {
            len = strcspn(word, "-");
            if (len == n && !strncasecmp(word, p, n))
                break;
        }
        if (!*word)
            return 0;
        p += n;
    }
    return 1;
}

/* The shortest flag with all words of `name` that has a meaning here, else the longest of several words that `name` has all of; NULL where
 * there is none, or too few letters to tell. */
static const char *modelled_with_words(const char *name)
{
    const char *best = NULL, *part = NULL;

    if (strlen(name) < 7 || strncmp(name, "--", 2))
        return NULL;
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        if ((!best || strlen(s->name) < strlen(best)) && has_words(s->name, name))
            best = s->name;
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name && !best; s++)
        if ((!part || strlen(s->name) > strlen(part)) && strchr(s->name + 2, '-') && has_words(name, s->name))
            part = s->name;
    return best ? best : part;
}

/* Whether a name that is a third of its letters off may be what was meant: there are so many that one is for any word. */
static int is_likely(const char *name, const char *near)
{
    size_t len = strlen(name) - strspn(name, "-");

    return has_words(name, near) || !strncmp(name, near, strlen(name)) ||
           ss_nearest_within(name, &near, 1, len < 10 ? 1 : len / 5);
}

int ss_flag_nearest(const char *name, char *buf, size_t size)
{
    struct ss_flag_walk w = {0};
    struct ss_flag f;
    char(*text)[sizeof(f.name)] = NULL;
    const char **names = NULL, *words = modelled_with_words(name);
    size_t n = 0, cap = 0;
    int found = 0;

    while (ss_flag_next(&w, &f)) {
        if (ss_grow(&text, &cap, n + 1, sizeof(f.name)))
            goto done;
        memcpy(text[n++], f.name, sizeof(f.name));
    }
    names = ss_calloc(n, sizeof(*names));
    if (!names)
        goto done;
    for (size_t i = 0; i < n; i++)
        names[i] = text[i];
    const char *near = ss_nearest_within(name, names, n, 1); /* a letter off: before one of the same words */
    near = near ? near : words ? words : ss_nearest(name, names, n);
    if (near && (near == words || is_likely(name, near))) {
        ss_copy(buf, size, near);
        found = 1;
    }
done:
    SS_FREE(text, names);
    return found;
}

/* Flags of a layout, which a plan of capacity may vary. */
static const char layout[] = "--tp --tensor-model-parallel-size --cp --context-parallel-size --pp "
                             "--pipeline-model-parallel-size --ep --expert-model-parallel-size --etp "
                             "--expert-tensor-parallel-size --mbs --micro-batch-size";

static int apply_int(const struct ss_flag_setter *s, int *target, const char *value, char *buf, size_t size,
                     const char **why)
{
    int64_t n;

    if (ss_parse_i64(value, (int64_t)s->low, (int64_t)s->high, &n)) {
        snprintf(buf, size, "\"%.60s\" is not a whole number in %.0f..%.0f", value, s->low, s->high);
        size_t digits = strspn(value, "0123456789");
        if (digits > 0 && digits < 5 && strchr("kK", value[digits]) && value[digits] && !value[digits + 1])
            ss_append(buf, size, ": write %d or %d", atoi(value) * 1024, atoi(value) * 1000);
        else if (digits > 0 && (value[digits] == ',' || !strncmp(value + digits, "..", 2)))
            ss_append(buf, size, ": several values are --vary %.40s=%.40s of stepsim search%s", s->name + 2,
                      value,
                      ss_has_word(layout, s->name) ? ", sweep and capacity"
                      : !strcmp(s->name, "--gpus") ? " and sweep; stepsim capacity has --nodes 8,16"
                                                   : " and sweep");
        *why = buf;
        return SS_ERR_INPUT;
    }
    *target = (int)n;
    return SS_OK;
}

static int apply_double(const struct ss_flag_setter *s, double *target, const char *value, char *buf,
                        size_t size, const char **why)
{
    double v;

    if (ss_parse_double(value, &v) || !(v >= s->low && v <= s->high)) {
        snprintf(buf, size, "\"%.60s\" is not a number in %g..%g", value, s->low, s->high);
        *why = buf;
        return SS_ERR_INPUT;
    }
    *target = v;
    return SS_OK;
}

static int apply_choice(const struct ss_flag_setter *s, int *target, const char *value, char *buf,
                        size_t size, const char **why)
{
    snprintf(buf, size, "\"%.60s\" is none of", value);
    for (const struct ss_flag_choice *c = s->choices; c->name; c++) {
        if (!strcmp(c->name, value)) {
            *target = c->value;
            return SS_OK;
        }
        ss_append(buf, size, " %s", c->name);
    }
    *why = buf;
    return SS_ERR_INPUT;
}

/* Stores nothing: the word that is modelled is what a job is like anyway. */
static int apply_only(const struct ss_flag_setter *s, const char *value, const char **why)
{
    for (const struct ss_flag_choice *c = s->choices; c->name; c++)
        if (!strcmp(c->name, value))
            return SS_OK;
    *why = s->wrong;
    return s->later[0] == '*' || ss_has_word(s->later, value) ? SS_ERR_UNSUPPORTED : SS_ERR_INPUT;
}

/* Notes that a flag was given whose field would otherwise follow from others. */
static void give(struct ss_asked *asked, const struct ss_flag_setter *s)
{
    static const size_t open[] = {
#define SS_OPEN(path, name) offsetof(struct ss_asked, path),
#include "stepsim/job_fields.def"
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(open) && s->kind < SS_FLAG_CALL; i++)
        if (open[i] == s->offset)
            asked->given |= 1u << i;
}

int ss_flag_apply(const struct ss_flag_setter *s, struct ss_asked *asked, int n, char *const *values,
                  char *buf, size_t size, const char **why)
{
    void *target = (char *)asked + s->offset;

    give(asked, s);
    switch ((enum ss_flag_kind)s->kind) {
    case SS_FLAG_SET: *(int *)target = (int)s->low; return SS_OK;
    case SS_FLAG_INT: return apply_int(s, target, values[0], buf, size, why);
    case SS_FLAG_DOUBLE: return apply_double(s, target, values[0], buf, size, why);
    case SS_FLAG_CHOICE: return apply_choice(s, target, values[0], buf, size, why);
    case SS_FLAG_TEXT:
        if (values[0][0] && strlen(values[0]) < (size_t)s->high) {
            ss_copy(target, (size_t)s->high, values[0]);
            return SS_OK;
        }
        *why = values[0][0] ? "the value is too long" : "the value is empty";
        return SS_ERR_INPUT;
    case SS_FLAG_CALL: return s->call(asked, n, values, why);
    case SS_FLAG_ONLY: return apply_only(s, values[0], why);
    case SS_FLAG_PROP: return SS_OK; /* of the scenario, not of the job */
    }
    return SS_ERR_INPUT;
}
