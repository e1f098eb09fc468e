/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a slot between its receives and its sends: computation, memory, and the data-parallel
 * collectives at bucket marks. */
#include <math.h>

#include "program/program_builder.h"

static int in_closed_form(const struct ss_program_builder *b)
{
    return b->plan->level == SS_LEVEL_CHUNK || b->apart;
}

/* Kernels of a step are the mean GPU's. */
static void add_step(const struct ss_program_builder *b, const struct ss_step *step,
                     double seconds[SS_LABEL_COUNT])
{
    double pace = b->plan->classes[b->cls].pace;
    int kernels = step->label == SS_LABEL_COMPUTE || step->label == SS_LABEL_RECOMPUTE;
    seconds[step->label] += step->seconds * (kernels && pace < 1 ? pace : 1);
    if (kernels && pace > 1)
        seconds[SS_LABEL_SPREAD] += step->seconds * (pace - 1);
}

/* Emits what has been added up, and empties it. */
static void steps_end(struct ss_program_builder *b, double seconds[SS_LABEL_COUNT])
{
    struct ss_work w = ss_emit_work(&b->e, seconds);
    ss_emit_work_until(&b->e, &w, 1);
    memset(seconds, 0, SS_LABEL_COUNT * sizeof *seconds);
}

/* Returns whether the step ends a repeated forward, or begins one, behind computations of the other kind: a collective that
 * holds SMs slows those beside it, not both alike. */
static int turns(const struct ss_step *step, const double seconds[SS_LABEL_COUNT])
{
    return (step->label == SS_LABEL_COMPUTE && seconds[SS_LABEL_RECOMPUTE] > 0) ||
           (step->label == SS_LABEL_RECOMPUTE && seconds[SS_LABEL_COMPUTE] > 0);
}

/* Layer level: computations between two posts or waits become one event, or two where one of them is recompute. */
static void steps(struct ss_program_builder *b, const struct ss_step *list, int from, int to)
{
    double seconds[SS_LABEL_COUNT] = {0};
    for (int i = from; i <= to; i++) {
        const struct ss_step *step = &list[i];
        if (i < to && step->kind == SS_STEP_COMPUTE) {
            if (turns(step, seconds))
                steps_end(b, seconds);
            add_step(b, step, seconds);
            continue;
        }
        steps_end(b, seconds);
        if (i < to)
            ss_emit_event(&b->e, step->kind == SS_STEP_POST ? SS_EV_POST : SS_EV_WAIT,
                          step->kind == SS_STEP_POST ? step->collective : 0, step->stream, 0);
    }
}

void ss_program_reduce(struct ss_program_builder *b, int chunk)
{
    const struct ss_chunk_cost *k = &b->plan->classes[b->cls].chunks[chunk];
    for (int i = 0; i < k->nreduce; i++)
        ss_emit_post(&b->e, k->reduce[i].collective, SS_STREAM(SS_COMM_DP_CP));
}

/* Returns whether the chunk's gather i begins when it is needed: where hooks begin gathers the first of each group of ranks does. */
static int begins_late(const struct ss_plan *plan, const struct ss_chunk_cost *chunk, int i)
{
    return plan->hooked == 2 || (plan->hooked && chunk->gather[i].first);
}

/* Waits for the chunk's gather i in its first forward, in which it may begin, and then the next one. */
static void wait_gathered(struct ss_program_builder *b, const struct ss_chunk_cost *chunk, int i)
{
    if (begins_late(b->plan, chunk, i))
        ss_emit_post(&b->e, chunk->gather[i].collective, SS_STREAM(SS_COMM_DP_CP));
    ss_emit_wait(&b->e, SS_STREAM(SS_COMM_DP_CP));
    if (b->plan->hooked && i + 1 < chunk->ngather && !begins_late(b->plan, chunk, i + 1))
        ss_emit_post(&b->e, chunk->gather[i + 1].collective, SS_STREAM(SS_COMM_DP_CP));
    if (chunk->gather[i].cast > 0)
        ss_emit_compute(&b->e, SS_LABEL_OPTIMIZER, chunk->gather[i].cast);
}

static void forward_steps(struct ss_program_builder *b, const struct ss_chunk_cost *chunk, int first)
{
    int done = 0;
    for (int i = 0; first && i < chunk->ngather; i++) {
        steps(b, chunk->steps[SS_PHASE_F], done, chunk->gather[i].step);
        done = chunk->gather[i].step;
        wait_gathered(b, chunk, i);
    }
    steps(b, chunk->steps[SS_PHASE_F], done, chunk->nsteps[SS_PHASE_F]);
}

