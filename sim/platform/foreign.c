/* SPDX-License-Identifier: Apache-2.0 */
/* Any other SimGrid platform: which hosts are the GPUs of which node, and the routes that SimGrid's kernel
 * gives. */
#include "platform/foreign.h"

static int same_card(const struct ss_foreign_reader *r, const struct ss_props *props,
                     const struct ss_card *card, int line, const char *host)
{
    const char *id = strcmp(card->name, r->p->card.name) != 0 ? ss_prop_at(SS_PROP_CARD)->id : NULL;
    const struct ss_prop_value *from = &props->value[SS_PROP_CARD];

    for (int i = 0; i < SS_PROP_CARD_COUNT && id == NULL; i++)
        if (ss_prop_get(i, card) != ss_prop_get(i, &r->p->card)) {
            id = ss_prop_at(i)->id;
            from = &props->value[i];
        }
    if (id == NULL)
        return SS_OK;
    return ss_fail(r->err, SS_ERR_UNSUPPORTED, from->line > 0 ? from->file : r->p->file,
                   from->line > 0 ? from->line : line,
                   "%s of host \"%s\" differs from that of host \"%s\"" SS_HINT
                   "one platform has one kind of card",
                   id, host, r->first_host);
}

/* A file that was written for SimGrid alone: all that it lacks at once. */
static int check_told(const struct ss_foreign_reader *r, const struct ss_props *props)
{
    bool told = props->value[SS_PROP_GPUS_PER_NODE].text != NULL || props->value[SS_PROP_NODE].text != NULL ||
                props->value[SS_PROP_CARD].text != NULL;

    for (int i = 0; i < SS_PROP_CARD_COUNT && !told; i++)
        told = props->value[i].text != NULL;
    if (told)
        return SS_OK;
    return ss_fail(r->err, SS_ERR_INPUT, r->p->file, r->root_zone->line,
                   "no word of the GPUs' card and of how many hosts, a GPU each, are a node" SS_HINT
                   "give --card NAME and --gpus-per-node N (\"stepsim list cards\"), or the props "
                   "ss.card.base and ss.gpus_per_node in this zone");
}

/* The host at the walk's point, with the props that hold for it. */
static int add_host(struct ss_foreign_reader *r, const struct ss_props *props, int line, bool *checked)
{
    struct ss_card card;
    const char *name = r->ix->points[r->next].name;
    const struct ss_prop_value *node = &props->value[SS_PROP_NODE];

    if (!*checked) {
        int rc = check_told(r, props);
        SS_THEN(rc, ss_props_card(props, r->p->file, r->root_zone->line, &card, r->err));

        if (!rc && r->have_card)
            rc = same_card(r, props, &card, line, name);
        else if (!rc)
            rc = ss_props_fabric(props, r->p, r->err);
        if (!rc && !r->have_card)
            rc = ss_props_assumed(props, r->p->fabric_word, &r->p->assumed, r->err);
        if (!rc && !r->have_card)
            rc = ss_props_library(props, r->p, r->err);
        SS_THEN(rc, ss_props_basis(props, r->p, r->err));
        if (rc)
            return rc;
        if (!r->have_card) {
            r->p->card = card;
            r->p->has_card = props->value[SS_PROP_CARD].step > props->outside;
            r->first_host = name;
        }
        r->have_card = *checked = true;
    }
    SS_NEED(!ss_grow(&r->gpus, &r->cap, r->ngpus + 1, sizeof(*r->gpus)), r->err);
    r->gpus[r->ngpus++] = (struct ss_foreign_gpu){r->next, node->text != NULL ? (long)node->number : -1};
    r->numbered = r->numbered || node->text != NULL;
    r->next++;
    return SS_OK;
}

/* Takes every host of a <cabinet>, which is no zone of its own. */
static int walk_cabinet(struct ss_foreign_reader *r, const struct ss_props *props,
                        const struct ss_xml_node *node, bool *checked)
{
    int rc = SS_OK;

    while (!rc && r->next < (int)r->ix->npoints && r->ix->points[r->next].node == node)
        rc = add_host(r, props, node->line, checked);
    return rc;
}

static int walk_cluster(struct ss_foreign_reader *r, const struct ss_props *outer,
                        const struct ss_xml_node *node, int where)
{
    struct ss_props props = *outer;
    int self = r->next++;
    bool checked = false;
    int rc = ss_props_read(&props, node, where | SS_AT_HOST, r->p->file, r->err);

    while (!rc && r->next < (int)r->ix->npoints && r->ix->points[r->next].zone == self) {
        if (r->ix->points[r->next].kind == SS_ENTRY_HOST)
            rc = add_host(r, &props, node->line, &checked);
        else
            r->next++;
    }
    return rc;
}

