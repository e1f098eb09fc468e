/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of blocks of tokens, as DeepSeek-V4 makes them (Megatron core's Compressor, csa.py, by operators of PyTorch): values and gates are
 * projections of the hidden state in 16 bit, whatever the precision of other linear layers; the gates with a table of the tokens' places
 * go through a softmax over the tokens of a block in fp32, and weigh the values. Blocks of SS_CSA_BLOCK tokens overlap: each has the
 * tokens of the one before in columns of their own. Every tensor rank has all of it.
 */
#include "layers/indexer.h"

/*
 * Passes over the projected elements. Forward: the table is added (16 bit read, 4 B written), softmax (4 read, 4 written), product with the
 * values (4 and 16 bit read, 4 written), sum (4 read): 24 B and two of 16 bit. Backward: the gradient of the softmax (16 bit read, 4
 * written), of the values (4 read, 4 written, cast: 4 and 16 bit), softmax (8 read, 4 written), the table's gradient (4 read), cast of that of the gates (4
 * and 16 bit). Blocks that overlap are copied into a filled tensor of their own, values and gates, each way.
 */
enum { FP32_FORWARD = 24, HALF_FORWARD = 2, FP32_BACKWARD = 36, HALF_BACKWARD = 3, COPIES = 3 };
enum { KERNELS = 5, KERNELS_BACKWARD = 8, COPY_KERNELS = 6 };

static void project(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns,
                    int trained)
{
    struct ss_op *op = ss_op_linear(ops, name, s, columns, s->h, SS_TP_NONE, s->storage_precision, 0);
    op->gemm_params = op->model_flops = 0;
    op->gemm.no_input_grad = trained < 2;
    op->gemm.no_weight_grad = !trained;
    op->backward_flops = trained * op->forward_flops;
    op->backward_kernels = trained;
}

static void blocks(struct ss_ops *ops, const struct ss_shape *s, const char *name, double columns,
                   double block, int trained)
{
    double x = s->tokens * columns, apart = block == SS_CSA_BLOCK ? COPIES * (s->e + 4) : 0;
    int copies = block == SS_CSA_BLOCK ? COPY_KERNELS : 0;
    struct ss_op *op = ss_op_kernels(ops, name, x * (HALF_FORWARD * s->e + FP32_FORWARD + apart),
                                     trained ? x * (HALF_BACKWARD * s->e + FP32_BACKWARD + apart) : 0,
                                     KERNELS + copies, trained ? KERNELS_BACKWARD + copies : 0);
    op->params = block * columns;
    op->tensors = 1;
    op->saved_bytes = trained ? x * (s->e + 4) : 0; /* the values, and what the softmax made */
    op->working_bytes = 3 * 4 * x;
}

void ss_op_compressor(struct ss_ops *ops, const struct ss_shape *s, const char *const names[4], double width,
                      double block, int trained)
{
    double columns = block == SS_CSA_BLOCK ? 2 * width : width, rows = s->tokens / block;
    project(ops, s, names[0], columns, trained);
    if (trained && ss_op_saved_in_fp8(s)) /* others keep the hidden state in 16 bit */
        ops->op[ops->n - 1].saved_bytes = s->tokens * s->h * s->e;
    project(ops, s, names[1], columns, trained);
    blocks(ops, s, names[2], columns, block, trained);
    struct ss_op *op = ss_op_norm_of(ops, s, names[3], rows * width, width, s->e);
    op->params = width;
    op->tensors = 1;
    op->saved_bytes = trained ? rows * (width * s->e + 4) : 0;
    if (!trained)
        ss_op_traffic(op, op->forward_bytes, 0, op->forward_kernels, 0);
}
