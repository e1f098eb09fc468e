/* SPDX-License-Identifier: Apache-2.0 */
/* Packed sequences: what is refused beside them, and their rows. */
#include "base/base.h"
#include "job/job_internal.h"
#include "job/loaded.h"

/* Of a file: where the row that is left over tells more than the others. */
#define FEW_ROWS 16
#define WORDS "fixed:TOKENS, uniform:LOW:HIGH, lognormal:MEAN:SIGMA, or a file"

/* ---- refusals ---- */

static int check_data(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->micro_batch > 1)
        REFUSE(f, "--micro-batch-size --packed-lengths --sft",
               "take --micro-batch-size 1, the global batch over it, and rows as many times as long",
               "micro-batch-size must be 1 for packing");
    if (job->reset_attention_mask)
        REFUSE(f, "--reset-attention-mask", "drop it: documents of a packed row do not see each other",
               "packed documents have no attention mask that could be reset");
    if (job->reset_position_ids)
        REFUSE(f, "--reset-position-ids", "drop it: positions of packed documents begin at 0 anyway",
               "packed documents have positions of their own, which nothing resets");
    return SS_OK;
}

static int check_multiple(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->packed_multiple > job->seq_length)
        REFUSE(f, "--packed-multiple --seq", "take a smaller --packed-multiple",
               "documents padded to a multiple of %d tokens do not go into rows of %d", job->packed_multiple,
               job->seq_length);
    if (job->cp > 1 && job->packed_multiple % (2 * job->cp))
        REFUSE(f, "--packed-multiple --cp", "take a multiple of it, or drop --packed-multiple",
               "context parallelism cuts each document in %d parts of equal length, which a multiple of %d "
               "does not allow",
               2 * job->cp, job->packed_multiple);
    return SS_OK;
}

int ss_job_check_packed(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int rc = job->packed_law != SS_PACKED_NONE || job->sft ? check_data(f) : SS_OK;

    if (rc || job->packed_law == SS_PACKED_NONE)
        return rc;
    if (job->transformer_local || ss_job_attention(job, f->stack) == SS_ATTENTION_UNFUSED)
        REFUSE(f, "--transformer-impl --attention-backend --packed-lengths",
               "take flash or fused attention, or drop --packed-lengths",
               "Packed sequence is not supported by DotProductAttention. Please use TEDotProductAttention "
               "instead.");
    if (job->overlap_ep && job->model.mtp_num_layers > 0)
        REFUSE(f, "--overlap-moe-expert-parallel-comm --mtp-num-layers --packed-lengths",
               "drop --overlap-moe-expert-parallel-comm",
               "multi token prediction + sequence packing is not yet supported.");
    return check_multiple(f);
}

/* ---- rows ---- */

/* Flags that say nothing without lengths; then all has a value. */
static void complete_flags(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    if (job->packed_law == SS_PACKED_NONE) {
        if (job->packed_algorithm >= 0 || job->packed_multiple > 0 || job->packed_seed >= 0)
            ss_note(f->notes, "--packed-algorithm, --packed-multiple and --packed-seed do nothing without "
                              "--packed-lengths");
        if (job->sft || job->document_masking)
            ss_note(
                f->notes,
                "%s: a row is priced as one document; --packed-lengths says how long the documents are that "
                "share it",
                job->sft ? "--sft" : "--dataloader-inter-document-masking");
        if (job->reset_attention_mask)
            ss_note(f->notes, "--reset-attention-mask: a dense mask saves nothing, attention runs over the "
                              "whole row");
    }
    job->packed_algorithm = job->packed_algorithm < 0 ? SS_PACKED_SHUFFLE : job->packed_algorithm;
    job->packed_seed = job->packed_seed < 0 ? 0 : job->packed_seed;
    if (job->packed_law != SS_PACKED_NONE && job->packed_multiple == 0)
        job->packed_multiple = job->cp > 1 ? 2 * job->cp : 1;
}

int ss_job_complete_packed(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    complete_flags(f);
    if (job->packed_law == SS_PACKED_NONE)
        return SS_OK;
    if (!f->loaded)
        return ss_fail(f->err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--packed-lengths: documents are packed with a scenario or a table");
    int rc = ss_loaded_packing(f->loaded, job, &job->packing, f->err);
    if (rc) {
        ss_request_locate(f->request, "--packed-lengths", f->err);
        if (rc == SS_ERR_IO)
            ss_hint(f->err, rc, "take %s", WORDS);
        return rc;
    }
    if (job->packed_law == SS_PACKED_FILE && job->packing->nrows < FEW_ROWS)
        ss_note(f->notes,
                "%s: its documents go into %d row%s, of which the last may not be full: where they stand for "
                "more, say how many in a column count",
                job->packed_source, job->packing->nrows, job->packing->nrows == 1 ? "" : "s");
    if (job->packing->cut > 0)
        ss_note(f->notes, "%.3g %% of the documents are longer than a row and are cut to it",
                100 * job->packing->cut);
    return SS_OK;
}
