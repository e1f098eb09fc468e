/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what an engine relies on, so that no program can make it read outside its arrays or loop for ever.
 * ss_program_check checks far more, and names lines; this is the net for programs built by hand.
 */
#include "base/base.h"
#include "replay/engine.h"

static int bad(struct ss_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int bad(struct ss_error *err, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    int rc = ss_fail(err, SS_ERR_INPUT, NULL, 0, "program: %s", text);
    return ss_hint(err, rc, "`stepsim program check` says more about a program file");
}

static int amount_ok(double x)
{
    return isfinite(x) && x >= 0;
}

static int index_ok(int i, int n)
{
    return i >= 0 && i < n;
}

/* 1 when a count of items has its array. */
static int array_ok(int n, const void *array)
{
    return n >= 0 && n < (1 << 28) && (n == 0 || array);
}

static int check_arrays(const struct ss_program *p, struct ss_error *err)
{
    if (!array_ok(p->nlinks, p->links) || !array_ok(p->npaths, p->paths) || !array_ok(p->nmixes, p->mixes) ||
        !array_ok(p->ntemplates, p->templates) || !array_ok(p->nchannels, p->channels) ||
        !array_ok(p->ncollectives, p->collectives) || !array_ok(p->nclasses, p->classes))
        return bad(err, "a count without its array");
    return 0;
}

static int check_network(const struct ss_program *p, struct ss_error *err)
{
    for (int i = 0; i < p->nlinks; i++)
        if (!amount_ok(p->links[i].bandwidth) || p->links[i].bandwidth == 0)
            return bad(err, "link %d has no positive bandwidth", i);
    for (int i = 0; i < p->npaths; i++) {
        const struct ss_path *w = &p->paths[i];
        if (w->nlinks < 0 || w->nlinks > SS_ROUTE_MAX)
            return bad(err, "path %d has %d links, at most %d are possible", i, w->nlinks, SS_ROUTE_MAX);
        for (int j = 0; j < w->nlinks; j++) {
            if (!index_ok(w->link[j], p->nlinks))
                return bad(err, "path %d names link %d of %d", i, w->link[j], p->nlinks);
            if (!amount_ok(w->weight[j]) || w->weight[j] == 0)
                return bad(err, "path %d has no positive weight on link %d", i, w->link[j]);
        }
    }
    for (int i = 0; i < p->nchannels; i++) {
        const struct ss_channel *ch = &p->channels[i];
        if (!index_ok(ch->from, p->nclasses) || !index_ok(ch->to, p->nclasses))
            return bad(err, "channel %d joins classes %d and %d of %d", i, ch->from, ch->to, p->nclasses);
        if (ch->path != -1 && !index_ok(ch->path, p->npaths))
            return bad(err, "channel %d names path %d of %d", i, ch->path, p->npaths);
        if (!amount_ok(ch->latency) || !amount_ok(ch->sm_share) || ch->sm_share > 1)
            return bad(err, "channel %d has a latency or SM share out of range", i);
    }
    return 0;
}

static int check_collective(const struct ss_program *p, int g, int *seen, struct ss_error *err)
{
    const struct ss_collective *c = &p->collectives[g];
    if (!array_ok(c->nmembers, c->members) || !array_ok(c->nphases, c->phases) || c->nmembers == 0)
        return bad(err, "collective %d has no members or no phases array", g);
    if (!index_ok(c->label, SS_LABEL_COUNT) || !amount_ok(c->sm_share) || c->sm_share > 1)
        return bad(err, "collective %d has a label or SM share out of range", g);
    for (int i = 0; i < c->nmembers; i++) {
        if (!index_ok(c->members[i], p->nclasses))
            return bad(err, "collective %d names class %d of %d", g, c->members[i], p->nclasses);
        if (seen[c->members[i]] == g + 1)
            return bad(err, "collective %d lists class %d twice", g, c->members[i]);
        seen[c->members[i]] = g + 1;
    }
    for (int i = 0; i < c->nphases; i++) {
        const struct ss_flow_phase *ph = &c->phases[i];
        if (!amount_ok(ph->latency) || !array_ok(ph->nflows, ph->flows))
            return bad(err, "collective %d phase %d has no valid latency or flows", g, i);
        for (int j = 0; j < ph->nflows; j++)
            if ((ph->flows[j].path != -1 && !index_ok(ph->flows[j].path, p->npaths)) ||
                !amount_ok(ph->flows[j].bytes))
                return bad(err, "collective %d phase %d flow %d names path %d of %d or has no valid bytes", g,
                           i, j, ph->flows[j].path, p->npaths);
    }
    return 0;
}

static int is_member(const struct ss_collective *g, int cls)
{
    int lo = 0, hi = g->nmembers; /* mostly ascending: then this finds it */
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (g->members[mid] < cls)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < g->nmembers && g->members[lo] == cls)
        return 1;
    for (int i = 0; i < g->nmembers; i++)
        if (g->members[i] == cls)
            return 1;
    return 0;
}