/* The root's props are in `outer` already. */
static int walk_zone(struct ss_foreign_reader *r, const struct ss_props *outer,
                     const struct ss_xml_node *zone)
{
    struct ss_props props = *outer, other;
    bool checked = false, fresh;
    int rc = SS_OK;

    r->next++;
    if (zone != r->root_zone)
        rc = ss_props_read(&props, zone, SS_AT_ZONE, r->p->file, r->err);
    for (const struct ss_xml_node *c = zone->first_child; c != NULL && !rc; c = c->next) {
        if (ss_tag_is(c, "zone")) {
            rc = walk_zone(r, &props, c); /* depth bounded by the reader */
        } else if (ss_tag_is(c, "cluster")) {
            rc = walk_cluster(r, &props, c, SS_AT_ZONE);
        } else if (ss_tag_is(c, "cabinet")) {
            rc = walk_cabinet(r, &props, c, &checked);
        } else if (ss_tag_is(c, "router")) {
            r->next++;
        } else if (ss_tag_is(c, "link") && c->first_child != NULL) {
            memset(&other, 0, sizeof(other));
            rc = ss_props_read(&other, c, SS_AT_LINK, r->p->file, r->err);
        } else if (ss_tag_is(c, "host")) {
            other = props;
            fresh = c->first_child == NULL && checked;
            rc = ss_props_read(&other, c, SS_AT_HOST, r->p->file, r->err);
            SS_THEN(rc, add_host(r, &other, c->line, &fresh));
            checked = checked || (!rc && c->first_child == NULL);
        }
    }
    return rc;
}

static int by_node(const void *a, const void *b)
{
    const struct ss_foreign_gpu *x = a, *y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

static int unequal(const struct ss_foreign_reader *r, const struct ss_foreign_gpu *first, int had, int want)
{
    const struct ss_entry *e = &r->ix->points[first->point];

    return ss_fail(r->err, SS_ERR_INPUT, r->p->file, e->node->line,
                   "node %ld has %d GPUs, the first has %d" SS_HINT "all nodes must have as many GPUs",
                   first->node, had, want);
}

/* Hosts that say ss.node are GPUs; the others are not. */
static int group_numbered(struct ss_foreign_reader *r, int *nodes, int per_node)
{
    size_t n = 0;
    int had = 0, rc = SS_OK;

    for (size_t i = 0; i < r->ngpus; i++)
        if (r->gpus[i].node >= 0)
            r->gpus[n++] = r->gpus[i];
    r->ngpus = n;
    qsort(r->gpus, n, sizeof(*r->gpus), by_node);
    *nodes = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        had++;
        if (i + 1 < n && r->gpus[i + 1].node == r->gpus[i].node)
            continue;
        if (per_node == 0)
            per_node = had;
        if (had != per_node)
            rc = unequal(r, &r->gpus[i + 1 - (size_t)had], had, per_node);
        had = 0;
        ++*nodes;
    }
    r->p->gpus_per_node = per_node;
    return rc;
}

static int group(struct ss_foreign_reader *r, const struct ss_props *props, int want)
{
    const struct ss_prop_value *per = &props->value[SS_PROP_GPUS_PER_NODE];
    struct ss_platform *p = r->p;
    int per_node = (int)ss_props_number(props, SS_PROP_GPUS_PER_NODE, 0), nodes;

    if (r->of_nodes) {
        SS_TRY(ss_foreign_nodes_check(r, props));
        p->gpus_per_node = per_node;
        nodes = (int)r->ngpus;
    } else if (r->numbered) {
        SS_TRY(group_numbered(r, &nodes, per->line > 0 ? per_node : 0));
    } else if (per_node == 0) {
        return ss_fail(r->err, SS_ERR_INPUT, p->file, r->root_zone->line,
                       "missing prop \"ss.gpus_per_node\"" SS_HINT
                       "add it to this zone, ss.node to every host that is a GPU, or give --gpus-per-node");
    } else if (r->ngpus % (size_t)per_node != 0) {
        return ss_fail(r->err, SS_ERR_INPUT, p->file, per->line > 0 ? per->line : r->root_zone->line,
                       "%zu hosts are no whole nodes of %d GPUs" SS_HINT "all nodes must have as many GPUs",
                       r->ngpus, per_node);
    } else {
        p->gpus_per_node = per_node;
        nodes = (int)(r->ngpus / (size_t)per_node);
    }
    if (want > nodes)
        return ss_fail(r->err, SS_ERR_INPUT, p->file, r->root_zone->line,
                       "the file has %d nodes, not %d" SS_HINT
                       "only platforms with ss.template have any number of nodes",
                       nodes, want);
    p->nodes = want > 0 ? want : nodes;
    return SS_OK;
}

