/* SPDX-License-Identifier: Apache-2.0 */
/* Events, mixes and templates of a program that is being built. */
#include "program/program_emit.h"

#include "base/base.h"
#include "base/map.h"
#include "stepsim/communicator.h"

static void fail(struct ss_emitter *e)
{
    e->failed = ss_nomem(e->err);
}

void ss_emitter_end(struct ss_emitter *e)
{
    struct ss_program *p = e->p;
    struct ss_event *fitting = realloc(e->events, (e->nevents + 1) * sizeof *fitting);
    p->events = fitting ? fitting : e->events;
    p->nevents = e->nevents;
    e->events = NULL;
    for (size_t i = 0, at = 0; i < (size_t)p->ntemplates; at += (size_t)p->templates[i++].nevents)
        p->templates[i].events = p->events + at;
}

void ss_emitter_expect(struct ss_emitter *e, int times)
{
    if (e->failed || times < 2)
        return;
    if (ss_grow(&e->events, &e->cap, e->nevents * (size_t)times, sizeof *e->events) ||
        ss_grow(&e->p->templates, &e->template_cap, (size_t)e->p->ntemplates * (size_t)times,
                sizeof *e->p->templates))
        fail(e);
}

void ss_emitter_free(struct ss_emitter *e)
{
    SS_FREE(e->mixes.slot, e->known, e->events);
}

void ss_emit_event(struct ss_emitter *e, int kind, int index, int aux, double amount)
{
    if (e->failed)
        return;
    if (e->nevents == e->cap && ss_grow(&e->events, &e->cap, e->nevents + 1, sizeof *e->events)) {
        fail(e);
        return;
    }
    e->events[e->nevents++] = (struct ss_event){kind, index, aux, amount};
}

void ss_emit_post(struct ss_emitter *e, int collective, int stream)
{
    ss_emit_event(e, SS_EV_POST, collective, stream, 0);
    e->outstanding += stream == SS_STREAM(SS_COMM_DP_CP);
}

void ss_emit_wait(struct ss_emitter *e, int stream)
{
    ss_emit_event(e, SS_EV_WAIT, 0, stream, 0);
    e->outstanding -= stream == SS_STREAM(SS_COMM_DP_CP);
}

void ss_emit_memory(struct ss_emitter *e, int kind, int mem, double bytes)
{
    if (bytes > 0)
        ss_emit_event(e, kind, mem, 0, bytes);
}

/* ---- mixes ---- */

/* Word by word: a program at flow level has a mix for each of its steps. */
static size_t hash_of(const struct ss_mix *mix)
{
    uint64_t h = SS_HASH_INIT, word;
    for (int i = 0; i < SS_LABEL_COUNT; i++) {
        memcpy(&word, &mix->fraction[i], sizeof word);
        h = ss_mix64(h ^ word);
    }
    return (size_t)h;
}

static int grow_mixes(struct ss_emitter *e)
{
    struct ss_mix_table old = e->mixes, new = {.size = old.size ? 4 * old.size : 64, .cap = old.cap};
    new.slot = ss_calloc(new.size, sizeof *new.slot);
    if (!new.slot)
        return SS_ERR_NOMEM;
    for (int i = 0; i < e->p->nmixes; i++) {
        size_t at = hash_of(&e->p->mixes[i]) % new.size;
        while (new.slot[at])
            at = (at + 1) % new.size;
        new.slot[at] = i + 1;
    }
    free(old.slot);
    e->mixes = new;
    return SS_OK;
}

static int find_mix(struct ss_emitter *e, const struct ss_mix *mix)
{
    if ((size_t)e->p->nmixes * 2 >= e->mixes.size && grow_mixes(e))
        return -1;
    size_t at = hash_of(mix) % e->mixes.size;
    for (; e->mixes.slot[at]; at = (at + 1) % e->mixes.size)
        if (!memcmp(&e->p->mixes[e->mixes.slot[at] - 1], mix, sizeof *mix))
            return e->mixes.slot[at] - 1;
    if (ss_grow(&e->p->mixes, &e->mixes.cap, (size_t)e->p->nmixes + 1, sizeof *mix))
        return -1;
    e->p->mixes[e->p->nmixes] = *mix;
    e->mixes.slot[at] = e->p->nmixes + 1;
    return e->p->nmixes++;
}

/* ---- work ---- */

/* Where a work of so many seconds was last put; NULL: no memory. */
static struct ss_known_work *known_at(struct ss_emitter *e, double seconds)
{
    uint64_t bits;
    if (!e->known && (e->known = malloc(SS_KNOWN_WORKS * sizeof *e->known)) != NULL)
        for (int i = 0; i < SS_KNOWN_WORKS; i++)
            e->known[i].work.seconds = 0;
    if (!e->known)
        return NULL;
    memcpy(&bits, &seconds, sizeof bits);
    return &e->known[ss_mix64(bits) % SS_KNOWN_WORKS];
}

struct ss_work ss_emit_work(struct ss_emitter *e, const double seconds[SS_LABEL_COUNT])
{
    struct ss_work w = {0, 0, 0};
    struct ss_mix mix;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        w.seconds += seconds[i];
    if (!(w.seconds > 0) || e->failed)
        return w;
    struct ss_known_work *known = known_at(e, w.seconds);
    if (known && known->work.seconds == w.seconds &&
        !memcmp(known->by_label, seconds, sizeof known->by_label))
        return known->work;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        mix.fraction[i] = seconds[i] / w.seconds;
    w.mix = find_mix(e, &mix);
    if (w.mix < 0 || !known) {
        fail(e);
        return w;
    }
    memcpy(known->by_label, seconds, sizeof known->by_label);
    known->work = w;
    return w;
}

void ss_emit_work_until(struct ss_emitter *e, struct ss_work *w, double fraction)
{
    double seconds = w->seconds * (fraction - w->done);
    if (seconds > 0)
        ss_emit_event(e, SS_EV_COMPUTE, w->mix, 0, seconds);
    if (fraction > w->done)
        w->done = fraction;
}

void ss_emit_compute(struct ss_emitter *e, int label, double seconds)
{
    double by_label[SS_LABEL_COUNT] = {0};
    by_label[label] = seconds;
    struct ss_work w = ss_emit_work(e, by_label);
    ss_emit_work_until(e, &w, 1);
}

/* ---- templates ---- */

/* Writes by hand: a search has a million of them. */
void ss_emit_suffix(int phase, int chunk, int nth, char *out)
{
    for (const char *c = ss_phase_name(phase); *c; c++)
        *out++ = *c;
    out = ss_write_int(out, chunk);
    if (nth) {
        *out++ = '.';
        out = ss_write_int(out, nth);
    }
    *out = 0;
}

int ss_emit_template(struct ss_emitter *e, const char *cls, const char *suffix)
{
    struct ss_program *p = e->p;
    if (e->failed || e->nevents == e->first)
        return -1;
    if (ss_grow(&p->templates, &e->template_cap, (size_t)p->ntemplates + 1, sizeof *p->templates)) {
        fail(e);
        return -1;
    }
    struct ss_template *t = &p->templates[p->ntemplates];
    *t = (struct ss_template){.nevents = (int)(e->nevents - e->first)};
    size_t n = strnlen(cls, 23); /* by hand: unfolded ranks have a million */
    memcpy(t->name, cls, n);
    t->name[n++] = '.';
    ss_copy(t->name + n, 16, suffix);
    e->first = e->nevents;
    return p->ntemplates++;
}
