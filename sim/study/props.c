/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that can be fitted: the props of a card, its links and a stack, by id. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "study/calibrate.h"

struct prop {
    const char *id;
    int unit;
    double lo, hi;
    int of_stack;
    size_t offset;
};
static const struct prop props[] = {
#define X(field, id, unit, required, def, lo, hi, doc)                                                       \
    {id, SS_UNIT_##unit, lo, hi, 0, offsetof(struct ss_card, field)},
    SS_CARD_PROPS(X)
#undef X
#define X(field, id, unit, def, lo, hi, doc)                                                                 \
    {id, SS_UNIT_##unit, lo, hi, 1, offsetof(struct ss_stack, field)},
        SS_STACK_PROPS(X)
#undef X
};
static const char *const links[] = {"ss.nvlink.bandwidth", "ss.nic.bandwidth"};

static const struct prop *find(const char *id)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(props); i++)
        if (!strcmp(props[i].id, id))
            return &props[i];
    return NULL;
}

static int unit_of(const char *id)
{
    const struct prop *p = find(id);

    return p ? p->unit : SS_UNIT_BANDWIDTH; /* of a link */
}

static int is_known(const char *id)
{
    return find(id) || !strcmp(id, links[0]) || !strcmp(id, links[1]);
}

static int is_word(const char *id)
{
    static const char *const words[] = {
#define X(field, id, size, words, def, doc) id,
        SS_STACK_WORDS(X)
#undef X
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        if (!strcmp(id, words[i]))
            return 1;
    return 0;
}

static int unknown(const char *id, struct ss_error *err)
{
    const char *names[SS_ARRAY_LEN(props) + SS_ARRAY_LEN(links)], *near;
    size_t n = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(props); i++)
        names[n++] = props[i].id;
    for (size_t i = 0; i < SS_ARRAY_LEN(links); i++)
        names[n++] = links[i];
    near = ss_nearest(id, names, n);
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "no prop \"%.60s\" of a card or a stack", id);
    return near ? ss_hint(err, SS_ERR_USAGE, "did you mean %s?", near)
                : ss_hint(err, SS_ERR_USAGE, "\"stepsim platform show h800\" lists the props of a card");
}

static int read_bound(const char *id, const char *text, double *out, struct ss_error *err)
{
    const char *why = "";

    if (!ss_unit_parse(text, unit_of(id), out, &why))
        return SS_OK;
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %.60s: bound \"%.40s\": %s", id, text, why);
    return ss_hint(err, SS_ERR_USAGE, "write it as --prop ss.nic.efficiency=0.5:1");
}

int ss_fit_prop_parse(const char *text, struct ss_fit_prop *out, struct ss_error *err)
{
    const char *equal = strchr(text, '='), *colon = equal ? strchr(equal, ':') : NULL;
    size_t n = equal ? (size_t)(equal - text) : strlen(text);
    char low[64];
    int rc;

    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%.*s", (int)(n < sizeof out->id ? n : sizeof out->id - 1), text);
    if (is_word(out->id))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %s: a word cannot be fitted", out->id);
    if (!is_known(out->id))
        return unknown(out->id, err);
    if (unit_of(out->id) == SS_UNIT_COUNT)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %s: a whole number cannot be fitted", out->id);
    if (!equal)
        return SS_OK;
    if (!colon || (size_t)(colon - equal) > sizeof low) {
        ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %.100s: not ID=LOW:HIGH", text);
        return ss_hint(err, SS_ERR_USAGE, "write it as --prop ss.nic.efficiency=0.5:1");
    }
    snprintf(low, sizeof low, "%.*s", (int)(colon - equal - 1), equal + 1);
    rc = read_bound(out->id, low, &out->lo, err);
    if (!rc)
        rc = read_bound(out->id, colon + 1, &out->hi, err);
    if (!rc && !(out->lo < out->hi))
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %.100s: the lower bound is not below the upper one",
                     text);
    return rc;
}

double ss_study_prop_get(const char *id, const struct ss_platform *p, const struct ss_stack *s)
{
    const struct prop *prop = find(id);

    if (!prop)
        return !strcmp(id, links[0]) ? ss_platform_nvlink_bandwidth(p) : ss_platform_nic_bandwidth(p);
    return *(const double *)((prop->of_stack ? (const char *)s : (const char *)ss_platform_card(p)) +
                             prop->offset);
}

int ss_study_prop_set(const char *id, double value, struct ss_platform *p, struct ss_stack *s,
                      struct ss_error *err)
{
    const struct prop *prop = find(id);
    char text[64];

    ss_unit_format(value, unit_of(id), text, sizeof text);
    return prop && prop->of_stack ? ss_stack_set(s, id, text, err) : ss_platform_set(p, id, text, err);
}

const char *ss_study_prop_text(const char *id, double value, char *buf, size_t size)
{
    /* Four digits are more than a fit knows. */
    int e = value != 0 ? (int)floor(log10(fabs(value))) - 3 : 0;
    double ten = pow(10, abs(e));

    return ss_unit_format(e > 0 ? round(value / ten) * ten : round(value * ten) / ten, unit_of(id), buf,
                          size);
}

int ss_study_prop_complete(struct ss_fit_prop *f, const struct ss_platform *p, const struct ss_stack *s,
                           struct ss_error *err)
{
    const struct prop *prop = find(f->id);
    double lo = prop ? prop->lo : 1e6, hi = prop ? prop->hi : 1e15;
    char a[64], b[64];

    f->of_stack = prop && prop->of_stack;
    f->before = f->after = ss_study_prop_get(f->id, p, s);
    if (f->lo == f->hi && unit_of(f->id) == SS_UNIT_FRACTION) {
        f->lo = lo;
        f->hi = hi;
    } else if (f->lo == f->hi) { /* without a physical bound: a factor of three */
        f->lo = fmax(lo, f->before / 3);
        f->hi = fmin(hi, f->before > 0 ? 3 * f->before : lo + 0.01 * (hi - lo));
    }
    if (f->lo < lo || f->hi > hi) {
        ss_fail(err, SS_ERR_USAGE, NULL, 0, "bounds of %s reach outside %s..%s", f->id,
                ss_unit_format(lo, unit_of(f->id), a, sizeof a),
                ss_unit_format(hi, unit_of(f->id), b, sizeof b));
        return SS_ERR_USAGE;
    }
    if (!(f->lo < f->hi))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s has no range to be fitted in", f->id);
    return SS_OK;
}
