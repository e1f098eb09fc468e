/* SPDX-License-Identifier: Apache-2.0 */
#include "cost/layer_set.h"

#include "base/base.h"
#include "cost/offload.h"
#include "stepsim/job.h"

int ss_layer_set_init(struct ss_layer_set *set, const struct ss_cost_context *c, int nchunks, int with_steps,
                      struct ss_error *err)
{
    set->c = c;
    set->card = c->card;
    set->with_steps = with_steps;
    set->fixed = c->stack->fixed_microbatch;
    set->slower = c->slower;
    set->delay_wgrad = c->job->moe.delay_wgrad && c->shape.paired;
    set->experts_apart = ss_job_experts_apart(c->job);
    set->nchunks = nchunks;
    set->chunks = ss_calloc((size_t)nchunks, sizeof *set->chunks);
    return set->chunks ? SS_OK : ss_nomem(err);
}

size_t ss_layer_set_bytes(const struct ss_layer_set *set)
{
    size_t bytes = set->operators_of ? ss_layer_set_bytes(set->operators_of) : 0;
    return bytes + sizeof *set + set->cap_parts * sizeof *set->part +
           (size_t)set->nlists * sizeof **set->list;
}

void ss_layer_set_free(struct ss_layer_set *set)
{
    if (!set || set->sharers-- > 0)
        return;
    for (int i = 0; i < set->nparts; i++) {
        ss_layer_steps_free(&set->part[i].steps);
        if (!set->operators_of)
            free(set->part[i].linear);
    }
    free(set->part);
    for (int i = 0; i < set->nlists; i++)
        free(set->list[i]);
    free(set->list);
    for (int k = 0; set->chunks && k < set->nchunks; k++)
        free(set->chunks[k].run);
    free(set->chunks);
    ss_layer_set_free(set->operators_of);
    free(set);
}

/* ---- parts ---- */

/* Returns the operators of a kind, NULL when memory runs out. */
static const struct ss_ops *kind_ops(struct ss_layer_set *set, int kind)
{
    struct ss_layer_list *made;
    for (int i = 0; i < set->nlists; i++)
        if (set->list[i]->kind == kind)
            return &set->list[i]->ops;
    if (ss_grow(&set->list, &set->cap_lists, (size_t)set->nlists + 1, sizeof *set->list) ||
        !(made = malloc(sizeof *made)))
        return NULL;
    set->list[set->nlists++] = made;
    made->kind = kind;
    int encoder = ss_layer_encoder(kind);
    ss_layer_operators(kind, encoder ? &set->c->tower[encoder - 1]->shape : &set->c->shape, &made->ops);
    return &made->ops;
}

/* Returns the set's part of this kind and treatment, NULL where it has none. */
static const struct ss_layer_part *part_of(const struct ss_layer_set *set, int kind, int treatment)
{
    for (int i = 0; set && i < set->nparts; i++)
        if (set->part[i].kind == kind && set->part[i].treatment == treatment)
            return &set->part[i];
    return NULL;
}

/* Leaves the forward alone. */
static void freeze(struct ss_layer_part *part)
{
    struct ss_layer_cost forward = part->cost;
    memset(forward.input_grad, 0, sizeof forward.input_grad);
    memset(forward.weight_grad, 0, sizeof forward.weight_grad);
    memset(forward.joint, 0, sizeof forward.joint);
    memset(forward.launches[1], 0, sizeof forward.launches[1]);
    forward.gemms[1] = forward.host[1] = forward.backward_flops = 0;
    forward.in_step[1] = 0;
    part->cost = forward;
    for (int phase = SS_PHASE_B; phase < SS_PHASE_FB; phase++)
        part->steps.phase[phase].n = 0;
}

