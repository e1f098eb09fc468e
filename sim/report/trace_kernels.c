/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace_kernels.h"

#include "base/base.h"
#include "report/follow.h"
#include "report/names.h"
#include "stepsim/compute.h"

#define EXACT 1e-9 /* share of a computation: less than this is rounding */

/* The steps of one phase of a chunk, or of a pair. */
struct list {
    const struct ss_step *steps;
    int n;
};

/* The place that a class has reached in the steps of its slot. */
struct place {
    int slot; /* -1: none yet */
    struct list list[2];
    int at_list, at;
};

struct ss_kernel_rows {
    struct ss_trace_writer *w; /* NULL: `put` is another's */
    ss_kernel_put put;
    void *ctx;
    const struct ss_program *program;
    const struct ss_plan *plan;
    double from, to;
    struct place *place; /* [nclasses] */
};

/* Returns the slot of the schedule; NULL for slots of a class outside the schedule, which come before
 * and behind it. */
static const struct ss_slot *schedule_slot(const struct ss_kernel_rows *r, int cls, int slot)
{
    const struct ss_program_class *c = &r->program->classes[cls];
    const struct ss_schedule *s = r->plan->schedule;
    int first = 0;

    while (first < slot && c->slots[first].phase < 0)
        first++;
    int i = slot - first, loop = s->loop_more ? s->loop_first[c->stage] : 0;
    if (s->loop_more && i >= loop) {
        int behind = i - loop - s->loop_length * s->loop_more;
        i = loop + (behind < s->loop_length ? (i - loop) % s->loop_length : behind);
    }
    return &s->slots[c->stage][i];
}

static void find_lists(const struct ss_kernel_rows *r, int cls, int slot, struct place *p)
{
    const struct ss_plan_class *c = &r->plan->classes[cls];
    const struct ss_slot *s = schedule_slot(r, cls, slot);
    const struct ss_chunk_cost *chunk = &c->chunks[s->chunk];

    if (s->phase != SS_PHASE_FB) {
        p->list[0] = (struct list){chunk->steps[s->phase], chunk->nsteps[s->phase]};
    } else if (c->pairs) {
        const struct ss_pair_cost *pair = &c->pairs[s->chunk * r->plan->schedule->chunks + s->chunk2];
        p->list[0] = (struct list){pair->steps, pair->nsteps};
    } else {
        const struct ss_chunk_cost *other = &c->chunks[s->chunk2];
        p->list[0] = (struct list){chunk->steps[SS_PHASE_F], chunk->nsteps[SS_PHASE_F]};
        p->list[1] = (struct list){other->steps[SS_PHASE_B], other->nsteps[SS_PHASE_B]};
    }
}

static const struct ss_step *next_computation(struct place *p)
{
    for (; p->at_list < 2; p->at_list++, p->at = 0)
        while (p->at < p->list[p->at_list].n) {
            const struct ss_step *s = &p->list[p->at_list].steps[p->at++];
            if (s->kind == SS_STEP_COMPUTE && s->seconds > 0)
                return s;
        }
    return NULL;
}

static int is_kernel(const struct ss_step *s)
{
    return s->label == SS_LABEL_COMPUTE || s->label == SS_LABEL_RECOMPUTE;
}

static void put_kernel(void *ctx, int cls, int slot, const struct ss_step *s, double start, double end)
{
    struct ss_kernel_rows *r = ctx;
    FILE *out = r->w->out;

    if (end < r->from || start > r->to)
        return;
    ss_trace_event(r->w, 'X', cls, SS_TID_KERNELS + s->part, start);
    ss_trace_duration(r->w, start, end);
    ss_trace_name(r->w, s->op ? s->op : ss_part_words(s->part), "kernel");
    fprintf(out, ",\"args\":{\"slot\":%d,\"phase\":\"%s\",\"recompute\":%s,\"flop\":", slot,
            ss_phase_name(s->phase), s->label == SS_LABEL_RECOMPUTE ? "true" : "false");
    ss_put_number(s->flops, 0, out);
    fputs(",\"bytes\":", out);
    ss_put_number(s->bytes, 0, out);
    fputs("}}", out);
}

