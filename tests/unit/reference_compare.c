/* SPDX-License-Identifier: Apache-2.0 */
#include "reference_compare.h"

#include <stdarg.h>

__attribute__((format(printf, 3, 4))) static void found(struct distance *d, double much, const char *format,
                                                        ...)
{
    if (much <= d->most)
        return;
    va_list args;
    va_start(args, format);
    d->most = much;
    vsnprintf(d->where, sizeof d->where, format, args);
    va_end(args);
}

/* Two times; those after the makespan count relative to themselves. */
static double apart(const struct reference *r, double a, double b)
{
    double scale = fmax(r->makespan, fmax(a, b));
    return scale > 0 ? fabs(a - b) / scale : 0;
}

static double three_apart(const struct reference *r, const struct heard *h, double start, double busy,
                          double end)
{
    return fmax(apart(r, h->start, start), fmax(apart(r, h->busy, busy), apart(r, h->end, end)));
}

/* ---- what observers heard ---- */

/* First row of every slot of a class; the caller frees. */
static int *slot_rows(const struct ss_program *p, int c)
{
    const struct ss_program_class *cls = &p->classes[c];
    int *first = malloc((size_t)(cls->nslots + 1) * sizeof *first);
    if (!first)
        abort();
    first[0] = 0;
    for (int i = 0; i < cls->nslots; i++)
        first[i + 1] = first[i] + p->templates[cls->slots[i].template_index].nevents;
    return first;
}

static const struct ss_event *event_at(const struct ss_program *p, int c, const struct reference_row *row)
{
    return &p->templates[p->classes[c].slots[row->slot].template_index].events[row->event];
}

/* What may be heard of an event: 'm'emory, 's'pan or, 0, nothing. */
static char voice(const struct ss_event *e)
{
    if (e->kind == SS_EV_ALLOC || e->kind == SS_EV_FREE)
        return 'm';
    return e->kind == SS_EV_SEND || e->kind == SS_EV_RECV || e->kind == SS_EV_POST ? 0 : 's';
}

static void compare_heard_row(const struct ss_program *p, const struct reference *r, const struct heard *h,
                              const struct reference_row *row, struct distance *d)
{
    const struct ss_event *e = event_at(p, h->a, row);
    found(d, three_apart(r, h, row->start, row->busy_from, row->end),
          "class %d slot %d event %d: [%.17g %.17g %.17g], reference [%.17g %.17g %.17g]", h->a, h->b, h->c,
          h->start, h->busy, h->end, row->start, row->busy_from, row->end);
    if (h->kind == 'm' && h->bytes != (e->kind == SS_EV_ALLOC ? e->amount : -e->amount))
        found(d, INFINITY, "class %d slot %d event %d: %.17g bytes of memory", h->a, h->b, h->c, h->bytes);
}

/* Every event of a class is heard once; spans of no length need not be. */
static void compare_rows(const struct ss_program *p, const struct reference *r, struct ear *ear, int c,
                         struct distance *d)
{
    const struct reference_class *cls = &r->classes[c];
    int *first = slot_rows(p, c), *times = calloc((size_t)cls->nrows + 1, sizeof *times);
    if (!times)
        abort();
    for (int i = 0; i < ear->n; i++) {
        const struct heard *h = &ear->all[i];
        if (h->kind == 't' || h->a != c)
            continue;
        int row = first[h->b] + h->c;
        if (voice(event_at(p, c, &cls->rows[row])) != h->kind || times[row]++ > 0)
            found(d, INFINITY, "class %d slot %d event %d is heard of twice, or as what it is not", c, h->b,
                  h->c);
        compare_heard_row(p, r, h, &cls->rows[row], d);
    }
    for (int i = 0; i < cls->nrows; i++) {
        const struct reference_row *row = &cls->rows[i];
        char kind = voice(event_at(p, c, row));
        if (kind && times[i] == 0)
            found(d, kind == 'm' ? INFINITY : apart(r, row->start, row->end),
                  "class %d slot %d event %d, [%.17g %.17g %.17g], is not heard of", c, row->slot, row->event,
                  row->start, row->busy_from, row->end);
    }
    free(first);
    free(times);
}