static int part_cost(struct ss_layer_set *set, struct ss_layer_part *part)
{
    const struct ss_ops *ops = part->ops;
    struct ss_cost_context c = ops->encoder ? ss_cost_of_encoder(set->c, ops->encoder - 1) : *set->c;
    struct ss_recorder recorder;
    int recompute =
        part->treatment == SS_TREAT_RECOMPUTED ? SS_RECOMPUTE_FULL
        : ops->where == SS_WHERE_TRANSFORMER && c.job->recompute.granularity == SS_RECOMPUTE_SELECTIVE
            ? SS_RECOMPUTE_SELECTIVE
            : SS_RECOMPUTE_NONE;
    int record = set->with_steps || c.shape.shared_overlap || c.shape.paired || ss_cost_fetches_layers(&c);
    const struct ss_layer_part *known = record ? NULL : part_of(set->like, part->kind, part->treatment);
    if (!part->linear && !set->operators_of) /* without memory they are found again */
        part->linear = malloc(((size_t)ops->n + 1) * sizeof *part->linear);
    for (int i = 0; part->linear && !set->operators_of && i < ops->n; i++)
        part->linear[i].f = 0; /* not there */
    if (known) {
        part->cost = known->cost;
        part->host = known->host;
        if (part->linear && known->linear)
            memcpy(part->linear, known->linear, (size_t)ops->n * sizeof *part->linear);
        return SS_OK;
    }
    c.linear = part->linear;
    c.record = record ? &recorder : NULL;
    c.without_grad = part->treatment == SS_TREAT_FROZEN;
    ss_cost_layer_kept(&set->keeper, part->kind, &c, ops, recompute, &part->cost);
    if (part->treatment == SS_TREAT_OFFLOADED) {
        ss_cost_layer_offload(&c, ops, &part->cost);
        part->host = ss_layer_offloaded(set->c->job, ops).host;
    }
    int status = record ? ss_record_end(&recorder, &part->steps) : SS_OK;
    if (part->treatment == SS_TREAT_FROZEN)
        freeze(part);
    return status;
}

static int part_price(struct ss_layer_set *set, struct ss_layer_part *part)
{
    const struct ss_layer_cost *cost = &part->cost;
    int status = part_cost(set, part);
    for (int i = 0; i < SS_LABEL_COUNT; i++) {
        double pace = i == SS_LABEL_COMPUTE || i == SS_LABEL_RECOMPUTE ? 1 + set->slower : 1;
        part->seconds[SS_PHASE_F] += pace * cost->forward[i];
        part->seconds[SS_PHASE_B] += pace * (cost->input_grad[i] + cost->weight_grad[i] + cost->joint[i]);
        part->seconds[SS_PHASE_I] += pace * cost->input_grad[i];
        part->seconds[SS_PHASE_W] += pace * cost->weight_grad[i];
    }
    return status;
}

/* Returns the index of a part, which is built when it is first asked for; -1: out of memory. */
static int part_find(struct ss_layer_set *set, int kind, int treatment)
{
    const struct ss_layer_part *there = part_of(set, kind, treatment);
    if (there)
        return (int)(there - set->part);
    const struct ss_ops *ops = kind_ops(set, kind);
    if (!ops || ss_grow(&set->part, &set->cap_parts, (size_t)set->nparts + 1, sizeof *set->part))
        return -1;
    struct ss_layer_part *part = &set->part[set->nparts++];
    *part = (struct ss_layer_part){.kind = kind, .treatment = treatment, .ops = ops};
    return part_price(set, part) ? -1 : set->nparts - 1;
}

/* ---- runs of a chunk ---- */

static int run_new(struct ss_layer_set *set, struct ss_layer_runs *runs, int kind, int treatment,
                   int predicts)
{
    int part = part_find(set, kind, treatment);
    if (part < 0 || ss_grow(&runs->run, &runs->cap, runs->n + 1, sizeof *runs->run))
        return SS_ERR_NOMEM;
    runs->run[runs->n++] = (struct ss_layer_run){.part = part, .count = 1, .predicts = predicts};
    return SS_OK;
}

/* Adds one layer of this kind at the end of the chunk. */
static int run_add(struct ss_layer_set *set, struct ss_layer_runs *runs, int kind, int treatment)
{
    struct ss_layer_run *last = runs->n ? &runs->run[runs->n - 1] : NULL;
    if (last && set->part[last->part].kind == kind && set->part[last->part].treatment == treatment) {
        last->count++;
        return SS_OK;
    }
    return run_new(set, runs, kind, treatment, 0);
}

/* Adds the layers of multi-token prediction. Recompute repeats all but embedding and loss there, or nothing
 * where the method is block. */
