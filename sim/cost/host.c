/* SPDX-License-Identifier: Apache-2.0 */
/* The host, which issues the work of the GPU (docs/reference/model.md). */
#include <math.h>
#include <string.h>

#include "cost/cost.h"
#include "stepsim/job.h"

/* Returns the number of collectives of an operator in one direction of the pass. */
static int collectives_of(const struct ss_cost_context *c, const struct ss_op *op, int forward)
{
    int sp = c->shape.sp > 1, column = op->gemm.role == SS_TP_COLUMN;
    if (op->gemm.role == SS_TP_NONE || c->tp.n <= 1)
        return 0;
    if (op->gemm.shares_input)
        return !forward && c->stack->tp_reduces_each > 0;
    if (!forward && column && c->stack->saves_gathered > 0)
        return 1;
    return forward ? sp || !column : column + sp;
}

static unsigned graph_part(const struct ss_ops *ops, const struct ss_op *op)
{
    const unsigned mlp = SS_MODULE_BIT(SS_MODULE_MLP) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS);
    return op->modules & mlp                            ? SS_GRAPH_MLP
           : op->modules & SS_MODULE_BIT(SS_MODULE_MOE) ? SS_GRAPH_ROUTER
                                                        : (unsigned)ops->graph;
}

/* Returns whether a CUDA graph of the job holds the operator. The graph of the whole iteration holds all: no capture
 * outlives a read of the host, so experts take their sizes from device memory there. Other graphs hold operators of
 * transformer layers whose size the host knows, in the parts that their scope names. */
static int in_graph(const struct ss_cost_context *c, const struct ss_ops *ops, const struct ss_op *op)
{
    const struct ss_job *job = c->job;
    if (job->graphs.impl == SS_GRAPHS_ITERATION)
        return 1;
    return job->graphs.impl && ops->where == SS_WHERE_TRANSFORMER &&
           (!op->dynamic || job->moe.pad_to_capacity) &&
           (job->graphs.scope == 0 || job->graphs.scope & graph_part(ops, op));
}

double ss_host_call(const struct ss_cost_context *c)
{
    return c->stack->host_operator * c->card->host_slowdown;
}

double ss_host_launch(const struct ss_cost_context *c)
{
    return fmin(c->stack->host_operator, c->stack->host_group) * c->card->host_slowdown;
}

/* Calls that Transformer Engine's ring issues for each step but the first, without autograd: attention, a
 * send and a receive, and the kernels that copy halves and correct (cp_correction of cost.c). */
enum { RING_FORWARD = 1 + 2 + 3, RING_BACKWARD = 1 + 2 + 6 };

static double ring_steps(const struct ss_cost_context *c, const struct ss_op *op)
{
    return c->cp.n > 1 && op->attention.context.coll == SS_COLL_RING_STEP ? c->cp.n - 1 : 0;
}

/* Returns the further GEMMs of a linear layer that multiplies a rank's own shard first: those of the shards
 * before and behind it. */
static int further_gemms(const struct ss_cost_context *c, const struct ss_op *op, int forward)
{
    int column = op->gemm.role == SS_TP_COLUMN, gathers = forward ? column : op->gemm.role == SS_TP_ROW;
    return c->stack->tp_own_shard_first > 0 && c->shape.sp > 1 && !c->shape.tp_comm_overlap && gathers ? 2
                                                                                                       : 0;
}

/* With TORCH_DISTRIBUTED_DEBUG=DETAIL PyTorch checks a collective first over gloo, one message after the other (ProcessGroupWrapper.cpp,
 * runCollectiveChecks): a barrier, in which the first rank hears all others and answers each, and two gathers by rings, of the
 * fingerprint's size and of the fingerprint. */
double ss_host_checks(const struct ss_cost_context *c)
{
    enum { BARRIER = 2, GATHERS = 2 };
    return (BARRIER + GATHERS) * (c->tp.n - 1) * c->stack->host_check * c->card->host_slowdown;
}

int ss_accumulates_apart(const struct ss_cost_context *c)
{
    return c->stack->ddp_copies > 1 && c->fsdp.n <= 1;
}

