/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what every link carries in one iteration, from the program; the link with the most traffic comes
 * first. */
#include "result/links.h"
#include "base/base.h"

/* [links]: bytes over each link, and the part of them that sends carry. */
struct load {
    double *all, *sends;
};

static void add_flow(const struct ss_program *p, int path, double bytes, double *load)
{
    for (int i = 0; path >= 0 && i < p->paths[path].nlinks; i++)
        load[p->paths[path].link[i]] += bytes * p->paths[path].weight[i];
}

static void add_collective(const struct ss_program *p, int g, double times, double *load)
{
    const struct ss_collective *c = &p->collectives[g];
    for (int i = 0; i < c->nphases; i++)
        for (int j = 0; j < c->phases[i].nflows; j++)
            add_flow(p, c->phases[i].flows[j].path, times * c->phases[i].flows[j].bytes, load);
}

/* Collectives are counted where their first member posts them. */
static void add_template(const struct ss_program *p, int cls, const struct ss_template *t, double times,
                         struct load *load)
{
    for (int i = 0; i < t->nevents; i++) {
        const struct ss_event *e = &t->events[i];
        if (e->kind == SS_EV_SEND) {
            add_flow(p, p->channels[e->index].path, times * e->amount, load->all);
            add_flow(p, p->channels[e->index].path, times * e->amount, load->sends);
        } else if (e->kind == SS_EV_POST && p->collectives[e->index].members[0] == cls)
            add_collective(p, e->index, times, load->all);
    }
}

/* Templates as slots name them. */
struct named {
    int *times; /* [templates]: how often the class at hand runs it */
    int *list;  /* its slots, as they come */
    int n;
};

/* Counts entries [from, to) of `slots`, which run `times` times: equal slots come by the thousand. */
static void count_slots(const struct ss_program_slot *slots, int from, int to, int times, struct named *named)
{
    int n = named->n;
    for (int i = from; i < to; i++) {
        int t = slots[i].template_index;
        if (!named->times[t])
            named->list[n++] = t;
        named->times[t] += times;
    }
    named->n = n;
}

static int add_all(const struct ss_program *p, struct load *load)
{
    int *room = ss_calloc(2 * (size_t)p->ntemplates + 2, sizeof *room);
    struct named named = {room, room + p->ntemplates + 1, 0};
    if (!room)
        return SS_ERR_NOMEM;
    for (int c = 0; c < p->nclasses; c++) {
        const struct ss_program_class *pc = &p->classes[c];
        const int n = ss_program_stored(pc), first = pc->loop.more ? pc->loop.first : n,
                  end = pc->loop.more ? first + pc->loop.length : n;
        count_slots(pc->slots, 0, first, 1, &named);
        count_slots(pc->slots, first, end, pc->loop.more + 1, &named);
        count_slots(pc->slots, end, n, 1, &named);
        for (int i = 0; i < named.n; i++) {
            int *times = &named.times[named.list[i]];
            add_template(p, c, &p->templates[named.list[i]], *times, load);
            *times = 0;
        }
        named.n = 0;
    }
    free(room);
    return SS_OK;
}

static int heavier(const void *pa, const void *pb)
{
    const struct ss_link_use *a = pa, *b = pb;
    if (a->utilisation != b->utilisation)
        return a->utilisation > b->utilisation ? -1 : 1;
    return strcmp(a->link.name, b->link.name);
}

int ss_links_fill(const struct ss_plan *plan, const struct ss_program *p, const struct ss_timeline *t,
                  struct ss_result *r, struct ss_error *err)
{
    double *both = ss_calloc(2 * ((size_t)p->nlinks + 1), sizeof *both);
    struct load load = {both, both + p->nlinks + 1};
    r->links = ss_calloc((size_t)p->nlinks + 1, sizeof *r->links);
    if (!both || !r->links || add_all(p, &load)) {
        free(both);
        return ss_nomem(err);
    }
    for (int l = 0; l < p->nlinks; l++) {
        struct ss_link_use *u = &r->links[r->nlinks];
        double bytes = load.all[l];
        if (!(bytes > 0))
            continue;
        u->link = p->links[l];
        u->alike = plan && plan->link_count && l < plan->nlinks ? plan->link_count[l] : 1;
        u->bytes = bytes;
        u->sends = load.sends[l];
        u->utilisation = t->iteration_s > 0 ? bytes / p->links[l].bandwidth / t->iteration_s : 0;
        u->busy = t->iteration_s > 0 && t->link_busy ? t->link_busy[l] / t->iteration_s : 0;
        r->nlinks++;
    }
    qsort(r->links, (size_t)r->nlinks, sizeof *r->links, heavier);
    free(both);
    return SS_OK;
}