static int predictions_add(struct ss_layer_set *set, struct ss_layer_runs *runs, int nlayers)
{
    const struct ss_job *job = set->c->job;
    int redone =
        job->recompute.granularity == SS_RECOMPUTE_FULL && job->recompute.method == SS_RECOMPUTE_UNIFORM;
    int inside = redone ? SS_TREAT_RECOMPUTED : SS_TREAT_KEPT, rc = SS_OK;
    int offloaded = ss_offloaded_layers(job, nlayers + job->model.mtp_num_layers, 1) - nlayers;
    for (int n = 0; n < job->model.mtp_num_layers && !rc; n++) {
        size_t first = runs->n;
        int treatment = job->offload.modules && n < offloaded ? SS_TREAT_OFFLOADED : inside;
        rc = run_new(set, runs, SS_LAYER_MTP_EMBEDDING, SS_TREAT_KEPT, 1);
        SS_THEN(rc, run_new(set, runs, SS_LAYER_MTP, inside, 1));
        for (int i = 0; i < ss_layer_mtp_layers(&job->model) && !rc; i++)
            rc = run_new(set, runs, ss_layer_mtp_kind_in(&job->model, job->seq_length, i), treatment, 1);
        SS_THEN(rc, run_new(set, runs, SS_LAYER_MTP_LOSS, SS_TREAT_KEPT, 1));
        for (size_t i = first; i < runs->n; i++)
            runs->run[i].shares = n > 0 && job->model.mtp_repeated > 0;
    }
    return rc;
}

/* Adds an encoder, which runs before the embedding; Megatron recomputes no projector. */
static int encoder_add(struct ss_layer_set *set, struct ss_layer_runs *runs, const struct ss_tower *t)
{
    int frozen = t->shape.frozen ? SS_TREAT_FROZEN : SS_TREAT_KEPT, rc = SS_OK;
    for (int i = 0, last = ss_tower_length(t) - 1; i <= last && !rc; i++)
        rc = run_add(set, runs, ss_tower_kind(t, i),
                     i == last               ? SS_TREAT_KEPT
                     : i > 0 && t->recompute ? SS_TREAT_RECOMPUTED
                                             : frozen);
    return rc;
}

static int runs_build(struct ss_layer_set *set, struct ss_layer_runs *runs, const struct ss_chunk_cost *chunk)
{
    const struct ss_job *job = set->c->job;
    const struct ss_layer_kinds kinds = ss_layer_kinds_of(job);
    int redone = ss_recomputed_layers(job, chunk->nlayers), rc = SS_OK;
    int behind = chunk->has_loss ? job->model.mtp_num_layers : 0;
    int offloaded = ss_offloaded_layers(job, chunk->nlayers + behind, chunk->has_loss);
    if (chunk->recv_bytes > 0)
        rc = run_add(set, runs, SS_LAYER_RECEIVED, SS_TREAT_KEPT);
    for (int e = 0; e < SS_ENCODERS && chunk->has_embedding && !rc; e++)
        rc = set->c->tower[e] ? encoder_add(set, runs, set->c->tower[e]) : SS_OK;
    if (chunk->has_embedding && !rc)
        rc = run_add(set, runs, SS_LAYER_EMBEDDING, SS_TREAT_KEPT);
    for (int i = 0; i < chunk->nlayers && !rc; i++)
        rc = run_add(set, runs, ss_layer_kind_at(&kinds, chunk->first_layer + i),
                     i < redone               ? SS_TREAT_RECOMPUTED
                     : i < redone + offloaded ? SS_TREAT_OFFLOADED
                                              : SS_TREAT_KEPT);
    if (chunk->has_loss && !rc)
        rc = predictions_add(set, runs, chunk->nlayers);
    if (chunk->has_loss && !rc)
        rc = run_add(set, runs, SS_LAYER_LOSS, SS_TREAT_KEPT);
    if (chunk->send_bytes > 0 && !rc)
        rc = run_add(set, runs, SS_LAYER_RETURNED, SS_TREAT_KEPT);
    return rc;
}

static void times_add(struct ss_chunk_cost *chunk, const struct ss_layer_cost *cost, int count)
{
    chunk->gemms += count * (cost->gemms[0] + cost->gemms[1]);
    for (int i = 0; i < SS_LAUNCHES; i++) {
        chunk->launches[0][i] += count * cost->launches[0][i];
        chunk->launches[1][i] += count * cost->launches[1][i];
    }
    for (int i = 0; i < SS_LABEL_COUNT; i++) {
        chunk->forward[i] += count * cost->forward[i];
        chunk->input_grad[i] += count * cost->input_grad[i];
        chunk->weight_grad[i] += count * cost->weight_grad[i];
        chunk->backward[i] += count * cost->joint[i];
    }
}

/* Fills the times of a backward alone whose weight gradients run beside its own exchanges. */
static int delayed_times(const struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk)
{
    struct ss_step_list list;
    int status = ss_pair_steps(set, -1, k, &list);
    SS_THEN(status, ss_steps_fold(&list, set->slower, chunk->backward));
    free(list.step);
    return status;
}