/* Computes the host's times for forward and backward of an operator, and the part of each that collectives
 * are. A CUDA graph is one call for all operators whose sizes the host knows. */
static void host_times(const struct ss_cost_context *c, const struct ss_ops *ops, const struct ss_op *op,
                       double times[2], double collectives[2])
{
    double call = ss_host_call(c), launch = ss_host_launch(c), steps = ring_steps(c, op);
    double collective = call + ss_host_checks(c);
    int graph = in_graph(c, ops, op), apart = ss_accumulates_apart(c) ? op->tensors : 0;
    for (int way = 0; way < 2; way++) {
        int kernels = way ? op->backward_kernels : op->forward_kernels;
        int launches = way ? op->backward_launches + apart : op->forward_launches;
        double ring = steps * (way ? RING_BACKWARD : RING_FORWARD) * launch;
        collectives[way] = graph ? 0 : collectives_of(c, op, !way) * collective + ring;
        times[way] =
            graph ? 0 : collectives[way] + (kernels + further_gemms(c, op, !way)) * call + launches * launch;
    }
}

/* Calls of Megatron core's checkpointing beside the operators that it repeats. States of three random number
 * generators are read in the forward; the backward reads, sets and resets them; each is a call without
 * kernels. The forward has one autograd function; the backward has that function and a pass inside the
 * pass. */
enum { FORWARD_STATES = 3, BACKWARD_STATES = 9, FORWARD_FUNCTIONS = 1, BACKWARD_FUNCTIONS = 2 };

static void checkpoint_times(const struct ss_cost_context *c, const struct ss_ops *ops, unsigned modules,
                             double *forward, double *backward)
{
    const unsigned norms = SS_MODULE_BIT(SS_MODULE_LAYERNORM);
    double call = ss_host_call(c), state = ss_host_launch(c), times[2], collectives[2];
    unsigned seen = 0;
    int checkpoints = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op *op = &ops->op[i];
        unsigned again = op->modules & modules;
        if (!again || in_graph(c, ops, op))
            continue;
        checkpoints += !(again & seen & ~norms); /* each norm is a module of its own */
        seen |= again;
        host_times(c, ops, op, times, collectives);
        *backward += times[0];
    }
    *forward += checkpoints * (FORWARD_FUNCTIONS * call + FORWARD_STATES * state);
    *backward += checkpoints * (BACKWARD_FUNCTIONS * call + BACKWARD_STATES * state);
}

/* Returns the longest time that the GPU stands still in a forward after the host has waited for it. The host
 * is then no longer ahead, and the GPU idles until the host has issued as much as the GPU works on. The time
 * ends where the host waits again in the next layer, which counts as equal to this one. */
static double catch_up(const struct ss_cost_context *c, const struct ss_ops *ops, const double *gpu)
{
    double host = 0, done = 0, most = 0, times[2], collectives[2];
    int wait = 0;
    while (wait < ops->n && !ops->op[wait].host_waits)
        wait++;
    for (int i = 0; i < ops->n && wait < ops->n; i++) {
        int k = (wait + 1 + i) % ops->n;
        host_times(c, ops, &ops->op[k], times, collectives);
        host += times[0];
        most = fmax(most, host - done);
        done += gpu[k];
    }
    return most;
}

/* Returns the autograd calls for graphs: one each way for the graph of a layer, whose parts Transformer Engine's graphs hold together
 * (Megatron core's cuda_graphs.py, Transformer Engine's graph.py), none for the graph of the iteration. */
static double graph_calls(const struct ss_cost_context *c, const struct ss_ops *ops)
{
    unsigned parts = 0;
    int n = 0;
    if (c->job->graphs.impl == SS_GRAPHS_ITERATION)
        return 0;
    for (int i = 0; i < ops->n; i++)
        parts |= in_graph(c, ops, &ops->op[i]) ? graph_part(ops, &ops->op[i]) : 0;
    if (parts && (c->job->graphs.scope == 0 || c->job->graphs.impl == SS_GRAPHS_TE))
        return ss_host_call(c);
    for (; parts; parts &= parts - 1)
        n++;
    return n * ss_host_call(c);
}

