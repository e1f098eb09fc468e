/* SPDX-License-Identifier: Apache-2.0 */
/* Packed sequences: refusals beside them, and their rows. */
#include "base/base.h"
#include "job/input_cache.h"
#include "job/job_internal.h"

/* A file that fills fewer rows than this gets a note: its last row may not be full, which counts for much
 * among so few. */
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
    if (f->asked->reset_attention_mask)
        REFUSE(f, "--reset-attention-mask", "drop it: documents of a packed row do not see each other",
               "packed documents have no attention mask that could be reset");
    if (f->asked->reset_position_ids)
        REFUSE(f, "--reset-position-ids", "drop it: positions of packed documents begin at 0 anyway",
               "packed documents have positions of their own, which nothing resets");
    return SS_OK;
}

static int check_multiple(struct ss_finish *f)
{
    const struct ss_job *job = f->job;

    if (job->packed.multiple > job->seq_length)
        REFUSE(f, "--packed-multiple --seq", "take a smaller --packed-multiple",
               "documents padded to a multiple of %d tokens do not go into rows of %d", job->packed.multiple,
               job->seq_length);
    if (job->cp > 1 && job->packed.multiple % (2 * job->cp))
        REFUSE(f, "--packed-multiple --cp", "take a multiple of it, or drop --packed-multiple",
               "context parallelism cuts each document in %d parts of equal length, which a multiple of %d "
               "does not allow",
               2 * job->cp, job->packed.multiple);
    return SS_OK;
}

int ss_job_check_packed(struct ss_finish *f)
{
    const struct ss_job *job = f->job;
    int rc = job->packed.law != SS_PACKED_NONE || f->asked->sft ? check_data(f) : SS_OK;

    if (rc || job->packed.law == SS_PACKED_NONE)
        return rc;
    if (job->transformer_local || ss_job_attention(job, f->stack) == SS_ATTENTION_UNFUSED)
        REFUSE(f, "--transformer-impl --attention-backend --packed-lengths",
               "take flash or fused attention, or drop --packed-lengths",
               "Packed sequence is not supported by DotProductAttention. Please use TEDotProductAttention "
               "instead.");
    if (job->moe.overlap && job->model.mtp_num_layers > 0)
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

    if (job->packed.law == SS_PACKED_NONE) {
        if (SS_GIVEN(f->asked, packed_algorithm) || job->packed.multiple > 0 ||
            SS_GIVEN(f->asked, packed_seed))
            ss_note(f->notes, "--packed-algorithm, --packed-multiple and --packed-seed do nothing without "
                              "--packed-lengths");
        if (f->asked->sft || f->asked->document_masking)
            ss_note(
                f->notes,
                "%s: a row is priced as one document; --packed-lengths says how long the documents are that "
                "share it",
                f->asked->sft ? "--sft" : "--dataloader-inter-document-masking");
        if (f->asked->reset_attention_mask)
            ss_note(f->notes, "--reset-attention-mask: a dense mask saves nothing, attention runs over the "
                              "whole row");
    }
    if (job->packed.law != SS_PACKED_NONE && job->packed.multiple == 0)
        job->packed.multiple = job->cp > 1 ? 2 * job->cp : 1;
}

int ss_job_complete_packed(struct ss_finish *f)
{
    struct ss_job *job = f->job;

    complete_flags(f);
    if (job->packed.law == SS_PACKED_NONE)
        return SS_OK;
    if (!f->inputs)
        return ss_fail(f->err, SS_ERR_UNSUPPORTED, NULL, 0,
                       "--packed-lengths: documents are packed with a scenario or a table");
    int rc = ss_input_cache_packing(f->inputs, job, &job->packed.rows, f->err);
    if (rc) {
        ss_request_locate(f->request, "--packed-lengths", f->err);
        if (rc == SS_ERR_IO)
            ss_hint(f->err, rc, "take %s", WORDS);
        return rc;
    }
    if (job->packed.law == SS_PACKED_FILE && job->packed.rows->nrows < FEW_ROWS)
        ss_note(f->notes,
                "%s: its documents go into %d row%s, of which the last may not be full: where they stand for "
                "more, say how many in a column count",
                job->packed.source, job->packed.rows->nrows, ss_plural(job->packed.rows->nrows));
    if (job->packed.rows->cut > 0)
        ss_note(f->notes, "%.3g %% of the documents are longer than a row and are cut to it",
                100 * job->packed.rows->cut);
    return SS_OK;
}