/* Returns the nearest transfer that is not taken and has the heard one's channel or collective. Instances of a
 * collective on several streams may end in another order than they were posted in. */
static int nearest(const struct reference *r, const struct heard *h, const int *taken)
{
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < r->ntransfers; i++) {
        const struct reference_transfer *t = &r->transfers[i];
        if (t->channel != h->a || t->collective != h->b || taken[i] || t->end < 0)
            continue;
        double much = three_apart(r, h, t->start, t->start, t->end);
        if (much < least) {
            least = much;
            best = i;
        }
        if (h->a >= 0 || much == 0)
            break; /* messages of a channel come in order */
    }
    return best;
}

static void compare_transfers(const struct reference *r, struct ear *ear, struct distance *d)
{
    int *taken = calloc((size_t)r->ntransfers + 1, sizeof *taken);
    if (!taken)
        abort();
    for (int i = 0; i < ear->n; i++) {
        const struct heard *h = &ear->all[i];
        int at = h->kind == 't' ? nearest(r, h, taken) : -1;
        if (h->kind != 't')
            continue;
        if (at < 0) {
            found(d, INFINITY, "channel %d collective %d: one transfer more than the reference has", h->a,
                  h->b);
            continue;
        }
        const struct reference_transfer *t = &r->transfers[at];
        taken[at] = 1;
        found(d, t->bytes == h->bytes ? three_apart(r, h, t->start, t->start, t->end) : INFINITY,
              "channel %d collective %d number %d: [%.17g %.17g] %.17g B, reference [%.17g %.17g] %.17g B",
              h->a, h->b, t->k, h->start, h->end, h->bytes, t->start, t->end, t->bytes);
    }
    for (int i = 0; i < r->ntransfers; i++)
        if (!taken[i] && r->transfers[i].end >= 0)
            found(d, INFINITY, "channel %d collective %d number %d, ended at %.17g, is not heard of",
                  r->transfers[i].channel, r->transfers[i].collective, r->transfers[i].k,
                  r->transfers[i].end);
    free(taken);
}

static void compare_order(const struct ear *ear, struct distance *d)
{
    for (int i = 1; i < ear->n; i++)
        if (ear->all[i].end < ear->all[i - 1].end)
            found(d, INFINITY, "observers hear of %.17g after %.17g", ear->all[i].end, ear->all[i - 1].end);
}

/* ---- timeline ---- */

static void compare_class(const struct reference *r, const struct ss_timeline *t, int c, struct distance *d)
{
    const struct reference_class *cls = &r->classes[c];
    double total = 0;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        found(d, apart(r, t->spent[c][i], cls->spent[i]), "class %d label %s: %.17g, reference %.17g", c,
              ss_label_name(i), t->spent[c][i], cls->spent[i]);
    for (int i = 0; i < SS_MEM_COUNT; i++) {
        total += t->dynamic_peak[c][i];
        found(d, cls->peak_total > 0 ? fabs(t->dynamic_peak[c][i] - cls->peak[i]) / cls->peak_total : 0,
              "class %d peak of %s: %.17g, reference %.17g", c, ss_mem_name(i), t->dynamic_peak[c][i],
              cls->peak[i]);
    }
    found(d, fabs(total - cls->peak_total), "class %d peak %.17g, reference %.17g", c, total,
          cls->peak_total);
    if (cls->peak_total > 0)
        found(d, t->peak_slot[c] == cls->peak_slot ? apart(r, t->peak_time[c], cls->peak_time) : INFINITY,
              "class %d peak in slot %d at %.17g, reference %d at %.17g", c, t->peak_slot[c], t->peak_time[c],
              cls->peak_slot, cls->peak_time);
}

