/* SPDX-License-Identifier: Apache-2.0 */
/* GOAL text: the schedules that LogGOPSim's txt2bin reads. Each operation is one line, followed by what it
 * requires. */
#include <inttypes.h>

#include "export/walk.h"
#include "stepsim/text.h"

static int put(void *ctx, const struct ss_export_op *op)
{
    FILE *out = ctx;

    if (op->kind == SS_EXPORT_CALC)
        fprintf(out, "l%" PRId64 ": calc %" PRId64 " cpu %d\n", op->id, op->amount, op->lane);
    else
        fprintf(out, "l%" PRId64 ": %s %" PRId64 "b %s %d tag %" PRId64 " cpu %d\n", op->id,
                op->kind == SS_EXPORT_SEND ? "send" : "recv", op->amount,
                op->kind == SS_EXPORT_SEND ? "to" : "from", op->peer, op->tag, op->lane);
    for (size_t i = 0; i < op->ndeps; i++)
        fprintf(out, "l%" PRId64 " requires l%" PRId64 "\n", op->id, op->deps[i]);
    return ferror(out) ? SS_ERR_IO : SS_OK;
}

int ss_export_goal(struct ss_export *x, FILE *out, struct ss_error *err)
{
    const struct ss_program *p = ss_export_program(x);
    const struct ss_export_walk walk = {.tick = 1e-9, .put = put, .ctx = out};
    int rc = SS_OK;

    fprintf(
        out,
        "// stepsim: cpu 0 computes (ns), cpu 1 sends and receives between classes, cpu 2 + s is stream s\n"
        "num_ranks %d\n",
        p->nclasses);
    for (int rank = 0; rank < p->nclasses && !rc; rank++) {
        fprintf(out, "rank %d {\n", rank);
        rc = ss_export_walk(x, rank, &walk, err);
        fputs("}\n", out);
    }
    return rc && rc != SS_ERR_IO ? rc : ss_text_written(out, "GOAL", err);
}
