/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B-V: 1F1B on a V of two chunks a rank, with two thirds of its memory and whole backwards (zero-bubble; Qi et al.,
 * arXiv:2405.15362). In the block a backward takes two steps, and where it would meet the block of another microbatch it waits
 * for three; then every pass moves to the earliest free step that its inputs and the block's peak of memory allow. */
#include "base/base.h"
#include "schedule/v_block.h"

/* The backward's way over the V: two steps a rank, after every third three more. */
static void place_backward(struct ss_block *b, int *now, int p)
{
    int since = (3 - (p + 2) % 3) % 3;
    for (int i = 0; i < 2 * p; i++) {
        int kind = i < p ? SS_BLOCK_I1 : SS_BLOCK_I0, rank = i < p ? i : 2 * p - 1 - i;
        ss_block_repeat(b, kind, rank, *now);
        ss_block_repeat(b, kind + 2, rank, *now + 1);
        *now += 2;
        if (++since == 3) {
            since = 0;
            *now += 3;
        }
    }
}

static void place_all(struct ss_block *b, int p)
{
    int now = SS_BLOCK_PERIOD + 1;
    for (int r = 0; r < p; r++)
        ss_block_repeat(b, SS_BLOCK_F0, r, now++);
    for (int r = p - 1; r >= 0; r--)
        ss_block_repeat(b, SS_BLOCK_F1, r, now++);
    now += p % 3 ? 0 : 3;
    place_backward(b, &now, p);
}

static void move_all(struct ss_block *b)
{
    ss_block_weigh(b);
    ss_block_walk(b);
    for (int t = 0; t < b->steps; t++)
        for (int r = 0; r < b->p; r++) {
            int kind = *ss_block_cell(b, r, t) - 1;
            if (kind < 0)
                continue;
            int mb = ss_block_meet(b, kind, r), ready = ss_block_ready(b, kind, r, mb);
            int cells = kind == SS_BLOCK_I1 || kind == SS_BLOCK_I0 ? 2 : 1;
            int to = ss_block_earliest(b, r, t, ready, cells);
            ss_block_move(b, r, t, to);
            *ss_block_step(b, kind, r, mb) = to;
        }
}

static int build(const struct ss_schedule_params *params, struct ss_schedule **out, struct ss_error *err)
{
    int p = params->stages, m = params->microbatches, rc = ss_schedule_need_chunks("1f1b-v", params, 2, err);
    struct ss_order o;
    struct ss_block b;
    SS_THEN(rc, ss_order_begin(&o, "1f1b-v", params, 4 * m, err));
    if (rc)
        return rc;
    if (ss_block_make(&b, p, m, 8 * p + 24)) {
        ss_order_end(&o);
        ss_schedule_free(o.s);
        return ss_nomem(err);
    }
    b.whole = 1;
    place_all(&b, p);
    move_all(&b);
    ss_schedule_place_v(o.s);
    for (int r = 0; r < p; r++) {
        ss_order_rank(&o, r);
        ss_block_order(&b, &o, r);
    }
    ss_schedule_count_warmup(o.s);
    ss_block_free(&b);
    ss_order_end(&o);
    *out = o.s;
    return SS_OK;
}

const struct ss_schedule_row ss_schedule_1f1b_v = {
    .name = "1f1b-v",
    .description = "1F1B on a V of two chunks a rank, with two thirds of its memory",
    .build = build,
    .chunks = 2,
    .facts = {.source = "zero-bubble; Qi et al. 2024, arXiv:2405.15362",
              .conditions = "",
              .bubble = "5(p-1) for F=I=W (p=3k+2: 5p-7)",
              .in_flight = "2 floor((2p+3)/3)"},
};
