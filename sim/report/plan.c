/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `plan` prints: what runs where, before any time passes. */
#include "report/common.h"
#include "report/json.h"
#include "report/text.h"
#include "stepsim/job.h"
#include "stepsim/parameters.h"

/* Returns some class of a stage: the layers of a stage do not depend on the class. */
static const struct ss_plan_class *class_of_stage(const struct ss_plan *plan, int stage)
{
    for (int c = 0; c < plan->nclasses; c++)
        if (plan->classes[c].stage == stage)
            return &plan->classes[c];
    return NULL;
}

static int group_count(const struct ss_plan *plan, int comm, int size)
{
    /* the first and last rank of each pipeline alone: one group for each pipeline */
    if (ss_comm_facts(comm)->members == SS_MEMBERS_ENDS)
        return plan->world_size / plan->ranks.size[SS_AXIS_PP];
    return plan->world_size / size;
}

static void text_groups(const struct ss_plan *plan, int *members, FILE *out)
{
    fprintf(out, "\nGroups        size  count  ranks of the first\n");
    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        const struct ss_ranks *grid = ss_plan_grid(plan, comm);
        int n;
        if (!grid)
            continue;
        ss_ranks_group(grid, comm, 0, members, &n);
        fprintf(out, "  %-10s %5d %6d ", ss_comm_facts(comm)->name, n, group_count(plan, comm, n));
        for (int i = 0; i < n && i < 8; i++)
            fprintf(out, " %d", members[i]);
        fprintf(out, "%s\n", n > 8 ? " ..." : "");
    }
}

static void text_stages(const struct ss_plan *plan, FILE *out)
{
    char parameters[32];

    fprintf(out, "\nStage  ranks  parameters  layers by chunk\n");
    for (int s = 0; s < plan->schedule->stages; s++) {
        const struct ss_plan_class *c = class_of_stage(plan, s);
        if (!c)
            continue;
        fprintf(out, "  %3d  %5d  %10s ", s, plan->world_size / plan->schedule->stages,
                ss_report_count(c->parameters, parameters, sizeof parameters));
        for (int k = 0; k < plan->schedule->chunks; k++) {
            const struct ss_chunk_cost *chunk = &c->chunks[k];
            fprintf(out, " %s", chunk->has_embedding ? "emb+" : "");
            if (chunk->nlayers > 1)
                fprintf(out, "%d-%d", chunk->first_layer, chunk->first_layer + chunk->nlayers - 1);
            else if (chunk->nlayers == 1)
                fprintf(out, "%d", chunk->first_layer);
            else
                fprintf(out, "-");
            if (chunk->has_loss && plan->job->model.mtp_num_layers > 0)
                fprintf(out, "+%d mtp", plan->job->model.mtp_num_layers);
            fprintf(out, "%s", chunk->has_loss ? "+loss" : "");
        }
        fputc('\n', out);
    }
}

static void text_spread(const char *name, const struct ss_load_spread *s, FILE *out)
{
    fprintf(out, "  %-15s %6.3f %6.3f %6.3f %6.3f\n", name, s->mean, s->p50, s->p90, s->p99);
}

/* Writes what the experts of a layer get in a pass, and where a token goes. */
static void text_load(const struct ss_plan *plan, FILE *out)
{
    const struct ss_load_figures *l = &plan->load;

    if (!plan->experts)
        return;
    fprintf(out,
            "\nLoad of the experts, over an even share: mean and percentiles 50, 90, 99 of the passes\n");
    text_spread("hottest rank", &l->rank, out);
    text_spread("hottest expert", &l->expert, out);
    fprintf(out, "  %-15s %6.3f\n", "coldest rank", l->coldest_rank);
    if (ss_report_shows_dropped(l))
        fprintf(out, "  %-15s %6.2f %% of the copies of tokens\n", "dropped", 100 * l->dropped);
    fprintf(out, "  a token goes to %.2f ranks on %.2f nodes\n", l->ranks, l->nodes);
}

/* Makes what text and JSON need: room for the members of a group, and the warnings. */
static int gather(const struct ss_run *run, const struct ss_report_options *opt, int **members,
                  struct ss_notes *warnings, struct ss_error *err)
{
    *members = ss_calloc((size_t)run->plan->world_size, sizeof **members);
    if (*members && !ss_report_warnings(run, opt, warnings))
        return SS_OK;
    free(*members);
    return ss_nomem(err);
}

