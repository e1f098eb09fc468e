/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the operators of a whole model, as on one rank that has all of it. */
#include <string.h>

#include "job/packing.h"
#include "layers/flops.h"
#include "layers/kinds.h"
#include "layers/stages.h"
#include "stepsim/parameters.h"

#define PAIRS (SS_MIXERS * SS_MLPS)

/* The number of transformer layers of each pair: of the model, and of one depth of multi-token prediction. */
struct layers {
    double n[PAIRS], mtp[PAIRS];
};

static struct layers layers_of(const struct ss_model *m, int sequence)
{
    const struct ss_layer_kinds kinds = ss_layer_kinds_in(m, sequence);
    struct layers l = {{0}, {0}};
    for (int i = 0; i < m->num_layers; i++)
        l.n[ss_layer_kind_at(&kinds, i) - SS_LAYER_BORDERS]++;
    for (int i = 0; i < ss_layer_mtp_layers(m); i++)
        l.mtp[ss_layer_mtp_kind_in(m, sequence, i) - SS_LAYER_BORDERS]++;
    return l;
}

/* ---- parameters ---- */

struct count {
    double all, active;
};

/* Counts one layer; a token uses top_k of its experts. */
static struct count count_layer(const struct ss_shape *s, int kind, struct ss_ops *ops)
{
    ss_layer_operators(kind, s, ops);
    double all = ops->sum.params, met = all - ops->sum.looked_up,
           expert = ops->sum.expert - ops->sum.looked_up;
    return (struct count){all, expert > 0 ? met - expert + expert / s->experts * s->top_k : met};
}

/* Counts the encoders, of which no token of text uses a parameter. */
static double count_encoders(const struct ss_shape *text, struct ss_ops *ops)
{
    static const struct ss_media one = {1, 1, 0, 0};
    struct ss_tower t;
    double sum = 0;
    for (int e = 0; e < SS_ENCODERS; e++)
        for (int i = 0; ss_tower_init(&t, text, e, &one) && i < ss_tower_length(&t); i++)
            sum += count_layer(&t.shape, ss_tower_kind(&t, i), ops).all;
    return sum;
}

void ss_model_count(const struct ss_model *m, int padded_vocab, struct ss_parameter_counts *out)
{
    const struct layers l = layers_of(m, 0);
    struct count layer, depth = {0};
    struct ss_shape s;
    struct ss_ops ops;
    ss_shape_of_model(&s, m, padded_vocab, 1);
    double rest = count_layer(&s, SS_LAYER_LOSS, &ops).all + count_layer(&s, SS_LAYER_EMBEDDING, &ops).all;
    /* A mixture of one expert has router parameters, though the router chooses nothing and is no operator. */
    double router = s.experts == 1 ? s.h + (m->router_linear_bias > 0) + (m->router_bias > 0) : 0;
    *out = (struct ss_parameter_counts){.total = rest,
                                        .active = rest,
                                        .input = ops.op[0].params,
                                        .output = m->tied_embeddings ? 0 : s.vocab * s.row};
    out->encoder = count_encoders(&s, &ops);
    out->total += out->encoder;
    for (int pair = 0; pair < PAIRS; pair++) {
        if (l.n[pair] + l.mtp[pair] <= 0)
            continue;
        layer = count_layer(&s, SS_LAYER_BORDERS + pair, &ops);
        layer.all += pair % SS_MLPS == SS_MLP_MOE ? router : 0;
        layer.active += pair % SS_MLPS == SS_MLP_MOE ? router : 0;
        out->total += l.n[pair] * layer.all;
        out->active += l.n[pair] * layer.active;
        depth.all += l.mtp[pair] * layer.all;
        depth.active += l.mtp[pair] * layer.active;
    }
    if (m->mtp_num_layers > 0) {
        double ends = count_layer(&s, SS_LAYER_MTP, &ops).all + count_layer(&s, SS_LAYER_MTP_LOSS, &ops).all;
        out->mtp = (m->mtp_repeated > 0 ? 1 : m->mtp_num_layers) * (depth.all + ends);
        out->mtp_active = m->mtp_num_layers * (depth.active + ends);
    }
}

double ss_model_parameters(const struct ss_model *m, int padded_vocab)
{
    struct ss_parameter_counts n;
    ss_model_count(m, padded_vocab, &n);
    return n.total;
}

double ss_model_active_parameters(const struct ss_model *m, int padded_vocab)
{
    struct ss_parameter_counts n;
    ss_model_count(m, padded_vocab, &n);
    return n.active;
}

/* ---- FLOP ---- */

/* FLOP of linear layers and attention in forwards of a whole sequence. */
struct products {
    double linear, attention; /* attention: the whole square */
    double seen, bounded;     /* of struct ss_op_attention: less of it */
};

struct counting {
    const struct ss_job *job;
    struct ss_shape shape;
    struct products once, again; /* forwards, and forwards repeated before the backward */
};

/* Returns whether selective recompute repeats the operator. Recompute by operator keeps the output of a
 * row-parallel layer that tensor ranks sum. */
static int is_repeated(const struct counting *c, const struct ss_op *op)
{
    int sums = c->shape.by_operator && op->gemm.role == SS_TP_ROW && c->job->tp > 1;
    return (op->modules & ss_job_redone_modules(c->job)) && !sums;
}

