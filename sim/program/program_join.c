/* SPDX-License-Identifier: Apache-2.0 */
/* Several programs side by side on one network, each as often as one asks. */
#include "base/base.h"
#include "base/map.h"
#include "program/program_internal.h"

/* Where the tables of a part begin in the joined tables. */
struct offsets {
    int path, mix, template, channel, collective, class;
    int *link; /* [part's links]: link of all */
    int start; /* template that waits for the part's delay, -1: none */
};

/* Makes room for all tables. Their sizes are final, so that a half-made program can be freed. Returns 0 when
 * memory runs out. */
static int make_room(const struct ss_program_part *parts, int n, struct ss_program *p)
{
    int links = 0;

    for (int i = 0; i < n; i++) {
        const struct ss_program *in = parts[i].program;
        links += in->nlinks;
        p->npaths += in->npaths;
        p->nmixes += in->nmixes + 1;
        p->ntemplates += in->ntemplates + 1;
        p->nchannels += in->nchannels;
        p->ncollectives += in->ncollectives;
        p->nclasses += in->nclasses;
    }
    p->links = ss_calloc((size_t)links + 1, sizeof *p->links);
    p->paths = ss_calloc((size_t)p->npaths + 1, sizeof *p->paths);
    p->mixes = ss_calloc((size_t)p->nmixes + 1, sizeof *p->mixes);
    p->templates = ss_calloc((size_t)p->ntemplates + 1, sizeof *p->templates);
    p->channels = ss_calloc((size_t)p->nchannels + 1, sizeof *p->channels);
    p->collectives = ss_calloc((size_t)p->ncollectives + 1, sizeof *p->collectives);
    p->classes = ss_calloc((size_t)p->nclasses + 1, sizeof *p->classes);
    return p->links && p->paths && p->mixes && p->templates && p->channels && p->collectives && p->classes;
}

/* Links of one name are one link. */
static int join_links(const struct ss_program_part *part, struct ss_map *by_name, struct ss_program *out,
                      int *link, struct ss_error *err)
{
    const struct ss_program *in = part->program;

    for (int i = 0; i < in->nlinks; i++) {
        const struct ss_link *l = &in->links[i];
        uint64_t key = ss_hash(0, l->name, strlen(l->name));
        int at = ss_map_put(by_name, key, out->nlinks);
        while (at >= 0 && at < out->nlinks && strcmp(out->links[at].name, l->name) != 0)
            at = ss_map_put(by_name, ++key, out->nlinks);
        if (at < 0)
            return ss_nomem(err);
        if (at == out->nlinks)
            out->links[out->nlinks++] = *l;
        if (!(fabs(out->links[at].bandwidth / l->bandwidth - 1) <= 1e-12))
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                           "%s has %.6g bytes/s for one job and %.6g for another" SS_HINT
                           "give all jobs one --platform, and --set and --scale of links to all",
                           l->name, out->links[at].bandwidth, l->bandwidth);
        link[i] = at;
    }
    return SS_OK;
}

static int join_templates(const struct ss_program_part *part, const struct offsets *o, struct ss_program *out,
                          struct ss_error *err)
{
    const struct ss_program *in = part->program;

    for (int t = 0; t < in->ntemplates; t++) {
        struct ss_template *to = &out->templates[o->template + t];
        snprintf(to->name, sizeof to->name, "%s.%.30s", part->prefix, in->templates[t].name);
        to->events = malloc(((size_t)in->templates[t].nevents + 1) * sizeof *to->events);
        SS_NEED(to->events, err);
        to->nevents = in->templates[t].nevents;
        for (int e = 0; e < to->nevents; e++) {
            struct ss_event *event = &to->events[e];
            *event = in->templates[t].events[e];
            switch (event->kind) {
            case SS_EV_COMPUTE: event->index += o->mix; break;
            case SS_EV_SEND:
            case SS_EV_RECV:
            case SS_EV_WAIT_SEND:
            case SS_EV_WAIT_RECV: event->index += o->channel; break;
            case SS_EV_POST: event->index += o->collective; break;
            default: break;
            }
        }
    }
    return SS_OK;
}

/* One event that takes as long as the part begins later. */
static int add_start(const struct ss_program_part *part, const struct offsets *o, struct ss_program *out,
                     struct ss_error *err)
{
    int mix = o->mix + part->program->nmixes, at = o->template + part->program->ntemplates;
    struct ss_template *t = &out->templates[at];

    out->mixes[mix].fraction[SS_LABEL_OTHER] = 1;
    snprintf(t->name, sizeof t->name, "%s.start", part->prefix);
    t->events = ss_calloc(1, sizeof *t->events);
    SS_NEED(t->events, err);
    t->nevents = 1;
    t->events[0] = (struct ss_event){.kind = SS_EV_COMPUTE, .index = mix, .amount = part->delay};
    return SS_OK;
}