static int write_text(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                      struct ss_error *err)
{
    const struct ss_plan *plan = run->plan;
    struct ss_notes warnings;
    int *members, rc = gather(run, opt, &members, &warnings, err);

    if (rc)
        return rc;
    ss_text_job(plan, out);
    text_groups(plan, members, out);
    text_stages(plan, out);
    text_load(plan, out);
    fprintf(out, "\n%d microbatches of %d a pipeline; warm-up slots by stage:", plan->microbatches,
            plan->job->micro_batch);
    for (int s = 0; s < plan->schedule->stages; s++)
        fprintf(out, " %d", ss_schedule_warmup(plan->schedule, s));
    fprintf(out, "\n(microbatch, chunk) pairs in flight by stage:");
    for (int s = 0; s < plan->schedule->stages; s++)
        fprintf(out, " %d", ss_schedule_in_flight(plan->schedule, s));
    fputc('\n', out);
    struct ss_report_options all = *opt;
    all.verbose = 1;
    if (run->result)
        rc = ss_text_memory(run->result, &all, out);
    SS_THEN(rc, ss_text_kernels(run, &(struct ss_display){.width = opt->width}, out));
    ss_text_notes("Warnings", &warnings, 20, out);
    SS_THEN(rc, ss_text_ignored(opt, out));
    ss_notes_free(&warnings);
    free(members);
    return rc ? ss_fail(err, rc, NULL, 0, "no memory for the report") : ss_report_done(out, err);
}

static struct ss_json *json_groups(const struct ss_plan *plan, int *members)
{
    struct ss_json *groups = ss_json_begin_object();

    for (int comm = 0; comm < SS_COMM_COUNT; comm++) {
        const struct ss_ranks *grid = ss_plan_grid(plan, comm);
        int n;
        if (!grid)
            continue;
        struct ss_json *first = ss_json_begin_list();
        ss_ranks_group(grid, comm, 0, members, &n);
        for (int i = 0; i < n; i++)
            SS_ITEM(first, members[i]);
        SS_PUT(groups, SS_KEY(ss_comm_facts(comm)->name,
                              SS_OBJECT(SS_KEY("size", n), SS_KEY("count", group_count(plan, comm, n)),
                                        SS_KEY("first", first))));
    }
    return groups;
}

static struct ss_json *json_chunk(const void *cost)
{
    const struct ss_chunk_cost *c = cost;
    double forward = 0, backward = 0;

    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        forward += c->forward[l];
        backward += c->backward[l];
    }
    return SS_OBJECT(SS_SAME(c, virtual_stage), SS_SAME(c, first_layer), SS_KEY("layers", c->nlayers),
                     SS_KEY("embedding", (bool)c->has_embedding), SS_KEY("loss", (bool)c->has_loss),
                     SS_KEY("forward_ms", 1e3 * forward), SS_KEY("backward_ms", 1e3 * backward),
                     SS_KEY("activations_mib", c->activation_bytes / SS_MIB),
                     SS_KEY("logits_mib", c->logits_bytes / SS_MIB),
                     SS_KEY("send_mib", c->send_bytes / SS_MIB));
}

static struct ss_json *json_stages(const struct ss_plan *plan)
{
    struct ss_json *stages = ss_json_begin_list();

    for (int s = 0; s < plan->schedule->stages; s++) {
        const struct ss_plan_class *c = class_of_stage(plan, s);
        SS_ITEM(stages,
                SS_OBJECT(SS_KEY("stage", s), SS_KEY("ranks", plan->world_size / plan->schedule->stages),
                          SS_KEY("parameters", c ? (int64_t)c->parameters : 0),
                          SS_KEY("warmup", ss_schedule_warmup(plan->schedule, s)),
                          SS_KEY("in_flight", ss_schedule_in_flight(plan->schedule, s)),
                          SS_KEY("chunks", SS_LIST(json_chunk, c->chunks, c ? plan->schedule->chunks : 0))));
    }
    return stages;
}

static int write_json(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                      struct ss_error *err)
{
    const struct ss_plan *plan = run->plan;
    struct ss_notes warnings;
    int *members, rc = gather(run, opt, &members, &warnings, err);

    if (rc)
        return rc;
    struct ss_json *o = ss_json_document("plan");
    SS_PUT(o, SS_SAME(plan, world_size), SS_SAME(plan, dp), SS_SAME(plan, microbatches),
           SS_KEY("parameters", (int64_t)plan->parameters),
           SS_KEY("active_parameters",
                  (int64_t)ss_model_active_parameters(&plan->job->model, plan->padded_vocab)),
           SS_KEY("classes", plan->nclasses), SS_KEY("groups", json_groups(plan, members)),
           SS_KEY("stages", json_stages(plan)));
    ss_json_add_load(o, plan);
    ss_json_add_packing(o, plan);
    if (run->result)
        ss_json_verdict(o, &run->summary);
    SS_PUT(o, SS_KEY_IF(run->result, "memory", ss_json_memory(run, opt)),
           SS_KEY("warnings", ss_json_notes(&warnings)), SS_KEY("ignored", ss_json_notes(opt->ignored)),
           SS_KEY("dropped", ss_json_notes(opt->dropped)), SS_KEY("inputs", ss_json_inputs(plan, opt)));
    ss_notes_free(&warnings);
    free(members);
    return ss_json_write(o, out, err);
}

int ss_report_plan(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                   struct ss_error *err)
{
    static const struct ss_report_options none = {.wall_s = -1};

    opt = opt ? opt : &none;
    return opt->json ? write_json(run, opt, out, err) : write_text(run, opt, out, err);
}

/* ---- steps ---- */

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
