/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of every `ss.` prop as one table, and what can be said of a prop by its row alone. */
#include "base/base.h"
#include "stepsim/params.h"

/* The rows of one X-macro each. */
/* clang-format off */
static const struct ss_prop props[SS_PROP_COUNT] = {
#define X(field, prop_id, prop_unit, req, dflt, lo, hi, text)                                                \
    [SS_PROP_##field] = {.id = prop_id, .owner = SS_OF_CARD, .unit = SS_UNIT_##prop_unit, .def = dflt,       \
        .low = lo, .high = hi, .where = SS_AT_GPU, .required = req,                                          \
        .offset = offsetof(struct ss_card, field), .doc = text},
    SS_CARD_PROPS(X)
#undef X
#define X(sym, prop_id, prop_unit, lo, hi, text)                                                             \
    [SS_PROP_##sym] = {.id = prop_id, .owner = SS_OF_LINK, .unit = SS_UNIT_##prop_unit, .low = lo,           \
        .high = hi, .where = SS_AT_VARIANT, .doc = text},
    SS_LINK_PROPS(X)
#undef X
#define X(sym, prop_id, prop_unit, lo, hi, text)                                                             \
    [SS_PROP_##sym] = {.id = prop_id, .owner = SS_OF_CLUSTER, .unit = SS_UNIT_##prop_unit, .low = lo,        \
        .high = hi, .where = SS_AT_ROOT, .doc = text},
    SS_CLUSTER_PROPS(X)
#undef X
#define X(sym, prop_id, places, prop_unit, lo, hi, text)                                                     \
    [SS_PROP_##sym] = {.id = prop_id, .owner = SS_OF_LAYOUT, .unit = SS_UNIT_##prop_unit, .low = lo,         \
        .high = hi, .where = places, .doc = text},
    SS_LAYOUT_PROPS(X)
#undef X
#define X(sym, prop_id, places, req, choices, text)                                                          \
    [SS_PROP_##sym] = {.id = prop_id, .owner = SS_OF_LAYOUT, .is_word = 1, .words = choices,                 \
        .where = places, .required = req, .doc = text},
    SS_LAYOUT_WORDS(X)
#undef X
#define X(field, prop_id, prop_unit, dflt, lo, hi, text)                                                     \
    [SS_PROP_##field] = {.id = prop_id, .owner = SS_OF_STACK, .unit = SS_UNIT_##prop_unit, .def = dflt,      \
        .low = lo, .high = hi, .offset = offsetof(struct ss_stack, field), .doc = text},
    SS_STACK_PROPS(X)
#undef X
#define W(symbol, word) " " word
#define X(field, prop_id, choices, dflt, text)                                                               \
    [SS_PROP_##field] = {.id = prop_id, .owner = SS_OF_STACK, .is_word = 1, .words = &(choices(W))[1],       \
        .def = dflt, .offset = offsetof(struct ss_stack, field), .doc = text},
    SS_STACK_WORDS(X)
#undef X
#undef W
};
/* clang-format on */

const char *ss_owner_name(enum ss_owner owner)
{
    switch (owner) {
    case SS_OF_CARD: return "card";
    case SS_OF_LINK: return "link";
    case SS_OF_CLUSTER: return "cluster";
    case SS_OF_LAYOUT: return "layout";
    case SS_OF_STACK: return "stack";
    }
    return "";
}

const struct ss_prop *ss_prop_at(int index)
{
    return index >= 0 && index < SS_PROP_COUNT ? &props[index] : NULL;
}

static const struct {
    int prop;
    const char *id;
} aliases[] = {
#define X(sym, other) {SS_PROP_##sym, other},
    SS_PROP_ALIASES(X)
#undef X
};

const char *ss_prop_key(int index)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(aliases); i++)
        if (aliases[i].prop == index)
            return aliases[i].id;
    return props[index].id;
}

/* Lengths of the ids: few are as long as another. */
static const unsigned char lengths[SS_PROP_COUNT] = {
#define X(sym, prop_id, ...) [SS_PROP_##sym] = sizeof prop_id - 1,
    SS_CARD_PROPS(X) SS_LINK_PROPS(X) SS_CLUSTER_PROPS(X) SS_LAYOUT_PROPS(X) SS_LAYOUT_WORDS(X)
        SS_STACK_PROPS(X) SS_STACK_WORDS(X)
#undef X
};

