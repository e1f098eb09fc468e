/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Transformer Engine's CUDA graphs of parts of a layer copy (make_graphed_callables of pytorch/graph.py, 2.7 to 2.16). A graph reads
 * and writes memory of its own: Graphed.forward copies what it is called with, Graphed.backward the gradients of what it returned. Megatron
 * core makes one graph of all parts of a layer that the scope names (_te_cuda_graph_replay of core/transformer/transformer_layer.py, 0.16
 * to 0.18).
 */
#include "layers/operators.h"
#include "stepsim/job_kinds.h"

/* Bytes of a copy over those of the tensor; of a mask that is filled with zeros first. */
enum { COPY = 2, MASK = 1 + COPY };

void ss_op_graph_copies(struct ss_ops *ops, const struct ss_shape *s, unsigned parts)
{
    double tokens = s->tokens / s->sp, x = tokens * s->h * s->e;
    unsigned held = parts & s->graphs;
    if (!held)
        return;
    /* An eager layer needs no mask where it is causal, a graph is given one byte for each query and key. */
    double mask = held & SS_GRAPH_ATTN ? s->tokens * s->sequence : 0, gradients = x;
    int copies = 1;
    /* A graph that ends before the experts returns their input, its probabilities, the residual and the output of shared experts. */
    if (held & SS_GRAPH_ROUTER && !s->padded) {
        int sent = s->dispatcher == SS_DISPATCH_ALLTOALL && s->graphs & SS_GRAPH_PREPROCESS;
        double rows = sent ? s->sent : tokens, probabilities = sent ? s->sent : tokens * s->experts;
        int shared = s->shared_ffn > 0 && !s->shared_overlap;
        gradients += rows * s->moe_h * s->e + 4 * probabilities + (shared ? x : 0);
        copies += 2 + shared;
    }
    struct ss_op *op = ss_op_kernels(ops, "graph copies", COPY * x + MASK * mask, COPY * gradients, 0, 0);
    op->forward_launches = mask > 0 ? 3 : 1;
    op->backward_launches = copies;
    op->dynamic = 1; /* no graph holds it */
}