/* Returns whether the host waits for the GPU inside each layer, or is held at most a layer ahead of it. FSDP
 * has room for the gathered parameters of two layers; copies of activations, and the two sides of a pair, are
 * waited for layer by layer. */
static int held_back(const struct ss_cost_context *c)
{
    return c->fsdp.n > 1 || c->shape.paired || c->job->offload.layers > 0 || c->job->offload.modules;
}

static int waits(const struct ss_ops *ops)
{
    int n = 0;
    for (int i = 0; i < ops->n; i++)
        n += ops->op[i].host_waits;
    return n > 0;
}

static int launch_of(const struct ss_ops *ops, const struct ss_op *op)
{
    const unsigned mlp = SS_MODULE_BIT(SS_MODULE_MLP) | SS_MODULE_BIT(SS_MODULE_SHARED_EXPERTS);
    return op->is_norm                                  ? SS_LAUNCH_NORM
           : ops->where != SS_WHERE_TRANSFORMER         ? SS_LAUNCH_ENDS
           : op->modules & mlp                          ? SS_LAUNCH_MLP
           : op->modules & SS_MODULE_BIT(SS_MODULE_MOE) ? SS_LAUNCH_EXPERTS
                                                        : SS_LAUNCH_MIXER;
}

/* The host issues an operator's kernels and collectives one after the other. */
static void launch_seconds(const struct ss_cost_context *c, const struct ss_ops *ops,
                           const struct ss_repeated *repeated, double by[2][SS_LAUNCHES])
{
    double times[2], collectives[2];
    for (int i = 0; i < ops->n; i++) {
        int kind = launch_of(ops, &ops->op[i]);
        host_times(c, ops, &ops->op[i], times, collectives);
        for (int way = 0; way < 2; way++) {
            by[way][kind] += times[way] - collectives[way];
            by[way][SS_LAUNCH_COLLECTIVES] += collectives[way];
        }
    }
    checkpoint_times(c, ops, repeated->modules, &by[0][SS_LAUNCH_RECOMPUTE], &by[1][SS_LAUNCH_RECOMPUTE]);
    for (int way = 0; way < 2; way++)
        by[way][SS_LAUNCH_GRAPHS] += graph_calls(c, ops);
}

/* Returns the seconds of what the host does while the GPU has nothing to do. */
static double waiting_seconds(const struct ss_cost_context *c, const struct ss_ops *ops, int way)
{
    double seconds = 0;
    for (int i = 0; i < ops->n; i++) {
        const struct ss_op_waiting *w = &ops->op[i].waiting[way];
        seconds += w->calls * ss_host_call(c) + w->launches * ss_host_launch(c);
    }
    return seconds;
}

void ss_cost_host(const struct ss_cost_context *c, const struct ss_ops *ops, const double *gpu,
                  const struct ss_repeated *repeated, struct ss_layer_cost *out)
{
    double forward = 0, backward = 0, times[2], collectives[2];
    memset(out->launches, 0, sizeof out->launches);
    launch_seconds(c, ops, repeated, out->launches);
    for (int way = 0; way < 2; way++) {
        out->host[way] = 0;
        for (int kind = 0; kind < SS_LAUNCHES; kind++)
            out->host[way] += out->launches[way][kind];
    }
    out->in_step[0] = held_back(c) || waits(ops);
    out->in_step[1] = held_back(c) || (repeated->operators > 0 && waits(ops));
    if (out->in_step[0])
        forward = fmax(catch_up(c, ops, gpu), ss_cost_exposed(out->host[0], ss_cost_slowed(c, out->forward)));
    if (out->in_step[1])
        backward = ss_cost_exposed(out->host[1], ss_cost_slowed_backward(c, out));
    for (int i = 0; i < repeated->operators; i++) {
        host_times(c, ops, &ops->op[i], times, collectives);
        out->launches[1][SS_LAUNCH_RECOMPUTE] += times[0];
        out->host[1] += times[0];
    }
    forward += waiting_seconds(c, ops, 0);
    backward += waiting_seconds(c, ops, 1);
    out->forward[SS_LABEL_OTHER] += forward;
    out->input_grad[SS_LABEL_OTHER] += backward;
    ss_record_other(c->record, forward, backward);
}