static void backward_steps(struct ss_program_builder *b, const struct ss_chunk_cost *chunk, int phase,
                           int last)
{
    int done = 0;
    for (int i = 0; last && i < chunk->nreduce; i++) {
        int at = phase == SS_PHASE_W ? chunk->reduce[i].weight_step : chunk->reduce[i].step;
        steps(b, chunk->steps[phase], done, at);
        done = at;
        ss_emit_post(&b->e, chunk->reduce[i].collective, SS_STREAM(SS_COMM_DP_CP));
    }
    steps(b, chunk->steps[phase], done, chunk->nsteps[phase]);
}

/* Chunk level: the work up to a mark, and the wait for the host to have issued all of it. */
static void work_until_mark(struct ss_program_builder *b, struct ss_work *w,
                            const struct ss_chunk_issue *issue, const struct ss_bucket_mark *mark,
                            double fraction)
{
    if (issue->n > 0 && mark->issue >= 0) {
        ss_emit_work_until(&b->e, w, fraction - mark->tail);
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_ISSUE));
    }
    ss_emit_work_until(&b->e, w, fraction);
}

/* Chunk level: the rest of the work, with the last wait for the host. marked: 1 where the work has marks. */
static void work_end(struct ss_program_builder *b, struct ss_work *w, const struct ss_chunk_issue *issue,
                     int marked)
{
    if (issue->n > 0 && (!marked || issue->rest >= 0)) {
        ss_emit_work_until(&b->e, w, 1 - issue->tail);
        ss_emit_wait(&b->e, SS_STREAM(SS_COMM_ISSUE));
    }
    ss_emit_work_until(&b->e, w, 1);
}

/* Copies the durations of a phase without what the host's stream has. */
static void without_host(const double seconds[SS_LABEL_COUNT], const struct ss_chunk_issue *issue,
                         double out[SS_LABEL_COUNT])
{
    memcpy(out, seconds, SS_LABEL_COUNT * sizeof *out);
    out[SS_LABEL_OTHER] = fmax(0, out[SS_LABEL_OTHER] - ss_issue_left(issue));
}

static void forward_work(struct ss_program_builder *b, const struct ss_comm_variant *v,
                         const double seconds[SS_LABEL_COUNT])
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    if (!in_closed_form(b)) {
        forward_steps(b, chunk, v->first);
        return;
    }
    double work[SS_LABEL_COUNT];
    without_host(seconds, &chunk->issue[SS_PHASE_F], work);
    struct ss_work w = ss_emit_work(&b->e, work);
    for (int i = 0; v->first && i < chunk->ngather; i++) {
        work_until_mark(b, &w, &chunk->issue[SS_PHASE_F], &chunk->gather[i], chunk->gather[i].fraction);
        wait_gathered(b, chunk, i);
    }
    work_end(b, &w, &chunk->issue[SS_PHASE_F], v->first && chunk->ngather);
}

/* Divides the work of a last backward as the reduction beside it slows its parts. */
static void divide_beside(const struct ss_chunk_cost *chunk, double work[SS_LABEL_COUNT])
{
    double beside[SS_LABEL_COUNT], all = ss_label_sum(work);
    without_host(chunk->backward_beside, &chunk->issue[SS_PHASE_B], beside);
    double sum = ss_label_sum(beside);
    for (int l = 0; l < SS_LABEL_COUNT && sum > 0; l++)
        work[l] = beside[l] * all / sum;
}

static void backward_work(struct ss_program_builder *b, const struct ss_comm_variant *v, int chunk_index,
                          const double seconds[SS_LABEL_COUNT])
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[chunk_index];
    if (!in_closed_form(b)) {
        backward_steps(b, chunk, v->phase, v->last);
        return;
    }
    double work[SS_LABEL_COUNT];
    without_host(seconds, &chunk->issue[SS_PHASE_B], work);
    if (v->last)
        divide_beside(chunk, work);
    struct ss_work w = ss_emit_work(&b->e, v->phase == SS_PHASE_B ? work : seconds);
    for (int i = 0; v->last && i < chunk->nreduce; i++) {
        const struct ss_bucket_mark *mark = &chunk->reduce[i];
        work_until_mark(b, &w, &chunk->issue[SS_PHASE_B], mark,
                        v->phase == SS_PHASE_W ? mark->weight_fraction : mark->fraction);
        ss_emit_post(&b->e, chunk->reduce[i].collective, SS_STREAM(SS_COMM_DP_CP));
    }
    if (v->phase == SS_PHASE_B)
        work_end(b, &w, &chunk->issue[SS_PHASE_B], v->last && chunk->nreduce);
    ss_emit_work_until(&b->e, &w, 1);
}

