/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/program.h"

#include "base/arena.h"
#include "base/base.h"
#include "program/program_internal.h"

const char *ss_event_name(int kind)
{
    static const char *const names[] = {
#define X(sym, name) name,
        SS_EVENT_LIST(X)
#undef X
    };
    return kind >= 0 && kind < SS_EVENT_COUNT ? names[kind] : "?";
}

static void free_collective(struct ss_collective *c)
{
    for (int i = 0; c->phases && i < c->nphases; i++)
        free(c->phases[i].flows);
    SS_FREE(c->phases, c->members);
}

static void free_source(struct ss_program_source *source, const struct ss_program *p)
{
    if (!source)
        return;
    for (int i = 0; source->event && i < p->ntemplates; i++)
        free(source->event[i]);
    for (int i = 0; source->slot && i < p->nclasses; i++)
        free(source->slot[i]);
    SS_FREE(source->path, source->mix, source->collective, source->channel, source->class_line,
            source->template_line, source->event, source->slot, source);
}

void ss_program_free(struct ss_program *p)
{
    if (!p)
        return;
    free_source(p->source, p);
    for (int i = 0; p->templates && i < p->ntemplates; i++)
        if (!p->events || p->templates[i].events < p->events ||
            p->templates[i].events >= p->events + p->nevents)
            free(p->templates[i].events);
    free(p->events);
    for (int i = 0; p->collectives && !p->parts && i < p->ncollectives; i++)
        free_collective(&p->collectives[i]);
    ss_arena_free(&(struct ss_arena){p->parts});
    for (int i = 0; p->classes && i < p->nclasses; i++)
        free(p->classes[i].slots);
    SS_FREE(p->links, p->paths, p->mixes, p->templates, p->channels, p->collectives, p->classes, p);
}

int64_t ss_program_event_count(const struct ss_program *p)
{
    int64_t n = 0;
    for (int c = 0; c < p->nclasses; c++)
        for (int i = 0; i < ss_program_stored(&p->classes[c]); i++)
            n += (int64_t)ss_program_times(&p->classes[c], i) *
                 p->templates[p->classes[c].slots[i].template_index].nevents;
    return n;
}

const struct ss_event *ss_program_next(const struct ss_program *p, int c, struct ss_cursor *cur)
{
    const struct ss_program_class *cls = &p->classes[c];
    if (cur->slot >= cls->nslots)
        return NULL;
    const struct ss_template *t = &p->templates[ss_program_template_at(cls, cur->slot)];
    const struct ss_event *event = &t->events[cur->event];
    if (++cur->event == t->nevents) {
        cur->slot++;
        cur->event = 0;
    }
    return event;
}

int ss_program_event_line(const struct ss_program *p, int cls, int slot, int event)
{
    if (!p->source)
        return 0;
    const int *lines = p->source->event[ss_program_template_at(&p->classes[cls], slot)];
    return lines[event];
}
