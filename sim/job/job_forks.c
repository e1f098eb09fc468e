/* SPDX-License-Identifier: Apache-2.0 */
/* What flags of forks of Megatron-LM come to in a job. */
#include "base/base.h"
#include "job/job_internal.h"
#include "stepsim/schedule.h"

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

/* Flags of zero-bubble's that ask for nothing as the others stand. */
static void tell_inactive(struct ss_finish *f)
{
    const struct ss_asked *asked = f->asked;
    const char *chooses = asked->zero_bubble_v      ? "--zero-bubble-v-schedule"
                          : asked->one_f_one_b_v    ? "--enable-1f1b-v"
                          : asked->zero_bubble      ? "--enable-zero-bubble"
                          : asked->interleave_group ? "--interleave-group-size"
                                                    : NULL;

    if (chooses && f->job->pp < 2)
        ss_note(f->notes, "%s is not active without pipeline parallelism", chooses);
    else if (chooses && strcmp(f->job->schedule, "auto") != 0)
        ss_note(f->notes, "%s is not active beside --schedule %s", chooses, f->job->schedule);
    if (asked->zero_bubble_memory_given && !asked->zero_bubble_v)
        ss_note(f->notes,
                "--zero-bubble-v-schedule-mem-setup is not active without --zero-bubble-v-schedule");
    if (asked->zero_bubble_pending && !(asked->zero_bubble && !asked->zero_bubble_v))
        ss_note(f->notes, "--zero-bubble-max-pending-backward is not active without --enable-zero-bubble");
    else if (asked->zero_bubble && asked->zero_bubble_v)
        ss_note(f->notes, "--enable-zero-bubble is not active beside --zero-bubble-v-schedule");
}

void ss_job_complete_forks(struct ss_finish *f)
{
    const struct ss_asked *asked = f->asked;
    struct ss_job *job = f->job;
    struct ss_model *m = &job->model;
    const char *schedule = !strcmp(job->schedule, "auto") && job->pp > 1 ? schedule_of(f) : NULL;

    tell_inactive(f);

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

/* The rule without the layers that compute nothing, as a list. */
static void leave_out(struct ss_layer_rule *rule, int layers, const struct ss_layer_rule *noops)
{
    struct ss_layer_rule out = {0};

    for (int i = 0; i < layers; i++)
        if (!ss_layer_rule_has(noops, i)) {
            out.bits[out.n / 64] |= (uint64_t)ss_layer_rule_has(rule, i) << out.n % 64;
            out.n++;
        }
    *rule = out;
}

/* Layers that compute nothing are none; their stages are shorter. The stages are those of all layers, in equal parts. */
static int complete_noops(struct ss_finish *f)
{
    const struct ss_layer_rule *noops = &f->asked->noop_layers;
    struct ss_job *job = f->job;
    struct ss_model *m = &job->model;
    int layers = m->num_layers, chunks = ss_job_chunks(job), many = 0;

    if (!noops->n)
        return SS_OK;
    if (chunks < ss_schedule_chunks(job->schedule, chunks) && job->pp > 1)
        chunks = ss_schedule_chunks(job->schedule, chunks);
    if (noops->n > layers || layers > SS_LAYER_RULE_MAX)
        return ss_job_refuse(f, "--noop-layers %d: the layers are 0 to %d", noops->n - 1, layers - 1);
    if (job->layout.n || job->first_stage_layers || job->last_stage_layers || layers % (job->pp * chunks))
        return ss_job_refuse(f, "--noop-layers: equal stages are modelled: %d layers are none of %d", layers,
                             job->pp * chunks);
    int n = job->pp > 1 ? job->pp * chunks : 0;
    if (n > SS_LAYOUT_MAX)
        return ss_job_refuse(f, "--noop-layers: at most %d stages", SS_LAYOUT_MAX);
    job->layout.n = n;
    for (int i = 0; i < layers; i++) {
        many += ss_layer_rule_has(noops, i);
        if (n)
            job->layout.layers[i / (layers / n)] += (short)!ss_layer_rule_has(noops, i);
    }
    if (n)
        job->layers_per_virtual_stage = job->virtual_stages = 0;
    if (m->num_experts > 0)
        leave_out(&m->moe_layers, layers, noops);
    m->num_layers -= many;
    ss_note(f->notes, "--noop-layers: %d of %d layers compute nothing: %d are run", many, layers,
            m->num_layers);
    return SS_OK;
}

/* Stages of equally many modules, the first ones of one more (pipe_partition_uniform of scaling's
 * core/nn/parallel_module/pipeline_partitioning.py): the first module is the embedding, the last ones are the border behind the layers. */
static int complete_modules(struct ss_finish *f)
{
    struct ss_job *job = f->job;
    int border = (int)f->stack->pp_modules, modules = job->model.num_layers + border, pp = job->pp,
        least = modules / pp - (border - 1), split = ss_job_has_stage_layers(job) || ss_job_chunks(job) > 1;

    if (!border || pp == 1 || split)
        return SS_OK;
    if (least < 0)
        return ss_job_refuse(f,
                             "--pp %d: %s has equally many modules on each stage, and the %d behind the "
                             "layers do not fit on one",
                             pp, f->stack->name, border - 1);
    if (pp > SS_LAYOUT_MAX)
        return ss_job_refuse(f, "--pp %d: at most %d stages", pp, SS_LAYOUT_MAX);
    job->layout.n = pp;
    for (int i = 0; i < pp; i++)
        job->layout.layers[i] =
            (short)(modules / pp + (i < modules % pp) - (i == 0) - (i == pp - 1 ? border - 1 : 0));
    return SS_OK;
}

int ss_job_complete_padding(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (f->asked->noop_layers.n)
        return complete_noops(f);
    SS_TRY(complete_modules(f));
    int each = (job->model.num_layers + job->pp - 1) / job->pp,
        last = job->model.num_layers - each * (job->pp - 1);

    if (f->asked->pad_layers && job->pp > 1 && ss_job_chunks(job) == 1 && !job->layout.n &&
        !job->first_stage_layers && !job->last_stage_layers && last >= 1 && last < each)
        job->last_stage_layers = last;
    return SS_OK;
}