static void forward(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, chunk->activation_bytes);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_LOGITS, chunk->logits_bytes);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OTHER, chunk->forward_extra_bytes);
    forward_work(b, v, chunk->forward);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OTHER, chunk->forward_extra_bytes);
}

static void backward(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    int split = v->phase == SS_PHASE_I;
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OTHER, chunk->backward_extra_bytes);
    backward_work(b, v, v->chunk, split ? chunk->input_grad : chunk->backward);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OTHER, chunk->backward_extra_bytes);
    /* W may need more than the forward kept: after recompute, and with the gradients. */
    double freed = chunk->activation_bytes - (split ? chunk->weight_grad_bytes : 0);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, -freed);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_ACTIVATIONS, freed);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_LOGITS, chunk->logits_bytes);
}

static void weight_gradient(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    const struct ss_chunk_cost *chunk = &b->plan->classes[b->cls].chunks[v->chunk];
    backward_work(b, v, v->chunk, chunk->weight_grad);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_ACTIVATIONS, chunk->weight_grad_bytes);
}

/* Forward and backward side by side: exchanges of one beside the other's kernels where the plan says so, else one after the
 * other, for neither has SMs to spare. */
static void paired_work(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_chunk_cost *f = &c->chunks[v->chunk], *g = &c->chunks[v->chunk2];
    const struct ss_pair_cost *pair = c->pairs ? &c->pairs[v->chunk * b->schedule->chunks + v->chunk2] : NULL;
    double seconds[SS_LABEL_COUNT];
    if (!in_closed_form(b)) {
        if (pair) {
            steps(b, pair->steps, 0, pair->nsteps);
            return;
        }
        forward_steps(b, f, 0);
        backward_steps(b, g, SS_PHASE_B, 0);
        return;
    }
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        seconds[i] = pair ? pair->seconds[i] : f->forward[i] + g->backward[i];
    struct ss_work w = ss_emit_work(&b->e, seconds);
    ss_emit_work_until(&b->e, &w, 1);
}

/* Emits the memory of a pair. Where both run in step, the forward's activations take the place of those that
 * the backward frees, layer by layer; otherwise the forward is done before the backward. */
static void pair_keeps(struct ss_program_builder *b, const struct ss_chunk_cost *chunk, int event)
{
    ss_emit_memory(&b->e, event, SS_MEM_ACTIVATIONS, chunk->activation_bytes);
    ss_emit_memory(&b->e, event, SS_MEM_LOGITS, chunk->logits_bytes);
}

/* The parameters and gradients of the pair are handled at its ends. */
static void paired(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    const struct ss_plan_class *c = &b->plan->classes[b->cls];
    const struct ss_chunk_cost *f = &c->chunks[v->chunk], *g = &c->chunks[v->chunk2];
    double extra = f->forward_extra_bytes + g->backward_extra_bytes;
    int in_step = c->pairs != NULL;
    for (int i = 0; v->first && i < f->ngather; i++)
        wait_gathered(b, f, i);
    if (in_step)
        pair_keeps(b, g, SS_EV_FREE);
    pair_keeps(b, f, SS_EV_ALLOC);
    ss_emit_memory(&b->e, SS_EV_ALLOC, SS_MEM_OTHER, extra);
    paired_work(b, v);
    ss_emit_memory(&b->e, SS_EV_FREE, SS_MEM_OTHER, extra);
    if (!in_step)
        pair_keeps(b, g, SS_EV_FREE);
    if (v->last)
        ss_program_reduce(b, v->chunk2);
}

void ss_program_slot_work(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    ss_program_issue(b, v);
    if (v->phase == SS_PHASE_F)
        forward(b, v);
    else if (v->phase == SS_PHASE_FB)
        paired(b, v);
    else if (v->phase == SS_PHASE_W)
        weight_gradient(b, v);
    else
        backward(b, v);
    if (v->aligned >= 0)
        ss_program_reduce(b, v->aligned);
}