/* Whatever class runs it. */
static int event_ok(const struct ss_program *p, const struct ss_event *e)
{
    if (!amount_ok(e->amount))
        return 0;
    switch (e->kind) {
    case SS_EV_COMPUTE: return index_ok(e->index, p->nmixes);
    case SS_EV_SEND:
    case SS_EV_RECV:
    case SS_EV_WAIT_SEND:
    case SS_EV_WAIT_RECV: return index_ok(e->index, p->nchannels);
    case SS_EV_POST: return index_ok(e->index, p->ncollectives);
    case SS_EV_WAIT: return 1;
    case SS_EV_ALLOC:
    case SS_EV_FREE: return index_ok(e->index, SS_MEM_COUNT);
    default: return 0;
    }
}

static int check_templates(const struct ss_program *p, struct ss_error *err)
{
    for (int t = 0; t < p->ntemplates; t++) {
        if (!array_ok(p->templates[t].nevents, p->templates[t].events))
            return bad(err, "template %d has no valid events", t);
        for (int e = 0; e < p->templates[t].nevents; e++)
            if (!event_ok(p, &p->templates[t].events[e]))
                return bad(err, "event %d of template %s has a kind, index or amount that is not valid", e,
                           p->templates[t].name);
    }
    return 0;
}

/* Returns whether this class may run the event. */
static int owner_ok(const struct ss_program *p, const struct ss_event *e, int cls)
{
    switch (e->kind) {
    case SS_EV_SEND:
    case SS_EV_WAIT_SEND: return p->channels[e->index].from == cls;
    case SS_EV_RECV:
    case SS_EV_WAIT_RECV: return p->channels[e->index].to == cls;
    case SS_EV_POST:
        return index_ok(e->aux, p->classes[cls].nstreams) && is_member(&p->collectives[e->index], cls);
    case SS_EV_WAIT: return index_ok(e->aux, p->classes[cls].nstreams);
    default: return 1;
    }
}

/* Fails for the first slot with this template. */
static int bad_slot(const struct ss_program *p, int cls, int t, int event, struct ss_error *err)
{
    const struct ss_program_class *c = &p->classes[cls];
    int slot = 0;
    while (c->slots[slot].template_index != t)
        slot++;
    return bad(
        err, "%s slot %d event %d (of template %s) uses a channel, stream or collective that is not its own",
        c->name, slot, event, p->templates[t].name);
}

/* Slots are many: these loops do little. seen[t] = the last class (+ 1) that has a slot with template t. */
static int check_slots(const struct ss_program *p, int cls, int *seen, struct ss_error *err)
{
    const struct ss_program_class *c = &p->classes[cls];
    int lowest = p->ntemplates, highest = -1;
    for (int slot = 0, n = ss_program_stored(c); slot < n; slot++) {
        int t = c->slots[slot].template_index;
        if (!index_ok(t, p->ntemplates))
            return bad(err, "%s slot %d names template %d of %d", c->name, slot, t, p->ntemplates);
        if (seen[t] == cls + 1)
            continue;
        seen[t] = cls + 1;
        lowest = t < lowest ? t : lowest;
        highest = t > highest ? t : highest;
    }
    for (int t = lowest; t <= highest; t++)
        for (int e = 0; seen[t] == cls + 1 && e < p->templates[t].nevents; e++)
            if (!owner_ok(p, &p->templates[t].events[e], cls))
                return bad_slot(p, cls, t, e, err);
    return 0;
}

static int check_class(const struct ss_program *p, int cls, int *seen, struct ss_error *err)
{
    const struct ss_program_class *c = &p->classes[cls];
    if (!array_ok(c->nslots, c->slots) || c->nstreams < 0 || c->nstreams > (1 << 20))
        return bad(err, "class %d has an invalid number of slots or streams", cls);
    if (c->loop.first < 0 || c->loop.length < 0 || c->loop.more < 0 ||
        (c->loop.more > 0 && (c->loop.length == 0 || (int64_t)c->loop.length * c->loop.more >
                                                         c->nslots - c->loop.first - c->loop.length)))
        return bad(err, "class %d has a loop of slots that it does not have", cls);
    return check_slots(p, cls, seen, err);
}

int ss_replay_precheck(const struct ss_program *p, struct ss_error *err)
{
    int rc = check_arrays(p, err);
    SS_THEN(rc, check_network(p, err));
    SS_THEN(rc, check_templates(p, err));
    if (rc)
        return rc;
    int n = p->ntemplates > p->nclasses ? p->ntemplates : p->nclasses;
    int *seen = ss_calloc((size_t)n + 1, sizeof *seen);
    SS_NEED(seen, err);
    for (int g = 0; g < p->ncollectives && !rc; g++)
        rc = check_collective(p, g, seen, err);
    for (int i = 0; i <= n; i++)
        seen[i] = 0;
    int64_t streams = 0;
    for (int c = 0; c < p->nclasses && !rc; c++) {
        rc = check_class(p, c, seen, err);
        streams += p->classes[c].nstreams;
    }
    if (!rc && streams > (1 << 28))
        rc = bad(err, "too many streams");
    free(seen);
    return rc;
}
