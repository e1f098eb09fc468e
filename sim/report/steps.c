/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `plan --steps` prints: what a rank of a stage does in each kind of slot, as CSV. */
#include "report/common.h"

/* A kind of slot: its phase, its chunk, and for a pair the chunk of the backward. */
struct slot {
    int phase, chunk, backward; /* backward < 0: no pair */
};

static const char *text_of(const char *s)
{
    return s ? s : "";
}

static void row(const struct ss_plan *plan, const struct slot *slot, const struct ss_step *s, FILE *out)
{
    static const char *const kinds[] = {"compute", "post", "wait"};

    fprintf(out, "%s,%d,", ss_phase_name(slot->phase), slot->chunk);
    if (slot->backward >= 0)
        fprintf(out, "%d", slot->backward);
    fprintf(out, ",%s,", kinds[s->kind]);
    if (s->kind != SS_STEP_COMPUTE)
        fprintf(out, "%d", s->stream);
    if (s->kind == SS_STEP_WAIT) {
        fprintf(out, ",,,,,,\n");
        return;
    }
    fprintf(out, ",%s,%s,%s,%s,%.10g,", ss_phase_name(s->phase), text_of(s->op), text_of(s->op_kind),
            s->kind == SS_STEP_POST ? plan->collectives[s->collective].name : ss_label_name(s->label),
            1e3 * s->seconds);
    if (s->kind == SS_STEP_POST)
        fprintf(out, "%.10g", plan->collectives[s->collective].bytes);
    fputc('\n', out);
}

static void rows(const struct ss_plan *plan, const struct slot *slot, const struct ss_step *list, int n,
                 FILE *out)
{
    for (int i = 0; i < n; i++)
        row(plan, slot, &list[i], out);
}

int ss_report_steps(const struct ss_plan *plan, int stage, FILE *out, struct ss_error *err)
{
    int cls = 0, chunks = plan->schedule->chunks;

    if (stage < 0 || stage >= plan->schedule->stages)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--steps %d: stages are 0 to %d", stage,
                       plan->schedule->stages - 1);
    while (plan->classes[cls].stage != stage)
        cls++;
    const struct ss_plan_class *c = &plan->classes[cls];
    fprintf(out, "slot,chunk,backward_chunk,step,stream,phase,operator,kind,label,ms,bytes\n");
    for (int k = 0; k < chunks; k++)
        for (int phase = 0; phase < SS_PHASE_FB; phase++)
            rows(plan, &(struct slot){phase, k, -1}, c->chunks[k].steps[phase], c->chunks[k].nsteps[phase],
                 out);
    for (int i = 0; c->pairs && i < chunks * chunks; i++)
        rows(plan, &(struct slot){SS_PHASE_FB, i / chunks, i % chunks}, c->pairs[i].steps, c->pairs[i].nsteps,
             out);
    return ss_report_done(out, err);
}