static void add_op(struct products *sum, const struct ss_op *op, double layers)
{
    double flops = layers * op->model_flops;
    if (op->attention.seen <= 0) { /* no scores of queries and keys */
        sum->linear += flops;
        return;
    }
    sum->attention += flops;
    sum->seen += flops * op->attention.seen;
    sum->bounded += flops * op->attention.bounded;
}

/* Adds layers, of which `redone` are repeated as a whole. */
static void add_layers(struct counting *c, int kind, double layers, double redone)
{
    struct ss_ops ops;
    if (layers <= 0)
        return;
    ss_layer_operators(kind, &c->shape, &ops);
    int early = c->shape.stack->stops_early > 0 && ops.where == SS_WHERE_TRANSFORMER;
    int end = early ? ss_ops_repeated_early(&ops) : ops.n;
    for (int i = 0; i < ops.n; i++) {
        add_op(&c->once, &ops.op[i], layers);
        if (redone > 0 && i < end)
            add_op(&c->again, &ops.op[i], redone);
        if (is_repeated(c, &ops.op[i]))
            add_op(&c->again, &ops.op[i], layers);
    }
}

/* Adds the FLOP of an encoder for one sequence, attention as a patch sees it: a forward, and twice as much backward of what is trained. */
static void add_encoder(const struct ss_tower *t, double *once, double *again)
{
    for (int i = 0, last = ss_tower_length(t) - 1; i <= last; i++) {
        struct products p = {0};
        struct ss_ops ops;
        ss_layer_operators(ss_tower_kind(t, i), &t->shape, &ops);
        for (int k = 0; k < ops.n; k++)
            add_op(&p, &ops.op[k], 1);
        *once += (t->shape.frozen && i < last ? 1 : 3) * (p.linear + p.bounded);
        *again += t->recompute && i > 0 && i < last ? p.linear + p.bounded : 0;
    }
}

/* Counts the layers that stages recompute whole. Megatron's layers of multi-token prediction know only the
 * method uniform. */
static void recomputed(const struct ss_job *job, const struct ss_schedule *s, const struct layers *l,
                       double redone[PAIRS])
{
    const struct ss_layer_kinds kinds = ss_layer_kinds_of(job);
    if (job->recompute.granularity != SS_RECOMPUTE_FULL)
        return;
    for (int v = 0, first = 0; v < ss_schedule_depth(s); v++) {
        int layers = ss_stage_layers(job, s, v);
        for (int i = 0; i < ss_recomputed_layers(job, layers); i++)
            redone[ss_layer_kind_at(&kinds, first + i) - SS_LAYER_BORDERS]++;
        first += layers;
    }
    for (int pair = 0; pair < PAIRS && job->recompute.method == SS_RECOMPUTE_UNIFORM; pair++)
        redone[pair] += l->mtp[pair] * job->model.mtp_num_layers;
}

struct ss_model_flops ss_model_flops_of(const struct ss_job *job, const struct ss_stack *stack,
                                        const struct ss_schedule *schedule, int padded_vocab)
{
    struct counting c = {.job = job};
    double redone[PAIRS] = {0}, mtp = job->model.mtp_num_layers, s = job->seq_length;
    const struct layers l = layers_of(&job->model, job->seq_length);
    ss_shape_of_model(&c.shape, &job->model, padded_vocab, s);
    c.shape.by_operator = (ss_job_redone_modules(job) & SS_MODULE_BIT(SS_MODULE_OPERATORS)) != 0;
    c.shape.stack = stack;
    c.shape.packing = job->packed.rows;
    c.shape.split = ss_shape_splits(stack);
    recomputed(job, schedule, &l, redone);
    for (int pair = 0; pair < PAIRS; pair++)
        add_layers(&c, SS_LAYER_BORDERS + pair, l.n[pair] + mtp * l.mtp[pair], redone[pair]);
    int redone_mtp =
        job->recompute.granularity == SS_RECOMPUTE_FULL && job->recompute.method == SS_RECOMPUTE_UNIFORM;
    add_layers(&c, SS_LAYER_MTP, mtp, redone_mtp * mtp);
    add_layers(&c, SS_LAYER_EMBEDDING, 1 + mtp, 0);
    add_layers(&c, SS_LAYER_LOSS, 1 + mtp, 0);
    /* forward, and twice as much backward; packed rows have no padding, and each document sees itself only */
    double linear = job->global_batch * (job->packed.rows ? job->packed.rows->tokens / s : 1);
    double square = job->global_batch * (job->packed.rows ? job->packed.rows->token_squares / (s * s) : 1);
    double encoders = 0, encoders_again = 0;
    for (int e = 0; e < SS_ENCODERS; e++) {
        const struct ss_media media = ss_job_media(job, e);
        struct ss_tower t;
        if (ss_tower_init(&t, &c.shape, e, &media))
            add_encoder(&t, &encoders, &encoders_again);
    }
    double all = 3 * linear * c.once.linear + job->global_batch * encoders,
           attention = 3 * square * c.once.attention;
    double bounded = 3 * square * c.once.bounded;
    double again = linear * c.again.linear + job->global_batch * encoders_again;
    return (struct ss_model_flops){all + attention,
                                   all + attention / 2,
                                   all + attention + again + square * c.again.attention,
                                   all + 3 * square * c.once.seen,
                                   all + bounded,
                                   all + bounded + again + square * c.again.bounded};
}