/* Time of every event of a template, all slots together. */
static void compare_templates(const struct ss_program *p, const struct reference *r,
                              const struct ss_timeline *t, struct distance *d)
{
    int *first = calloc((size_t)p->ntemplates + 1, sizeof *first);
    for (int i = 0; first && i < p->ntemplates; i++)
        first[i + 1] = first[i] + p->templates[i].nevents;
    double *sum = first ? calloc((size_t)first[p->ntemplates] + 1, sizeof *sum) : NULL;
    if (!sum)
        abort();
    for (int c = 0; c < r->nclasses; c++)
        for (int i = 0; i < r->classes[c].nrows; i++) {
            const struct reference_row *row = &r->classes[c].rows[i];
            sum[first[p->classes[c].slots[row->slot].template_index] + row->event] += row->end - row->start;
        }
    for (int i = 0; i < first[p->ntemplates]; i++)
        found(d, apart(r, t->event_s[i], sum[i]), "template event %d: %.17g, reference %.17g", i,
              t->event_s[i], sum[i]);
    free(first);
    free(sum);
}

/* ---- all of it ---- */

int answer_get(const struct ss_program *p, int engine, struct answer *a, struct ss_error *err)
{
    *a = (struct answer){0};
    int rc = ear_replay(p, engine, &a->ear, &a->stats, err);
    return rc ? rc : ss_timeline_replay(p, engine, &a->timeline, err);
}

void answer_free(struct answer *a)
{
    free(a->ear.all);
    ss_timeline_free(a->timeline);
    *a = (struct answer){0};
}

void distance_answer(const struct ss_program *p, const struct reference *r, struct answer *a,
                     struct distance *d)
{
    const struct ss_timeline *t = a->timeline;
    found(d, apart(r, a->stats.makespan, r->makespan), "makespan %.17g, reference %.17g", a->stats.makespan,
          r->makespan);
    found(d, apart(r, t->iteration_s, r->makespan), "timeline of %.17g, reference %.17g", t->iteration_s,
          r->makespan);
    if (a->stats.events != r->events || t->events != r->events)
        found(d, INFINITY, "%lld and %lld events, reference %lld", (long long)a->stats.events,
              (long long)t->events, (long long)r->events);
    compare_order(&a->ear, d);
    compare_transfers(r, &a->ear, d);
    for (int c = 0; c < r->nclasses; c++) {
        compare_rows(p, r, &a->ear, c, d);
        compare_class(r, t, c, d);
    }
    for (int l = 0; l < r->nlinks; l++)
        found(d, apart(r, t->link_busy[l], r->link_busy[l]), "link %d busy for %.17g, reference %.17g", l,
              t->link_busy[l], r->link_busy[l]);
    compare_templates(p, r, t, d);
}

void distance_references(const struct reference *a, const struct reference *b, struct distance *d)
{
    found(d, apart(a, a->makespan, b->makespan), "makespan %.17g, then %.17g", a->makespan, b->makespan);
    for (int c = 0; c < a->nclasses; c++)
        for (int i = 0; i < a->classes[c].nrows; i++)
            found(d, apart(a, a->classes[c].rows[i].end, b->classes[c].rows[i].end),
                  "class %d row %d: %.17g, then %.17g", c, i, a->classes[c].rows[i].end,
                  b->classes[c].rows[i].end);
    for (int i = 0; i < a->ntransfers; i++)
        found(d, apart(a, a->transfers[i].end, b->transfers[i].end), "transfer %d: %.17g, then %.17g", i,
              a->transfers[i].end, b->transfers[i].end);
}

int reference_chaotic(const struct ss_program *p, const struct reference *r)
{
    struct distance d = {0};
    struct ss_program moved = *p;
    struct ss_link *links = malloc((size_t)(p->nlinks + 1) * sizeof *links);
    if (!links)
        abort();
    moved.links = links;
    for (int try = 0; try < 2; try++) {
        struct reference other;
        for (int l = 0; l < p->nlinks; l++) {
            links[l] = p->links[l];
            links[l].bandwidth *= 1 + 1e-12 * sin(1 + l + 7 * try);
        }
        reference_replay(&moved, &other);
        distance_references(r, &other, &d);
        reference_free(&other);
    }
    free(links);
    return d.most > REFERENCE_TOLERANCE;
}