static int join_collectives(const struct ss_program_part *part, const struct offsets *o,
                            struct ss_program *out, struct ss_error *err)
{
    const struct ss_program *in = part->program;

    for (int i = 0; i < in->ncollectives; i++) {
        struct ss_collective *c = &out->collectives[o->collective + i];
        SS_NEED(!ss_program_collective_copy(out, &in->collectives[i], c), err);
        for (int m = 0; m < c->nmembers; m++)
            c->members[m] += o->class;
        for (int k = 0; k < c->nphases; k++)
            for (int f = 0; f < c->phases[k].nflows; f++)
                c->phases[k].flows[f].path += c->phases[k].flows[f].path >= 0 ? o->path : 0;
    }
    return SS_OK;
}

static void join_paths(const struct ss_program_part *part, const struct offsets *o, struct ss_program *out)
{
    const struct ss_program *in = part->program;

    memcpy(out->mixes + o->mix, in->mixes, (size_t)in->nmixes * sizeof *in->mixes);
    for (int i = 0; i < in->npaths; i++) {
        struct ss_path *path = &out->paths[o->path + i];
        *path = in->paths[i];
        for (int l = 0; l < path->nlinks; l++)
            path->link[l] = o->link[path->link[l]];
    }
    for (int i = 0; i < in->nchannels; i++) {
        struct ss_channel *c = &out->channels[o->channel + i];
        *c = in->channels[i];
        c->from += o->class;
        c->to += o->class;
        c->path += c->path >= 0 ? o->path : 0;
    }
}

static int join_classes(const struct ss_program_part *part, const struct offsets *o, struct ss_program *out,
                        struct ss_error *err)
{
    const struct ss_program *in = part->program;

    for (int i = 0; i < in->nclasses; i++) {
        const struct ss_program_class *from = &in->classes[i];
        struct ss_program_class *to = &out->classes[o->class + i];
        *to = *from;
        snprintf(to->name, sizeof to->name, "%s.%.30s", part->prefix, from->name);
        to->loop = (struct ss_program_loop){0};
        to->nslots = from->nslots * part->times + (o->start >= 0);
        to->slots = malloc(((size_t)to->nslots + 1) * sizeof *to->slots);
        SS_NEED(to->slots, err);
        if (o->start >= 0)
            to->slots[0] = (struct ss_program_slot){o->start, -1, -1, -1};
        for (int k = o->start >= 0; k < to->nslots; k++) {
            to->slots[k] = ss_program_slot_at(from, (k - (o->start >= 0)) % from->nslots);
            to->slots[k].template_index += o->template;
        }
    }
    return SS_OK;
}

static int join_part(const struct ss_program_part *part, struct ss_map *by_name, struct offsets *o,
                     struct ss_program *out, struct ss_error *err)
{
    const struct ss_program *in = part->program;
    int rc = SS_OK;

    o->link = ss_calloc((size_t)in->nlinks + 1, sizeof *o->link);
    o->start = part->delay > 0 ? o->template + in->ntemplates : -1;
    if (!o->link)
        rc = ss_nomem(err);
    SS_THEN(rc, join_links(part, by_name, out, o->link, err));
    SS_THEN(rc, join_templates(part, o, out, err));
    SS_THEN(rc, add_start(part, o, out, err));
    SS_THEN(rc, join_collectives(part, o, out, err));
    if (!rc)
        join_paths(part, o, out);
    SS_THEN(rc, join_classes(part, o, out, err));
    free(o->link);
    o->path += in->npaths;
    o->mix += in->nmixes + 1;
    o->template += in->ntemplates + 1;
    o->channel += in->nchannels;
    o->collective += in->ncollectives;
    o->class += in->nclasses;
    return rc;
}

int ss_programs_join(const struct ss_program_part *parts, int n, struct ss_program **out,
                     struct ss_error *err)
{
    struct ss_program *p = ss_calloc(1, sizeof *p);
    struct ss_map by_name = {0};
    struct offsets o = {0};
    int rc = p && make_room(parts, n, p) ? SS_OK : ss_nomem(err);

    for (int i = 0; i < n && !rc; i++)
        rc = join_part(&parts[i], &by_name, &o, p, err);
    ss_map_free(&by_name);
    if (rc) {
        ss_program_free(p);
        return rc;
    }
    ss_copy(p->name, sizeof p->name, "shared");
    p->memory_overhead_factor = 1;
    *out = p;
    return SS_OK;
}