int ss_layer_set_times(const struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk,
                       struct ss_error *err)
{
    const struct ss_layer_runs *runs = &set->chunks[k];
    double *const all[] = {chunk->forward, chunk->backward, chunk->input_grad, chunk->weight_grad};
    for (size_t i = 0; i < SS_ARRAY_LEN(all); i++)
        memset(all[i], 0, sizeof chunk->forward);
    memset(chunk->launches, 0, sizeof chunk->launches);
    chunk->gemms = 0;
    for (size_t i = 0; i < runs->n; i++)
        times_add(chunk, &ss_layer_part(set, &runs->run[i])->cost, runs->run[i].count);
    chunk->forward[SS_LABEL_OTHER] += set->fixed;
    chunk->input_grad[SS_LABEL_OTHER] += set->fixed;
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        chunk->backward[i] += chunk->input_grad[i] + chunk->weight_grad[i];
    if (set->delay_wgrad && delayed_times(set, k, chunk))
        return ss_nomem(err);
    double kernels = ss_chunk_kernels(chunk);
    chunk->gemms = kernels > 0 ? fmin(1, chunk->gemms / kernels) : 0;
    return SS_OK;
}

int ss_layer_set_chunk(struct ss_layer_set *set, int k, struct ss_chunk_cost *chunk, struct ss_error *err)
{
    return runs_build(set, &set->chunks[k], chunk) ? ss_nomem(err) : ss_layer_set_times(set, k, chunk, err);
}

/* Gives the k-th chunk the layers of another one. */
static int copy_runs(struct ss_layer_set *set, int k, const struct ss_layer_runs *from)
{
    struct ss_layer_run *run = ss_calloc(from->n, sizeof *run);
    for (size_t i = 0; run && i < from->n; i++)
        run[i] = from->run[i];
    set->chunks[k] = (struct ss_layer_runs){run ? from->n : 0, run ? from->n : 0, run};
    return run ? SS_OK : SS_ERR_NOMEM;
}

int ss_layer_set_repeat(struct ss_layer_set *set, int k, struct ss_error *err)
{
    return copy_runs(set, k, &set->chunks[k - 1]) ? ss_nomem(err) : SS_OK;
}

int ss_layer_set_paced(struct ss_layer_set *set, struct ss_layer_set *from, struct ss_error *err)
{
    int status = ss_grow(&set->part, &set->cap_parts, (size_t)from->nparts, sizeof *set->part);
    set->operators_of = from;
    from->sharers++;
    for (int k = 0; k < from->nchunks && !status; k++)
        status = copy_runs(set, k, &from->chunks[k]);
    for (int i = 0; i < from->nparts && !status; i++) {
        const struct ss_layer_part *part = &from->part[i];
        set->part[set->nparts++] = (struct ss_layer_part){
            .kind = part->kind, .treatment = part->treatment, .ops = part->ops, .linear = part->linear};
        status = part_price(set, &set->part[i]);
    }
    return status ? ss_nomem(err) : SS_OK;
}

/* ---- parameters ---- */

static struct ss_layer_params layer_params(const struct ss_layer_set *set, const struct ss_ops *ops)
{
    const struct ss_op_sums *sum = &ops->sum;
    double expert = set->experts_apart ? sum->expert : 0, gemm = set->experts_apart ? sum->expert_gemm : 0;
    return (struct ss_layer_params){sum->params - expert, sum->gemm_params - gemm, expert, gemm};
}

const struct ss_ops *ss_chunk_layer_ops(const struct ss_layer_set *set, int k, int i)
{
    const struct ss_layer_runs *runs = &set->chunks[k];
    for (size_t r = 0; r < runs->n; r++) {
        if (!ss_layer_is_numbered(set, &runs->run[r]))
            continue;
        if (i < runs->run[r].count)
            return ss_layer_part(set, &runs->run[r])->ops;
        i -= runs->run[r].count;
    }
    return NULL;
}

struct ss_layer_params ss_chunk_layer_params(const struct ss_layer_set *set, int k, int i)
{
    const struct ss_ops *ops = ss_chunk_layer_ops(set, k, i);
    return ops ? layer_params(set, ops) : (struct ss_layer_params){0};
}

