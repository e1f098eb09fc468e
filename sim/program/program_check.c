/* SPDX-License-Identifier: Apache-2.0 */
/* Structure of a program: what can be said of every thing alone. The order is proved in program_order.c. */
#include "base/base.h"
#include "program/program_internal.h"

struct checker {
    const struct ss_program *p;
    struct ss_error *err;
};

#define FAIL(line, ...) ss_fail(c->err, SS_ERR_INPUT, ss_program_file(c->p), (line), __VA_ARGS__)

static int line_of(const struct checker *c, size_t offset, int index)
{
    if (!c->p->source)
        return 0;
    int *const *lines = (int *const *)((const char *)c->p->source + offset);
    return *lines ? (*lines)[index] : 0;
}
#define LINE(c, field, index) line_of((c), offsetof(struct ss_program_source, field), (index))

static bool amount_ok(double x)
{
    return isfinite(x) && x >= 0;
}

static int check_paths(const struct checker *c)
{
    const struct ss_program *p = c->p;
    for (int i = 0; i < p->nlinks; i++)
        if (!isfinite(p->links[i].bandwidth) || p->links[i].bandwidth <= 0 || !amount_ok(p->links[i].latency))
            return FAIL(0, "link '%s': bandwidth %g B/s, latency %g s: out of range", p->links[i].name,
                        p->links[i].bandwidth, p->links[i].latency);
    for (int i = 0; i < p->npaths; i++) {
        const struct ss_path *path = &p->paths[i];
        if (path->nlinks < 0 || path->nlinks > SS_ROUTE_MAX)
            return FAIL(LINE(c, path, i), "path %d has %d links, 0 to %d are possible", i, path->nlinks,
                        SS_ROUTE_MAX);
        for (int k = 0; k < path->nlinks; k++)
            if (path->link[k] < 0 || path->link[k] >= p->nlinks || !isfinite(path->weight[k]) ||
                path->weight[k] <= 0)
                return FAIL(LINE(c, path, i), "path %d: link %d with weight %g: out of range", i,
                            path->link[k], path->weight[k]);
    }
    return SS_OK;
}

static int check_mixes(const struct checker *c)
{
    for (int i = 0; i < c->p->nmixes; i++) {
        double sum = 0;
        for (int k = 0; k < SS_LABEL_COUNT; k++) {
            double x = c->p->mixes[i].fraction[k];
            if (!amount_ok(x))
                return FAIL(LINE(c, mix, i), "mix %d: fraction %g of %s is out of range", i, x,
                            ss_label_name(k));
            sum += x;
        }
        if (fabs(sum - 1) > 1e-9)
            return FAIL(LINE(c, mix, i), "mix %d: fractions sum to %.10g, not 1", i, sum);
    }
    return SS_OK;
}

static bool class_ok(const struct checker *c, int cls)
{
    return cls >= 0 && cls < c->p->nclasses;
}

static int compare_channels(const void *a, const void *b)
{
    const struct ss_channel *x = *(const struct ss_channel *const *)a,
                            *y = *(const struct ss_channel *const *)b;
    int d = (x->from > y->from) - (x->from < y->from);
    d = d ? d : (x->to > y->to) - (x->to < y->to);
    d = d ? d : (x->tag > y->tag) - (x->tag < y->tag);
    return d ? d : (x > y) - (x < y);
}

static int check_distinct_channels(const struct checker *c)
{
    const struct ss_program *p = c->p;
    const struct ss_channel **sorted = ss_calloc((size_t)p->nchannels, sizeof *sorted);
    SS_NEED(sorted, c->err);
    for (int i = 0; i < p->nchannels; i++)
        sorted[i] = &p->channels[i];
    qsort(sorted, (size_t)p->nchannels, sizeof *sorted, compare_channels);
    int rc = SS_OK;
    for (int i = 1; i < p->nchannels && !rc; i++) {
        const struct ss_channel *x = sorted[i - 1], *y = sorted[i];
        if (x->from == y->from && x->to == y->to && x->tag == y->tag)
            rc = FAIL(LINE(c, channel, (int)(y - p->channels)), "two channels from %s to %s have tag %d",
                      p->classes[y->from].name, p->classes[y->to].name, y->tag);
    }
    free(sorted);
    return rc;
}