int ss_prop_find(const char *id, int owners)
{
    if (!id || strncmp(id, "ss.", 3) != 0)
        return -1;
    for (size_t i = 0; i < SS_ARRAY_LEN(aliases); i++)
        if (aliases[i].id[3] == id[3] && (props[aliases[i].prop].owner & owners) != 0 &&
            strcmp(aliases[i].id, id) == 0)
            return aliases[i].prop;
    const size_t length = strlen(id);
    int first = owners & SS_OF_PLATFORM ? 0 : SS_PROP_PLATFORM_COUNT;
    int end = owners & SS_OF_STACK ? SS_PROP_COUNT : SS_PROP_PLATFORM_COUNT;
    for (const unsigned char *l = lengths + first;
         (l = memchr(l, (int)length, (size_t)(lengths + end - l))) != NULL; l++) {
        const struct ss_prop *prop = &props[l - lengths];
        if ((prop->owner & owners) != 0 && strcmp(prop->id, id) == 0)
            return (int)(l - lengths);
    }
    return -1;
}

int ss_prop_is_settable(int index)
{
    return props[index].owner != SS_OF_LAYOUT;
}

int ss_prop_is_fittable(int index)
{
    return (props[index].owner & (SS_OF_CARD | SS_OF_LINK | SS_OF_STACK)) != 0 && !props[index].is_word &&
           props[index].unit != SS_UNIT_COUNT;
}

int ss_prop_is_of_bench(int index)
{
    static const int of_bench[] = {
#define X(field, ...) SS_PROP_##field,
        SS_BENCH_CURVE_PROPS(X)
#undef X
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(of_bench); i++)
        if (of_bench[i] == index)
            return 1;
    return 0;
}

int ss_prop_is_scalable(int index)
{
    return ss_prop_is_settable(index) && !props[index].is_word && props[index].unit != SS_UNIT_COUNT &&
           index != SS_PROP_hbm_size && !ss_prop_is_of_bench(index); /* which change nothing */
}

const char *ss_prop_nearest(const char *id, int (*may)(int index))
{
    const char *names[SS_PROP_COUNT + SS_ARRAY_LEN(aliases)];
    size_t n = 0;

    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (may(i))
            names[n++] = props[i].id;
    for (size_t i = 0; i < SS_ARRAY_LEN(aliases); i++)
        if (may(aliases[i].prop))
            names[n++] = aliases[i].id;
    return ss_nearest(id, names, n);
}

static int check_range(int index, double value, const char *text, const char *file, int line,
                       struct ss_error *err)
{
    const struct ss_prop *p = &props[index];
    char low[48], high[48];

    if (value >= p->low && value <= p->high)
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, file, line, "%s=\"%.60s\" is outside %s to %s", p->id, text,
                   ss_unit_format(p->low, p->unit, low, sizeof(low)),
                   ss_unit_format(p->high, p->unit, high, sizeof(high)));
}

int ss_prop_check(int index, double value, struct ss_error *err)
{
    char text[64];

    snprintf(text, sizeof text, "%.6g", value); /* for people: six digits, then its unit */
    if (props[index].unit != SS_UNIT_FRACTION)  /* above 1 it has no text */
        ss_unit_format(strtod(text, NULL), props[index].unit, text, sizeof text);
    return check_range(index, value, text, NULL, 0, err);
}

int ss_prop_parse(int index, const char *text, const char *file, int line, double *out, struct ss_error *err)
{
    const struct ss_prop *p = &props[index];
    const char *why = "";

    if (ss_unit_parse(text, p->unit, out, &why) != SS_OK)
        return ss_fail(err, SS_ERR_INPUT, file, line, "%s=\"%.60s\": %s" SS_HINT "write it like %s", p->id,
                       text, why, ss_unit_example(p->unit));
    int rc = check_range(index, *out, text, file, line, err);
    return !rc ? rc : ss_hint(err, rc, "is the unit right?");
}

#define W(symbol, word) word,
#define X(field, id, choices, def, doc) static const char *const words_of_##field[] = {choices(W) NULL};
SS_STACK_WORDS(X)
#undef X
#undef W

const char *ss_prop_word(int index, int value)
{
    static const char *const *const words[SS_PROP_COUNT] = {
#define X(field, id, choices, def, doc) [SS_PROP_##field] = words_of_##field,
        SS_STACK_WORDS(X)
#undef X
    };
    int last = 0;

    while (words[index] && words[index][last] && last < value)
        last++;
    return words[index] && value >= 0 ? words[index][last] : NULL;
}

int ss_prop_check_word(int index, const char *text, const char *file, int line, struct ss_error *err)
{
    const struct ss_prop *p = &props[index];

    if (p->words == NULL || ss_has_word(p->words, text))
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, file, line, "%s cannot be \"%.60s\"" SS_HINT "one of: %s", p->id, text,
                   p->words);
}

double ss_prop_get(int index, const void *of)
{
    return *(const double *)((const char *)of + props[index].offset);
}

void ss_prop_put(int index, void *of, double value)
{
    *(double *)((char *)of + props[index].offset) = value;
}