/* Counts the routed experts of a run where they are counted apart; flat: FSDP has one tensor a layer. */
static void expert_params(struct ss_param_count *p, const struct ss_layer_set *set,
                          const struct ss_layer_run *run, int flat)
{
    const struct ss_ops *ops = ss_layer_part(set, run)->ops;
    const struct ss_layer_params layer = layer_params(set, ops);
    if (layer.expert <= 0)
        return;
    p->expert += run->count * layer.expert;
    p->expert_gemm += run->count * layer.expert_gemm;
    p->expert_tensors += run->count * (flat ? 1 : ops->sum.expert_tensors);
}

/* Returns the elements of one weight of each shape. */
static double weight_shapes(const struct ss_ops *ops)
{
    double sum = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        int seen = !(op->gemm_params > 0);
        for (int j = 0; j < i && !seen; j++)
            seen = ops->op[j].gemm_params > 0 && ops->op[j].gemm.n == op->gemm.n &&
                   ops->op[j].gemm.k == op->gemm.k;
        sum += seen ? 0 : op->gemm.n * op->gemm.k;
    }
    return sum;
}

static void transformer_params(struct ss_param_count *p, const struct ss_ops *ops)
{
    double layer = ops->sum.params;
    if (layer > p->layer) {
        p->layer = layer;
        p->layer_gemm = ops->sum.gemm_params;
    }
    p->tensor = fmax(p->tensor, ops->sum.largest);
    p->shapes = fmax(p->shapes, weight_shapes(ops));
}

/* Counts the layer of multi-token prediction, whose gradients are ready before those of the numbered
 * layers. */
static void predicting_params(struct ss_param_count *p, const struct ss_layer_set *set,
                              const struct ss_layer_run *run)
{
    const struct ss_layer_params layer = layer_params(set, ss_layer_part(set, run)->ops);
    if (!run->predicts)
        return;
    p->loss += layer.dense;
    p->expert_loss += layer.expert;
}

/* Counts embedding, output layer, or the parameters of multi-token prediction beside its layer. */
static void border_params(struct ss_param_count *p, const struct ss_cost_context *c, const struct ss_ops *ops,
                          int kind)
{
    double params = ops->sum.params;
    if (kind != SS_LAYER_EMBEDDING)
        p->loss += params;
    p->border = fmax(p->border, params);
    p->borders += params;
    p->tensor = fmax(p->tensor, c->shape.vocab * c->shape.row);
}

struct ss_param_count ss_layer_set_params(const struct ss_layer_set *set, const struct ss_cost_context *c,
                                          int k, int second_copy)
{
    struct ss_param_count p = {0};
    int flat = c->fsdp.n > 1, layers = 0, ends = 0;
    for (size_t i = 0; i < set->chunks[k].n; i++) {
        const struct ss_layer_run *run = &set->chunks[k].run[i];
        int kind = ss_layer_part(set, run)->kind;
        const struct ss_ops *ops = ss_layer_part(set, run)->ops;
        if (ops->n == 0 || run->shares)
            continue;
        if (ss_layer_part(set, run)->treatment == SS_TREAT_FROZEN) {
            p.frozen += run->count * ops->sum.params;
            continue;
        }
        p.all += run->count * ops->sum.params;
        p.gemm += run->count * ops->sum.gemm_params;
        p.tensors += run->count * ops->sum.tensors;
        expert_params(&p, set, run, flat);
        if (ss_layer_is_transformer(set, run) || ops->encoder) {
            transformer_params(&p, ops);
            predicting_params(&p, set, run);
            layers += run->count;
        } else {
            border_params(&p, c, ops, kind);
            ends = 1;
        }
    }
    p.all += second_copy ? c->shape.vocab * c->shape.row : 0;
    p.tensors = flat ? layers + ends + p.expert_tensors : p.tensors + second_copy;
    return p;
}

void ss_param_count_add(struct ss_param_count *sum, const struct ss_param_count *chunk)
{
    sum->all += chunk->all;
    sum->frozen += chunk->frozen;
    sum->gemm += chunk->gemm;
    sum->expert += chunk->expert;
    sum->expert_gemm += chunk->expert_gemm;
    sum->expert_tensors += chunk->expert_tensors;
    sum->tensors += chunk->tensors;
    if (chunk->layer > sum->layer) {
        sum->layer = chunk->layer;
        sum->layer_gemm = chunk->layer_gemm;
    }
    sum->loss += chunk->loss;
    sum->expert_loss += chunk->expert_loss;
    sum->border = fmax(sum->border, chunk->border);
    sum->borders += chunk->borders;
    sum->tensor = fmax(sum->tensor, chunk->tensor);
    sum->shapes = fmax(sum->shapes, chunk->shapes);
}