static int check_channels(const struct checker *c)
{
    const struct ss_program *p = c->p;
    for (int i = 0; i < p->nchannels; i++) {
        const struct ss_channel *ch = &p->channels[i];
        int line = LINE(c, channel, i);
        if (!class_ok(c, ch->from) || !class_ok(c, ch->to) || ch->from == ch->to)
            return FAIL(line, "channel %d goes from class %d to class %d: they must be two classes", i,
                        ch->from, ch->to);
        if (ch->path < 0 || ch->path >= p->npaths)
            return FAIL(line, "channel %d: there is no path %d", i, ch->path);
        if (ch->tag < 0 || !amount_ok(ch->latency) || !(ch->sm_share >= 0 && ch->sm_share <= 1))
            return FAIL(line, "channel %d: tag %d, latency %g s or SM share %g is out of range", i, ch->tag,
                        ch->latency, ch->sm_share);
    }
    return check_distinct_channels(c);
}

static int check_members(const struct checker *c, int index, int *stamp)
{
    const struct ss_collective *k = &c->p->collectives[index];
    int line = LINE(c, collective, index);
    if (k->nmembers < 1)
        return FAIL(line, "collective '%s' has no members", k->name);
    for (int i = 0; i < k->nmembers; i++) {
        if (!class_ok(c, k->members[i]))
            return FAIL(line, "collective '%s': there is no class %d", k->name, k->members[i]);
        if (stamp[k->members[i]] == index + 1)
            return FAIL(line, "collective '%s' names member %s twice", k->name,
                        c->p->classes[k->members[i]].name);
        stamp[k->members[i]] = index + 1;
    }
    return SS_OK;
}

static int check_collectives(const struct checker *c)
{
    int rc = SS_OK, *stamp = ss_calloc((size_t)c->p->nclasses, sizeof *stamp);
    SS_NEED(stamp, c->err);
    for (int i = 0; i < c->p->ncollectives && !rc; i++) {
        const struct ss_collective *k = &c->p->collectives[i];
        int line = LINE(c, collective, i);
        rc = check_members(c, i, stamp);
        if (!rc && (k->label < 0 || k->label >= SS_LABEL_COUNT || !amount_ok(k->bytes) ||
                    !(k->sm_share >= 0 && k->sm_share <= 1)))
            rc = FAIL(line, "collective '%s': label %d, %g bytes or SM share %g is out of range", k->name,
                      k->label, k->bytes, k->sm_share);
        for (int f = 0; f < k->nphases && !rc; f++) {
            if (!amount_ok(k->phases[f].latency))
                rc = FAIL(line, "collective '%s': latency %g s is out of range", k->name,
                          k->phases[f].latency);
            for (int n = 0; n < k->phases[f].nflows && !rc; n++) {
                const struct ss_flow *flow = &k->phases[f].flows[n];
                if (flow->path < 0 || flow->path >= c->p->npaths || !amount_ok(flow->bytes))
                    rc = FAIL(line, "collective '%s': flow of %g bytes on path %d is out of range", k->name,
                              flow->bytes, flow->path);
            }
        }
    }
    free(stamp);
    return rc;
}

static int event_line(const struct checker *c, int t, int e)
{
    return c->p->source && c->p->source->event[t] ? c->p->source->event[t][e] : 0;
}

