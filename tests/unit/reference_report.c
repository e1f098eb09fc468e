/* SPDX-License-Identifier: Apache-2.0 */
/* Queues and rows of a program before its replay, and what the replay said after it. */
#include "reference_sim.h"

static void make_works(struct series *series, int n, int channel, int collective, double bytes)
{
    series->n = n;
    series->works = reference_zeros((size_t)n, sizeof *series->works);
    for (int k = 0; k < n; k++)
        series->works[k] = (struct work){.channel = channel,
                                         .collective = collective,
                                         .bytes = bytes,
                                         .begin = REFERENCE_NEVER,
                                         .end = REFERENCE_NEVER};
}

/* Events of a class, slot by slot; counts what it posts. */
static void unfold_class(struct sim *s, int c, int *sends, int *receives, int *instances)
{
    const struct ss_program_class *cls = &s->p->classes[c];
    struct reference_class *out = &s->out->classes[c];
    struct thread *t = &s->threads[c];
    int total = 0, *posts = reference_zeros((size_t)s->p->ncollectives, sizeof *posts);
    for (int i = 0; i < cls->nslots; i++)
        total += s->p->templates[cls->slots[i].template_index].nevents;
    out->end = REFERENCE_NEVER;
    out->rows = reference_zeros((size_t)total, sizeof *out->rows);
    t->events = reference_zeros((size_t)total, sizeof(struct ss_event *));
    t->posts = reference_zeros((size_t)s->p->ncollectives, sizeof *t->posts);
    t->streams = reference_zeros((size_t)cls->nstreams, sizeof *t->streams);
    for (int k = 0; k < cls->nstreams; k++)
        t->streams[k].posted = reference_zeros((size_t)total, sizeof(struct work *));
    for (int i = 0; i < cls->nslots; i++) {
        const struct ss_template *slot = &s->p->templates[cls->slots[i].template_index];
        for (int j = 0; j < slot->nevents; j++) {
            const struct ss_event *e = &slot->events[j];
            out->rows[out->nrows] =
                (struct reference_row){i, j, REFERENCE_NEVER, REFERENCE_NEVER, REFERENCE_NEVER};
            t->events[out->nrows++] = e;
            if (e->kind == SS_EV_SEND)
                sends[e->index]++;
            else if (e->kind == SS_EV_RECV)
                receives[e->index]++;
            else if (e->kind == SS_EV_POST && ++posts[e->index] > instances[e->index])
                instances[e->index]++;
        }
    }
    free(posts);
}

void reference_open(struct sim *s, const struct ss_program *p, struct reference *out)
{
    int nstreams = 0, *sends = reference_zeros((size_t)p->nchannels, sizeof *sends),
        *receives = reference_zeros((size_t)p->nchannels, sizeof *receives),
        *instances = reference_zeros((size_t)p->ncollectives, sizeof *instances);
    *out = (struct reference){.nclasses = p->nclasses, .nlinks = p->nlinks};
    out->classes = reference_zeros((size_t)p->nclasses, sizeof *out->classes);
    out->link_busy = reference_zeros((size_t)p->nlinks, sizeof *out->link_busy);
    *s = (struct sim){.p = p, .out = out};
    s->threads = reference_zeros((size_t)p->nclasses, sizeof *s->threads);
    s->channels = reference_zeros((size_t)p->nchannels, sizeof *s->channels);
    s->collectives = reference_zeros((size_t)p->ncollectives, sizeof *s->collectives);
    for (int c = 0; c < p->nclasses; c++) {
        unfold_class(s, c, sends, receives, instances);
        nstreams += p->classes[c].nstreams;
    }
    for (int i = 0; i < p->nchannels; i++)
        make_works(&s->channels[i], sends[i] > receives[i] ? sends[i] : receives[i], i, -1, 0);
    for (int i = 0; i < p->ncollectives; i++)
        make_works(&s->collectives[i], instances[i], -1, i, p->collectives[i].bytes);
    s->running = reference_zeros((size_t)(p->nchannels + nstreams), sizeof(struct work *));
    free(sends);
    free(receives);
    free(instances);
}

static void report_series(struct reference *out, const struct series *series)
{
    for (int k = 0; k < series->n; k++) {
        const struct work *w = &series->works[k];
        out->transfers[out->ntransfers++] =
            (struct reference_transfer){w->channel, w->collective, k, w->begin, w->end, w->bytes};
    }
}

static void report_transfers(struct sim *s)
{
    size_t n = 0;
    for (int i = 0; i < s->p->nchannels; i++)
        n += (size_t)s->channels[i].n;
    for (int i = 0; i < s->p->ncollectives; i++)
        n += (size_t)s->collectives[i].n;
    s->out->transfers = reference_zeros(n, sizeof *s->out->transfers);
    for (int i = 0; i < s->p->nchannels; i++)
        report_series(s->out, &s->channels[i]);
    for (int i = 0; i < s->p->ncollectives; i++)
        report_series(s->out, &s->collectives[i]);
}

/* Label by label, what the main thread of a class spent its time on. */
static void report_labels(struct sim *s, int c)
{
    struct reference_class *out = &s->out->classes[c];
    struct thread *t = &s->threads[c];
    for (int k = 0; k < s->p->classes[c].nstreams; k++)
        t->streams[k].waits = 0;
    for (int i = 0; i < out->nrows; i++) {
        const struct ss_event *e = t->events[i];
        const struct reference_row *row = &out->rows[i];
        if (e->kind == SS_EV_COMPUTE) {
            for (int l = 0; l < SS_LABEL_COUNT; l++)
                out->spent[l] += s->p->mixes[e->index].fraction[l] * (row->end - row->start);
        } else if (reference_is_wait(e)) {
            int label = SS_LABEL_PP;
            if (e->kind == SS_EV_WAIT) {
                struct stream *q = &t->streams[e->aux];
                label = s->p->collectives[q->posted[q->waits++]->collective].label;
            }
            out->spent[SS_LABEL_BUBBLE] += row->busy_from - row->start;
            out->spent[label] += row->end - row->busy_from;
        }
    }
    out->spent[SS_LABEL_BUBBLE] += s->out->makespan - out->end;
}

static void close_series(struct series *series, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < series[i].n; k++)
            free(series[i].works[k].flows);
        free(series[i].works);
    }
    free(series);
}

void reference_report(struct sim *s, int complete)
{
    for (int c = 0; c < s->p->nclasses; c++)
        s->out->makespan = fmax(s->out->makespan, s->out->classes[c].end);
    for (int c = 0; complete && c < s->p->nclasses; c++)
        report_labels(s, c);
    report_transfers(s);
}

void reference_close(struct sim *s)
{
    for (int c = 0; c < s->p->nclasses; c++) {
        for (int k = 0; k < s->p->classes[c].nstreams; k++)
            free(s->threads[c].streams[k].posted);
        free(s->threads[c].streams);
        free(s->threads[c].posts);
        free(s->threads[c].events);
    }
    close_series(s->channels, s->p->nchannels);
    close_series(s->collectives, s->p->ncollectives);
    free(s->threads);
    free(s->running);
}

void reference_free(struct reference *r)
{
    for (int c = 0; c < r->nclasses; c++)
        free(r->classes[c].rows);
    free(r->classes);
    free(r->transfers);
    free(r->link_busy);
    *r = (struct reference){0};
}
