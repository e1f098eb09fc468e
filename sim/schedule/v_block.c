/* SPDX-License-Identifier: Apache-2.0 */
/* The grid of steps and ranks that orders on a V are moved on. */
#include "schedule/v_block.h"
#include "base/base.h"

int ss_block_make(struct ss_block *b, int p, int m, int lead)
{
    /* Behind the last pass every W may stand in a step of its own. */
    int steps = lead + (SS_BLOCK_PERIOD + 2) * m;
    size_t cells = (size_t)p * (size_t)steps;
    *b = (struct ss_block){.p = p, .m = m, .steps = steps};
    b->here = ss_calloc(cells, 1);
    b->at = ss_calloc(SS_BLOCK_KINDS * (size_t)p * (size_t)m, sizeof *b->at);
    b->memory = ss_calloc(cells, sizeof *b->memory);
    b->counted = ss_calloc(SS_BLOCK_KINDS * (size_t)p, sizeof *b->counted);
    if (b->here && b->at && b->memory && b->counted)
        return SS_OK;
    ss_block_free(b);
    return SS_ERR_NOMEM;
}

void ss_block_free(struct ss_block *b)
{
    SS_FREE(b->here, b->at, b->memory, b->counted);
    *b = (struct ss_block){0};
}

char *ss_block_cell(const struct ss_block *b, int rank, int step)
{
    return &b->here[(size_t)rank * (size_t)b->steps + (size_t)step];
}

int *ss_block_step(const struct ss_block *b, int kind, int rank, int microbatch)
{
    return &b->at[((size_t)kind * (size_t)b->p + (size_t)rank) * (size_t)b->m + (size_t)microbatch];
}

void ss_block_repeat(struct ss_block *b, int kind, int rank, int first)
{
    for (int mb = 0; mb < b->m; mb++) {
        int step = first + SS_BLOCK_PERIOD * mb;
        *ss_block_step(b, kind, rank, mb) = step;
        *ss_block_cell(b, rank, step) = (char)(kind + 1);
    }
}

static int *memory(const struct ss_block *b, int rank, int step)
{
    return &b->memory[(size_t)rank * (size_t)b->steps + (size_t)step];
}

static int keeps(int kind)
{
    return kind == SS_BLOCK_F0 || kind == SS_BLOCK_F1 ? 1 : kind >= SS_BLOCK_W1 ? -1 : 0;
}

void ss_block_weigh(struct ss_block *b)
{
    b->peak = 0;
    for (int r = 0; r < b->p; r++)
        for (int t = 0, now = 0; t < b->steps; t++) {
            int cell = *ss_block_cell(b, r, t);
            now += cell ? keeps(cell - 1) : 0;
            *memory(b, r, t) = now;
            b->peak = now > b->peak ? now : b->peak;
        }
}

void ss_block_walk(struct ss_block *b)
{
    memset(b->counted, 0, SS_BLOCK_KINDS * (size_t)b->p * sizeof *b->counted);
}

int ss_block_meet(struct ss_block *b, int kind, int rank)
{
    return b->counted[rank * SS_BLOCK_KINDS + kind]++;
}

static void behind(const struct ss_block *b, int *ready, int kind, int rank, int mb)
{
    int gradient = kind == SS_BLOCK_I0 || kind == SS_BLOCK_I1, end;
    if (rank < 0 || rank == b->p)
        return;
    end = *ss_block_step(b, b->whole && gradient ? kind + 2 : kind, rank, mb) + 1;
    *ready = end > *ready ? end : *ready;
}

int ss_block_ready(const struct ss_block *b, int kind, int rank, int mb)
{
    int ready = mb ? *ss_block_step(b, kind, rank, mb - 1) + 1 : 0;
    if (kind >= SS_BLOCK_W1) {
        int own = *ss_block_step(b, kind - 2, rank, mb) + 1;
        return own > ready ? own : ready;
    }
    behind(b, &ready, kind, kind == SS_BLOCK_F0 || kind == SS_BLOCK_I1 ? rank - 1 : rank + 1, mb);
    if (kind > SS_BLOCK_F0)
        behind(b, &ready, kind - 1, rank, mb);
    return ready;
}

static int is_free(const struct ss_block *b, int rank, int step, int cells)
{
    return !*ss_block_cell(b, rank, step) && (cells < 2 || !*ss_block_cell(b, rank, step + 1));
}

int ss_block_earliest(const struct ss_block *b, int rank, int step, int from, int cells)
{
    int low = step;
    if (keeps(*ss_block_cell(b, rank, step) - 1) > 0)
        while (low > from && *memory(b, rank, low - 1) < b->peak)
            low--;
    else
        low = from < step ? from : step;
    while (low < step && !is_free(b, rank, low, cells))
        low++;
    return low;
}

void ss_block_move(struct ss_block *b, int rank, int from, int to)
{
    char *old = ss_block_cell(b, rank, from), *new = ss_block_cell(b, rank, to);
    int more = keeps(*old - 1);
    if (from == to)
        return;
    *new = *old;
    *old = 0;
    for (int t = to; t < from && more; t++)
        *memory(b, rank, t) += more;
}

void ss_block_order(const struct ss_block *b, struct ss_order *o, int rank)
{
    static const struct {
        int phase, chunk;
    } of[] = {{SS_PHASE_F, 0}, {SS_PHASE_F, 1}, {SS_PHASE_I, 1}, {SS_PHASE_I, 0}};
    int phase_of_gradient = b->whole ? SS_PHASE_B : SS_PHASE_I, owed[2] = {0};
    for (int t = 0; t < b->steps; t++) {
        int kind = *ss_block_cell(b, rank, t) - 1, chunk = kind < 0 ? owed[1] > 0 : of[kind % 4].chunk;
        if (kind < 0 && owed[chunk]) {
            ss_order_weight_of(o, chunk);
            owed[chunk]--;
        }
        if (kind < 0 || kind >= SS_BLOCK_W1)
            continue;
        int gradient = of[kind].phase == SS_PHASE_I;
        ss_order_add(o, gradient ? phase_of_gradient : SS_PHASE_F, chunk);
        owed[chunk] += gradient && !b->whole;
    }
}