static int check_event(const struct checker *c, int t, int e)
{
    const struct ss_program *p = c->p;
    const struct ss_template *tmpl = &p->templates[t];
    const struct ss_event *ev = &tmpl->events[e];
    int limit = 0, line = event_line(c, t, e);
    switch (ev->kind) {
    case SS_EV_COMPUTE: limit = p->nmixes; break;
    case SS_EV_SEND:
    case SS_EV_RECV:
    case SS_EV_WAIT_SEND:
    case SS_EV_WAIT_RECV: limit = p->nchannels; break;
    case SS_EV_POST: limit = p->ncollectives; break;
    case SS_EV_ALLOC:
    case SS_EV_FREE: limit = SS_MEM_COUNT; break;
    case SS_EV_WAIT: break;
    default: return FAIL(line, "template %s event %d: there is no kind %d", tmpl->name, e, ev->kind);
    }
    if (ev->kind != SS_EV_WAIT && (ev->index < 0 || ev->index >= limit))
        return FAIL(line, "template %s event %d (%s): index %d is not in 0 to %d", tmpl->name, e,
                    ss_event_name(ev->kind), ev->index, limit - 1);
    if (!amount_ok(ev->amount))
        return FAIL(line, "template %s event %d (%s): amount %g is out of range", tmpl->name, e,
                    ss_event_name(ev->kind), ev->amount);
    return SS_OK;
}

static int check_templates(const struct checker *c)
{
    for (int t = 0; t < c->p->ntemplates; t++) {
        if (c->p->templates[t].nevents < 1)
            return FAIL(LINE(c, template_line, t), "template %s has no events", c->p->templates[t].name);
        for (int e = 0; e < c->p->templates[t].nevents; e++) {
            SS_TRY(check_event(c, t, e));
        }
    }
    return SS_OK;
}

/* Checks what an event demands of its class. */
static int check_use(const struct checker *c, int cls, int t, const struct ss_event *ev, int line,
                     const unsigned char *member)
{
    const struct ss_program *p = c->p;
    const struct ss_program_class *k = &p->classes[cls];
    bool sends = ev->kind == SS_EV_SEND || ev->kind == SS_EV_WAIT_SEND;
    bool receives = ev->kind == SS_EV_RECV || ev->kind == SS_EV_WAIT_RECV;
    if (sends || receives) {
        const struct ss_channel *ch = &p->channels[ev->index];
        if ((sends ? ch->from : ch->to) != cls)
            return FAIL(
                line,
                "class %s (template %s): %s on the channel from %s to %s (tag %d), of which it is not the %s",
                k->name, p->templates[t].name, ss_event_name(ev->kind), p->classes[ch->from].name,
                p->classes[ch->to].name, ch->tag, sends ? "sender" : "receiver");
    }
    if ((ev->kind == SS_EV_POST || ev->kind == SS_EV_WAIT) && (ev->aux < 0 || ev->aux >= k->nstreams))
        return FAIL(line, "class %s (template %s): there is no stream %d of %d", k->name,
                    p->templates[t].name, ev->aux, k->nstreams);
    if (ev->kind == SS_EV_POST && !member[ev->index])
        return FAIL(line, "class %s (template %s) posts collective '%s' without being a member", k->name,
                    p->templates[t].name, p->collectives[ev->index].name);
    return SS_OK;
}

/* Collectives by class: list[start[c] .. start[c + 1]). */
struct membership {
    size_t *start;
    int *list;
};

static int list_membership(const struct checker *c, struct membership *m)
{
    const struct ss_program *p = c->p;
    size_t total = 0;
    for (int i = 0; i < p->ncollectives; i++)
        total += (size_t)p->collectives[i].nmembers;
    m->start = ss_calloc((size_t)p->nclasses + 2, sizeof *m->start);
    m->list = ss_calloc(total, sizeof *m->list);
    SS_NEED(m->start && m->list, c->err);
    for (int i = 0; i < p->ncollectives; i++)
        for (int k = 0; k < p->collectives[i].nmembers; k++)
            m->start[p->collectives[i].members[k] + 2]++;
    for (int i = 0; i < p->nclasses; i++)
        m->start[i + 2] += m->start[i + 1];
    for (int i = 0; i < p->ncollectives; i++)
        for (int k = 0; k < p->collectives[i].nmembers; k++)
            m->list[m->start[p->collectives[i].members[k] + 1]++] = i;
    return SS_OK;
}