/* The steps of a computation end where its seconds end, because collectives stand between steps. If
 * something else holds SMs, all kernels of the computation are slowed down alike here. */
void ss_kernel_rows_span(struct ss_kernel_rows *r, int cls, int slot, int event, double start, double end)
{
    if (!r || r->program->classes[cls].slots[slot].phase < 0)
        return;
    struct place *p = &r->place[cls];
    double whole = ss_place_event(r->program, cls, slot, event)->amount, pace = r->plan->classes[cls].pace,
           done = 0;
    if (p->slot != slot) {
        *p = (struct place){.slot = slot};
        find_lists(r, cls, slot, p);
    }
    while (done < whole * (1 - EXACT)) {
        const struct ss_step *s = next_computation(p);
        if (!s)
            return;
        double seconds = s->seconds * (is_kernel(s) ? pace : 1);
        if (is_kernel(s))
            r->put(r->ctx, cls, slot, s, start + (end - start) * done / whole,
                   start + (end - start) * (done + seconds) / whole);
        done += seconds;
    }
}

/* Returns 1 if any chunk of the class has kernels of that kind. */
static int has_part(const struct ss_kernel_rows *r, int cls, int part)
{
    const struct ss_plan_class *c = &r->plan->classes[cls];

    for (int k = 0; k < r->plan->schedule->chunks; k++)
        for (int phase = 0; phase < SS_PHASE_FB; phase++)
            for (int i = 0; i < c->chunks[k].nsteps[phase]; i++) {
                const struct ss_step *s = &c->chunks[k].steps[phase][i];
                if (s->kind == SS_STEP_COMPUTE && s->seconds > 0 && is_kernel(s) && s->part == part)
                    return 1;
            }
    return 0;
}

static void put_titles(struct ss_kernel_rows *r, int cls)
{
    char name[64];

    for (int part = 0; part < SS_PARTS; part++) {
        if (!has_part(r, cls, part))
            continue;
        snprintf(name, sizeof name, "kernels: %s", ss_part_words(part));
        ss_trace_title(r->w, "thread_name", cls, SS_TID_KERNELS + part, name);
    }
}

int ss_kernel_rows_tell(const struct ss_program *program, const struct ss_plan *plan, ss_kernel_put put,
                        void *ctx, struct ss_kernel_rows **rows)
{
    *rows = NULL;
    if (!plan || plan->level < SS_LEVEL_LAYER || plan->nclasses != program->nclasses)
        return SS_OK;
    struct ss_kernel_rows *r = ss_calloc(1, sizeof *r);
    if (r)
        r->place = ss_calloc((size_t)program->nclasses + 1, sizeof *r->place);
    if (!r || !r->place) {
        free(r);
        return SS_ERR_NOMEM;
    }
    r->put = put;
    r->ctx = ctx;
    r->program = program;
    r->plan = plan;
    for (int c = 0; c < program->nclasses; c++)
        r->place[c].slot = -1;
    *rows = r;
    return SS_OK;
}

int ss_kernel_rows_begin(struct ss_trace_writer *w, const struct ss_program *program,
                         const struct ss_plan *plan, double from, double to, struct ss_kernel_rows **rows)
{
    int rc = ss_kernel_rows_tell(program, plan, put_kernel, NULL, rows);
    struct ss_kernel_rows *r = *rows;

    if (rc || !r)
        return rc;
    r->ctx = r;
    r->w = w;
    r->from = from;
    r->to = to;
    for (int c = 0; c < program->nclasses; c++)
        put_titles(r, c);
    return SS_OK;
}

void ss_kernel_rows_free(struct ss_kernel_rows *r)
{
    if (r)
        free(r->place);
    free(r);
}
