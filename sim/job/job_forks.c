/* SPDX-License-Identifier: Apache-2.0 */
/* What flags of forks of Megatron-LM come to in a job. */
#include <string.h>

#include "base/base.h"
#include "job/job_internal.h"

/* The schedule of zero-bubble's flags; NULL: they name none. */
static const char *schedule_of(struct ss_finish *f)
{
    static const char *const v_schedules[] = {"zb-v", "v-half", "v-min"};
    const struct ss_asked *asked = f->asked;
    int pending = asked->zero_bubble_pending, pp = f->job->pp;

    if (asked->zero_bubble_v)
        return v_schedules[asked->zero_bubble_memory];
    if (asked->one_f_one_b_v)
        return "1f1b-v";
    if (!asked->zero_bubble)
        return asked->interleave_group ? "group-interleaved" : NULL;
    if (!pending || (pending != pp && pending != 2 * pp))
        ss_note(
            f->notes,
            "--zero-bubble-max-pending-backward %s: the schedule is that of %d microbatches in flight (%s)",
            pending ? "is neither the number of stages nor twice that" : "is auto",
            pending && pending < 2 * pp ? pp : 2 * pp, pending && pending < 2 * pp ? "zb-h1" : "zb-h2");
    return pending && pending < 2 * pp ? "zb-h1" : "zb-h2";
}

void ss_job_complete_forks(struct ss_finish *f)
{
    const struct ss_asked *asked = f->asked;
    struct ss_job *job = f->job;
    struct ss_model *m = &job->model;
    const char *schedule = !strcmp(job->schedule, "auto") && job->pp > 1 ? schedule_of(f) : NULL;

    if (schedule)
        ss_copy(job->schedule, sizeof job->schedule, schedule);
    if (schedule && !strcmp(schedule, "group-interleaved"))
        job->microbatch_group_size = asked->interleave_group;
    if (asked->tp_extends_ep) {
        job->ep *= job->tp;
        job->etp = 1;
    }
    if (asked->first_dense >= 0 && m->moe_layers.n == 0) {
        m->moe_layers.period = m->moe_layers.period > 0 ? m->moe_layers.period : 1;
        m->moe_layers.first = asked->first_dense;
    }
    if (asked->shared_experts && m->shared_expert_ffn_hidden_size <= 0)
        m->shared_expert_ffn_hidden_size =
            asked->shared_experts *
            (m->moe_ffn_hidden_size > 0 ? m->moe_ffn_hidden_size : m->ffn_hidden_size);
}

int ss_job_complete_padding(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    int each = (job->model.num_layers + job->pp - 1) / job->pp,
        last = job->model.num_layers - each * (job->pp - 1);

    if (f->asked->pad_layers && job->pp > 1 && ss_job_chunks(job) == 1 && !job->layout.n &&
        !job->first_stage_layers && !job->last_stage_layers && last >= 1 && last < each)
        job->last_stage_layers = last;
    return SS_OK;
}