static int check_class(const struct checker *c, int cls, int *stamp, const unsigned char *member)
{
    const struct ss_program *p = c->p;
    const struct ss_program_class *k = &p->classes[cls];
    int line = LINE(c, class_line, cls);
    if (k->count < 1 || k->first_rank < 0 || k->stage < 0 || k->nstreams < 0 || k->nstreams > SS_STREAMS_MAX)
        return FAIL(line, "class %s: stage %d, %d ranks from rank %d, %d streams: out of range", k->name,
                    k->stage, k->count, k->first_rank, k->nstreams);
    for (int i = 0; i < SS_MEM_COUNT; i++)
        if (!amount_ok(k->memory[i]))
            return FAIL(line, "class %s: %g bytes of %s are out of range", k->name, k->memory[i],
                        ss_mem_name(i));
    for (int i = 0; i < ss_program_stored(k); i++) {
        int t = k->slots[i].template_index;
        if (t < 0 || t >= p->ntemplates || k->slots[i].phase < -1 || k->slots[i].phase >= SS_PHASE_COUNT)
            return FAIL(line, "class %s slot %d: template %d or phase %d does not exist", k->name, i, t,
                        k->slots[i].phase);
        if (stamp[t] == cls + 1)
            continue;
        stamp[t] = cls + 1;
        for (int e = 0; e < p->templates[t].nevents; e++) {
            SS_TRY(check_use(c, cls, t, &p->templates[t].events[e], event_line(c, t, e), member));
        }
    }
    return SS_OK;
}

static int check_classes(const struct checker *c)
{
    const struct ss_program *p = c->p;
    struct membership m = {0};
    int *stamp = ss_calloc((size_t)p->ntemplates, sizeof *stamp);
    unsigned char *member = ss_calloc((size_t)p->ncollectives, 1);
    int rc = list_membership(c, &m);
    if (!rc && (!stamp || !member))
        rc = ss_nomem(c->err);
    for (int i = 0; i < p->nclasses && !rc; i++) {
        for (size_t k = m.start[i]; k < m.start[i + 1]; k++)
            member[m.list[k]] = 1;
        rc = check_class(c, i, stamp, member);
        for (size_t k = m.start[i]; k < m.start[i + 1]; k++)
            member[m.list[k]] = 0;
    }
    SS_FREE(stamp, member, m.start, m.list);
    return rc;
}

/* ---- names: links, classes and templates have theirs as keys of the text form ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_names(const struct checker *c, const char *what, const char *first, size_t stride, int n)
{
    const char **sorted = ss_calloc((size_t)n, sizeof *sorted);
    SS_NEED(sorted, c->err);
    for (int i = 0; i < n; i++)
        sorted[i] = first + (size_t)i * stride;
    qsort(sorted, (size_t)n, sizeof *sorted, compare_names);
    int rc = SS_OK;
    for (int i = 0; i < n && !rc; i++) {
        if (!sorted[i][0])
            rc = FAIL(0, "a %s has no name", what);
        else if (i && !strcmp(sorted[i - 1], sorted[i]))
            rc = FAIL(0, "a second %s is named '%s'", what, sorted[i]);
    }
    free(sorted);
    return rc;
}

static int check_all_names(const struct checker *c)
{
    const struct ss_program *p = c->p;
    int rc = SS_OK;
    if (p->nlinks)
        rc = check_names(c, "link", p->links[0].name, sizeof p->links[0], p->nlinks);
    if (!rc && p->nclasses)
        rc = check_names(c, "class", p->classes[0].name, sizeof p->classes[0], p->nclasses);
    if (!rc && p->ntemplates)
        rc = check_names(c, "template", p->templates[0].name, sizeof p->templates[0], p->ntemplates);
    return rc;
}

int ss_program_check(const struct ss_program *p, struct ss_error *err)
{
    static int (*const steps[])(const struct checker *) = {check_paths,       check_mixes,     check_channels,
                                                           check_collectives, check_templates, check_classes,
                                                           check_all_names};
    struct checker c = {p, err};
    if (!isfinite(p->memory_overhead_factor) || p->memory_overhead_factor < 1)
        return ss_fail(err, SS_ERR_INPUT, ss_program_file(p), 0, "memory overhead factor %g is less than 1",
                       p->memory_overhead_factor);
    for (size_t i = 0; i < SS_ARRAY_LEN(steps); i++) {
        SS_TRY(steps[i](&c));
    }
    return ss_program_check_order(p, err);
}
