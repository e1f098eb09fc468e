/* SPDX-License-Identifier: Apache-2.0 */
/* The host's launches as a stream beside the slots (docs/design/host.md). A slot posts those of the slot behind it
 * when it begins, so that the host works at them while the GPU is at this one; the first slot, and one behind a slot
 * in which the host waited for the GPU, post their own. */
#include "program/program_builder.h"

static const struct ss_chunk_issue *issue_of(const struct ss_program_builder *b, int phase, int chunk)
{
    return &b->plan->classes[b->cls].chunks[chunk].issue[phase];
}

static void post(struct ss_program_builder *b, int phase, int chunk, int marked)
{
    const struct ss_chunk_cost *k = &b->plan->classes[b->cls].chunks[chunk];
    const struct ss_chunk_issue *issue = &k->issue[phase];
    const struct ss_bucket_mark *marks = phase == SS_PHASE_F ? k->gather : k->reduce;
    int n = marked && b->plan->level == SS_LEVEL_CHUNK ? phase == SS_PHASE_F ? k->ngather : k->nreduce : 0;
    for (int i = 0; i < n && issue->n; i++)
        if (marks[i].issue >= 0)
            ss_emit_post(&b->e, marks[i].issue, SS_STREAM(SS_COMM_ISSUE));
    if (n && issue->n && issue->rest >= 0)
        ss_emit_post(&b->e, issue->rest, SS_STREAM(SS_COMM_ISSUE));
    for (int i = 0; i < issue->n && !n; i++)
        ss_emit_post(&b->e, issue->collective[i], SS_STREAM(SS_COMM_ISSUE));
}

void ss_program_issue_ahead(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    const struct ss_comm_neighbour *before = &v->before, *behind = &v->behind;
    if (!b->plan->classes[b->cls].host_ahead || v->phase > SS_PHASE_B)
        return;
    if (before->phase < 0 || issue_of(b, before->phase, before->chunk)->in_step)
        post(b, v->phase, v->chunk, v->phase == SS_PHASE_F ? v->first : v->last);
    if (behind->phase >= 0 && !issue_of(b, v->phase, v->chunk)->in_step)
        post(b, behind->phase, behind->chunk, behind->marked);
}

void ss_program_issue(struct ss_program_builder *b, const struct ss_comm_variant *v)
{
    if (!b->plan->classes[b->cls].host_ahead && v->phase <= SS_PHASE_B)
        post(b, v->phase, v->chunk, v->phase == SS_PHASE_F ? v->first : v->last);
}
