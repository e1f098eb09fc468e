/* SPDX-License-Identifier: Apache-2.0 */
/* Where the interleaved schedule of Megatron core begins to reduce the gradients of a chunk (grad_sync_func of
 * its pipeline_parallel/schedules.py): on all ranks at once, because a collective slows what runs beside it,
 * and a pipeline whose ranks are slow one after the other would lose that time on each. Rank r is r backwards
 * ahead of rank 0, so it begins r of its backwards behind the last one of the chunk; where it has no more
 * backwards, behind its last slot. Where that backward is one of chunk 0 and `passes` is set, the rank begins
 * behind its last slot, too: combined_1f1b.py of core 0.14 to 0.17 takes chunk 0 for none. */
#include "base/base.h"
#include "program/program_internal.h"

int ss_comm_align(const struct ss_schedule *s, int rank, int passes, int *aligned, struct ss_comm_rank *out)
{
    const int total = s->chunks * s->microbatches;
    int n = 0, chunk, microbatch;
    int *behind =
        ss_calloc((size_t)s->chunks, sizeof *behind); /* [chunk]: a backward of the rank; total: none */
    out->late = ss_calloc((size_t)s->chunks, sizeof *out->late);
    for (int i = 0; behind && i < s->nslots[rank]; i++)
        if (ss_slot_backward(&s->slots[rank][i], &chunk, &microbatch)) {
            behind[chunk] = n + rank;
            aligned[n++] = chunk;
        }
    for (int c = 0; behind && c < s->chunks; c++)
        if (behind[c] >= total || (passes && aligned[behind[c]] == 0))
            behind[c] = total;
    for (int i = 0; i < total; i++)
        aligned[i] = -1;
    for (int c = 0; behind && out->late && c < s->chunks; c++)
        if (behind[c] < total)
            aligned[behind[c]] = c;
        else
            out->late[out->nlate++] = c;
    free(behind);
    return behind && out->late ? SS_OK : SS_ERR_NOMEM;
}

void ss_comm_free(struct ss_comm *comm)
{
    for (int r = 0; comm->ranks && r < comm->stages; r++) {
        struct ss_comm_rank *rank = &comm->ranks[r];
        for (int i = 0; i < rank->nvariants; i++)
            free(rank->variants[i].op);
        SS_FREE(rank->variants, rank->slots, rank->end, rank->late);
    }
    free(comm->ranks);
    comm->ranks = NULL;
}
