/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a platform by prop: of its card, its links and its network. */
#include "platform/platform_internal.h"

/* ---- what-ifs ---- */

static int link_kind(int prop)
{
    return ss_link_kind_of(ss_prop_key(prop) + 3, NULL, "nvlink");
}

static void set_foreign_latency(struct ss_foreign *f, int kind, double value)
{
    for (long r = 0; r < (long)f->ngpus * f->ngpus; r++)
        for (int i = 0; i < f->routes[r].nlinks; i++) {
            const struct ss_foreign_link *link = &f->links[f->pool[f->routes[r].first + i]];

            if (link->kind == kind)
                f->routes[r].latency += value - link->latency;
        }
    for (int i = 0; i < f->nlinks; i++)
        if (f->links[i].kind == kind)
            f->links[i].latency = value;
}

static void set_links(struct ss_platform *p, int prop, double value)
{
    int kind = link_kind(prop), is_bandwidth = ss_prop_at(prop)->unit == SS_UNIT_BANDWIDTH;
    struct ss_foreign *f = p->foreign;

    if (f == NULL) {
        (is_bandwidth ? p->bandwidth : p->latency)[kind] = value;
        ss_template_derive(p);
    } else if (!is_bandwidth) {
        set_foreign_latency(f, kind, value);
    } else {
        for (int i = 0; i < f->nlinks; i++)
            if (f->links[i].kind == kind)
                f->links[i].bandwidth = value;
    }
}

/* Returns the value for a foreign platform: the first GPU's way to its neighbour gives the bandwidth, its
 * first link the latency. */
static double get_links(const struct ss_platform *p, int prop)
{
    int kind = link_kind(prop), is_bandwidth = ss_prop_at(prop)->unit == SS_UNIT_BANDWIDTH;

    if (p->foreign == NULL)
        return (is_bandwidth ? p->bandwidth : p->latency)[kind];
    if (is_bandwidth)
        return ss_foreign_bandwidth(p, kind);
    for (int i = 0; i < p->foreign->nlinks; i++)
        if (p->foreign->links[i].kind == kind)
            return p->foreign->links[i].latency;
    return 0;
}

/* Scales all links of a kind, which may differ in a foreign platform. */
static void scale_foreign(struct ss_foreign *f, int kind, int is_bandwidth, double factor)
{
    for (long r = 0; !is_bandwidth && r < (long)f->ngpus * f->ngpus; r++)
        for (int i = 0; i < f->routes[r].nlinks; i++) {
            const struct ss_foreign_link *link = &f->links[f->pool[f->routes[r].first + i]];

            if (link->kind == kind)
                f->routes[r].latency += link->latency * (factor - 1);
        }
    for (int i = 0; i < f->nlinks; i++)
        if (f->links[i].kind == kind)
            *(is_bandwidth ? &f->links[i].bandwidth : &f->links[i].latency) *= factor;
}

static int set_network(struct ss_platform *p, int prop, double value, struct ss_error *err)
{
    if (p->foreign != NULL)
        return ss_fail(err, SS_ERR_INPUT, p->file, 0, "%s is a value of platforms with ss.template",
                       ss_prop_at(prop)->id);
    if (prop == SS_PROP_OVERSUBSCRIPTION)
        p->oversubscription = value;
    else
        p->nodes_per_leaf = (int)value;
    ss_template_derive(p);
    return SS_OK;
}

static int unknown_prop(const char *id, struct ss_error *err)
{
    if (strncmp(id, "ss.", 3) == 0)
        return ss_prop_unknown(id, NULL, 0, err);
    return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                   "unknown prop \"%.200s\"" SS_HINT "props of a platform start with \"ss.\"", id);
}

int ss_platform_put(struct ss_platform *p, int prop, double value, struct ss_error *err)
{
    switch (ss_prop_at(prop)->owner) {
    case SS_OF_CLUSTER: return set_network(p, prop, value, err);
    case SS_OF_LINK: set_links(p, prop, value); return SS_OK;
    default: ss_prop_put(prop, &p->card, value); return SS_OK;
    }
}

int ss_platform_set(struct ss_platform *p, const char *id, const char *value, struct ss_error *err)
{
    int prop = ss_prop_find(id, SS_OF_PLATFORM), rc;
    double number;

    if (!id || !value)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "no prop to set, or no value of it");
    if (prop < 0)
        return unknown_prop(id, err);
    if (!ss_prop_is_settable(prop))
        return ss_fail(err, SS_ERR_INPUT, NULL, 0,
                       "%s cannot be set" SS_HINT "it is the shape of the platform; edit the file", id);
    rc = ss_prop_parse(prop, value, NULL, 0, &number, err);
    return rc ? rc : ss_platform_put(p, prop, number, err);
}

double ss_platform_get(const struct ss_platform *p, int prop)
{
    switch (ss_prop_at(prop)->owner) {
    case SS_OF_CARD: return ss_prop_get(prop, &p->card);
    case SS_OF_LINK: return get_links(p, prop);
    case SS_OF_CLUSTER: return prop == SS_PROP_OVERSUBSCRIPTION ? p->oversubscription : p->nodes_per_leaf;
    default: return prop == SS_PROP_GPUS_PER_NODE ? p->gpus_per_node : p->nics_per_node;
    }
}

int ss_platform_scale(struct ss_platform *p, int prop, double factor, struct ss_error *err)
{
    const struct ss_prop *row = ss_prop_at(prop);

    if (!row || !(row->owner & SS_OF_PLATFORM) || !ss_prop_is_settable(prop))
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "%s is no number of a platform that can be scaled",
                       row ? row->id : "this index");
    double value = ss_platform_get(p, prop) * factor;
    int rc = ss_prop_check(prop, value, err);

    if (rc || row->owner != SS_OF_LINK || p->foreign == NULL)
        return rc ? rc : ss_platform_put(p, prop, value, err);
    scale_foreign(p->foreign, link_kind(prop), row->unit == SS_UNIT_BANDWIDTH, factor);
    return SS_OK;
}

/* ---- hash ---- */
