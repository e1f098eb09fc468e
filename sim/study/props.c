/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that can be fitted, by id: the props of a card, of its links and of a stack. */
#include "base/base.h"
#include "study/calibrate.h"

static int unknown(const char *id, struct ss_error *err)
{
    const char *near = ss_prop_nearest(id, ss_prop_is_fittable);

    ss_fail(err, SS_ERR_USAGE, NULL, 0, "no prop \"%.60s\" of a card or a stack", id);
    return near ? ss_hint(err, SS_ERR_USAGE, "did you mean %s?", near)
                : ss_hint(err, SS_ERR_USAGE, "\"stepsim list props\" lists them");
}

/* Returns the index of a prop that can be fitted; < 0: an error, which is in *err. */
static int fittable(const char *id, struct ss_error *err)
{
    int prop = ss_prop_find(id, SS_OF_ANY);

    if (prop < 0 || (ss_prop_at(prop)->owner & (SS_OF_CLUSTER | SS_OF_LAYOUT)) != 0)
        return unknown(id, err);
    if (!ss_prop_is_fittable(prop))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %s: a %s cannot be fitted", id,
                       ss_prop_at(prop)->is_word ? "word" : "whole number");
    return prop;
}

static int read_bound(int prop, const char *text, double *out, struct ss_error *err)
{
    const char *why = "";

    if (!ss_unit_parse(text, ss_prop_at(prop)->unit, out, &why))
        return SS_OK;
    return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                   "--prop %.60s: bound \"%.40s\": %s" SS_HINT "write it as --prop ss.nic.efficiency=0.5:1",
                   ss_prop_at(prop)->id, text, why);
}

int ss_fit_prop_parse(const char *text, struct ss_fit_prop *out, struct ss_error *err)
{
    text = text ? text : "";
    const char *equal = strchr(text, '='), *colon = equal ? strchr(equal, ':') : NULL;
    size_t n = equal ? (size_t)(equal - text) : strlen(text);
    char low[64];
    int prop, rc;

    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%.*s", (int)(n < sizeof out->id ? n : sizeof out->id - 1), text);
    if ((prop = fittable(out->id, err)) < 0)
        return prop;
    if (!equal)
        return SS_OK;
    if (!colon || (size_t)(colon - equal) > sizeof low)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "--prop %.100s: not ID=LOW:HIGH" SS_HINT "write it as --prop ss.nic.efficiency=0.5:1",
                       text);
    snprintf(low, sizeof low, "%.*s", (int)(colon - equal - 1), equal + 1);
    rc = read_bound(prop, low, &out->lo, err);
    SS_THEN(rc, read_bound(prop, colon + 1, &out->hi, err));
    if (!rc && !(out->lo < out->hi))
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "--prop %.100s: the lower bound is not below the upper one",
                     text);
    return rc;
}

double ss_study_prop_get(const char *id, const struct ss_platform *p, const struct ss_stack *s)
{
    int prop = ss_prop_find(id, SS_OF_ANY);

    return ss_prop_at(prop)->owner == SS_OF_STACK ? ss_prop_get(prop, s) : ss_platform_get(p, prop);
}

int ss_study_prop_set(const char *id, double value, struct ss_platform *p, struct ss_stack *s,
                      struct ss_error *err)
{
    const struct ss_prop *prop = ss_prop_at(ss_prop_find(id, SS_OF_ANY));
    char text[64];

    ss_unit_format(value, prop->unit, text, sizeof text);
    return prop->owner == SS_OF_STACK ? ss_stack_set(s, id, text, err) : ss_platform_set(p, id, text, err);
}

int ss_study_prop_of_gemm(int precision)
{
    return ss_precision_at(precision)->efficiency;
}

const char *ss_study_prop_text(const char *id, double value, char *buf, size_t size)
{
    /* Four digits are more than a fit knows. */
    int e = value != 0 ? (int)floor(log10(fabs(value))) - 3 : 0;
    double ten = pow(10, abs(e));

    return ss_unit_format(e > 0 ? round(value / ten) * ten : round(value * ten) / ten,
                          ss_prop_at(ss_prop_find(id, SS_OF_ANY))->unit, buf, size);
}

int ss_study_prop_complete(struct ss_fit_prop *f, const struct ss_platform *p, const struct ss_stack *s,
                           struct ss_error *err)
{
    const struct ss_prop *prop = ss_prop_at(ss_prop_find(f->id, SS_OF_ANY));
    double lo = prop->low, hi = prop->high;
    char a[64], b[64];

    f->of_stack = prop->owner == SS_OF_STACK;
    f->before = f->after = ss_study_prop_get(f->id, p, s);
    if (f->lo == f->hi && prop->unit == SS_UNIT_FRACTION) {
        f->lo = lo;
        f->hi = hi;
    } else if (f->lo == f->hi) { /* without a physical bound: a factor of three */
        f->lo = fmax(lo, f->before / 3);
        f->hi = fmin(hi, f->before > 0 ? 3 * f->before : lo + 0.01 * (hi - lo));
    }
    if (f->lo < lo || f->hi > hi) {
        ss_fail(err, SS_ERR_USAGE, NULL, 0, "bounds of %s reach outside %s..%s", f->id,
                ss_unit_format(lo, prop->unit, a, sizeof a), ss_unit_format(hi, prop->unit, b, sizeof b));
        return SS_ERR_USAGE;
    }
    if (!(f->lo < f->hi))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s has no range to be fitted in", f->id);
    return SS_OK;
}
