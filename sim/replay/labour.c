/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates what uneven flows of collectives cost the native engine, before they are replayed. */
#include "base/base.h"
#include "replay/engine.h"

/* Flows of at most this many sizes end at few moments: they are hops of an algorithm, each of which is
 * even. */
#define FEW 4

/* A component of the phase at hand, by the link that stands for it. */
struct part {
    int parent; /* link, or itself */
    int nflows, nsizes;
    double size[FEW]; /* of its first flows that differ; FEW + 1 sizes: many */
};

static int find_part(struct part *parts, int link)
{
    while (parts[link].parent != link)
        link = parts[link].parent = parts[parts[link].parent].parent;
    return link;
}

static const struct ss_path *path_of(const struct ss_program *p, const struct ss_flow *flow)
{
    return flow->bytes > 0 && flow->path >= 0 && p->paths[flow->path].nlinks > 0 ? &p->paths[flow->path]
                                                                                 : NULL;
}

static void join_links(const struct ss_program *p, const struct ss_flow_phase *phase, struct part *parts)
{
    for (int i = 0; i < phase->nflows; i++) {
        const struct ss_path *path = path_of(p, &phase->flows[i]);
        for (int j = 0; path && j < path->nlinks; j++)
            parts[path->link[j]] = (struct part){.parent = path->link[j]};
    }
    for (int i = 0; i < phase->nflows; i++) {
        const struct ss_path *path = path_of(p, &phase->flows[i]);
        for (int j = 1; path && j < path->nlinks; j++)
            parts[find_part(parts, path->link[j])].parent = find_part(parts, path->link[0]);
    }
}

static void add_size(struct part *part, double bytes)
{
    int i = 0;
    part->nflows++;
    while (i < part->nsizes && i < FEW && part->size[i] != bytes)
        i++;
    if (i < part->nsizes)
        return;
    if (i < FEW)
        part->size[i] = bytes;
    part->nsizes++;
}

/* Most phases: nothing to look for. */
static int is_even(const struct ss_flow_phase *phase)
{
    struct part all = {0};
    for (int i = 0; i < phase->nflows && all.nsizes <= FEW; i++)
        add_size(&all, phase->flows[i].bytes);
    return all.nsizes <= FEW;
}

/* Adds what a phase takes once. */
static void add_phase(const struct ss_program *p, const struct ss_flow_phase *phase, struct part *parts,
                      struct ss_labour *out)
{
    if (is_even(phase))
        return;
    join_links(p, phase, parts);
    for (int i = 0; i < phase->nflows; i++) {
        const struct ss_path *path = path_of(p, &phase->flows[i]);
        if (path)
            add_size(&parts[find_part(parts, path->link[0])], phase->flows[i].bytes);
    }
    for (int i = 0; i < phase->nflows; i++) {
        const struct ss_path *path = path_of(p, &phase->flows[i]);
        const struct part *part = path ? &parts[find_part(parts, path->link[0])] : NULL;
        if (!part || part->nsizes <= FEW)
            continue;
        out->flows++;
        out->together = part->nflows > out->together ? part->nflows : out->together;
        out->seconds += SS_LABOUR_FLOW_S + part->nflows * SS_LABOUR_SHARE_S;
    }
}

/* How often each collective runs: it is counted where its first member posts it. `times` has room for a number a template. */
static void count_posts(const struct ss_program *p, int *times, double *posts)
{
    for (int c = 0; c < p->nclasses; c++) {
        const struct ss_program_class *pc = &p->classes[c];
        for (int i = 0; i < ss_program_stored(pc); i++)
            times[pc->slots[i].template_index] += ss_program_times(pc, i);
        for (int i = 0; i < ss_program_stored(pc); i++) {
            const struct ss_template *t = &p->templates[pc->slots[i].template_index];
            int *n = &times[pc->slots[i].template_index];
            for (int e = 0; *n && e < t->nevents; e++)
                if (t->events[e].kind == SS_EV_POST && p->collectives[t->events[e].index].members[0] == c)
                    posts[t->events[e].index] += *n;
            *n = 0;
        }
    }
}

int ss_labour_find(const struct ss_program *p, struct ss_labour *out, struct ss_error *err)
{
    struct part *parts = ss_calloc((size_t)p->nlinks + 1, sizeof *parts);
    double *posts = ss_calloc((size_t)p->ncollectives + 1, sizeof *posts);
    int *times = ss_calloc((size_t)p->ntemplates + 1, sizeof *times), counted = 0;
    int ok = parts && posts && times;
    *out = (struct ss_labour){0};
    for (int g = 0; ok && g < p->ncollectives; g++) {
        struct ss_labour once = {0};
        for (int i = 0; i < p->collectives[g].nphases; i++)
            add_phase(p, &p->collectives[g].phases[i], parts, &once);
        if (once.flows > 0 && !counted++)
            count_posts(p, times, posts);
        out->flows += posts[g] * once.flows;
        out->seconds += posts[g] * once.seconds;
        out->together = once.together > out->together ? once.together : out->together;
    }
    SS_FREE(parts, posts, times);
    return ok ? SS_OK : ss_nomem(err);
}