/* Distinct links by which the first node's GPUs leave it. */
static int count_nics(const struct ss_platform *p)
{
    const struct ss_foreign *f = p->foreign;
    int seen[SS_MAX_GPUS_PER_NODE], n = 0;

    for (int l = 0; p->nodes > 1 && l < p->gpus_per_node && l < SS_MAX_GPUS_PER_NODE; l++) {
        const struct ss_foreign_route *r = &f->routes[l * f->ngpus + p->gpus_per_node + l];
        int link = r->nlinks > 0 ? f->pool[r->first] : -1, old = 0;

        for (int i = r->nlinks - 1; i >= 0; i--)
            if (f->links[f->pool[r->first + i]].kind == SS_LINK_NIC)
                link = f->pool[r->first + i];
        while (old < n && seen[old] != link)
            old++;
        if (old == n && link >= 0)
            seen[n++] = link;
    }
    return n;
}

double ss_foreign_bandwidth(const struct ss_platform *p, int kind)
{
    const struct ss_foreign *f = p->foreign;
    int peer = kind == SS_LINK_FABRIC ? 1 : p->gpus_per_node;
    const struct ss_foreign_route *r;
    double narrowest = INFINITY;

    if (kind == SS_LINK_FABRIC ? p->gpus_per_node < 2 : p->nodes < 2)
        return 0;
    r = &f->routes[peer];
    for (int i = 0; i < r->nlinks; i++) {
        const struct ss_foreign_link *link = &f->links[f->pool[r->first + i]];

        if (link->kind == kind)
            return link->bandwidth;
        narrowest = fmin(narrowest, link->bandwidth);
    }
    return narrowest < INFINITY ? narrowest : 0;
}

static int walk(struct ss_foreign_reader *r, const struct ss_props *props)
{
    static const int of_template[] = {SS_PROP_NODES, SS_PROP_NODES_PER_LEAF, SS_PROP_OVERSUBSCRIPTION,
                                      SS_PROP_FABRIC_NODES};

    for (size_t i = 0; i < SS_ARRAY_LEN(of_template); i++)
        if (props->value[of_template[i]].text != NULL)
            return ss_fail(r->err, SS_ERR_INPUT, r->p->file, props->value[of_template[i]].line,
                           "prop \"%s\" belongs to a zone with ss.template" SS_HINT
                           "remove it: the hosts and links of this file say it",
                           ss_prop_at(of_template[i])->id);
    return ss_tag_is(r->root_zone, "zone") ? walk_zone(r, props, r->root_zone)
                                           : walk_cluster(r, props, r->root_zone, SS_AT_ROOT | SS_AT_ZONE);
}

int ss_foreign_read(struct ss_platform *p, const struct ss_xml_node *root, const struct ss_index *ix,
                    struct ss_props *props, const struct ss_platform_options *options, struct ss_error *err)
{
    struct ss_prop_value *per_node = &props->value[SS_PROP_GPUS_PER_NODE];
    const char *hosts = props->value[SS_PROP_HOSTS].text;
    struct ss_foreign_reader r = {.p = p,
                                  .ix = ix,
                                  .root_zone = ss_zone_of(root),
                                  .props = props,
                                  .of_nodes = hosts != NULL && strcmp(hosts, "nodes") == 0,
                                  .err = err};

    if (per_node->text == NULL && options != NULL && options->gpus_per_node > 0)
        *per_node =
            (struct ss_prop_value){.number = options->gpus_per_node, .text = "" /* line 0: the option */};
    int rc = walk(&r, props);
    SS_THEN(rc, group(&r, props, options != NULL ? options->nodes : 0));
    SS_THEN(rc, ss_foreign_make(&r, options));
    if (!rc)
        p->nics_per_node = (int)ss_props_number(props, SS_PROP_NICS_PER_NODE,
                                                r.of_nodes && props->value[SS_PROP_NIC_BANDWIDTH].text != NULL
                                                    ? p->gpus_per_node
                                                    : count_nics(p));
    free(r.gpus);
    return rc;
}

void ss_foreign_free(struct ss_foreign *f)
{
    if (f == NULL)
        return;
    for (int i = 0; i < f->ngpus && f->gpus != NULL; i++)
        free(f->gpus[i]);
    for (int i = 0; i < f->nlinks; i++)
        free(f->links[i].name);
    SS_FREE(f->gpus, f->links, f->routes, f->pool, f);
}
