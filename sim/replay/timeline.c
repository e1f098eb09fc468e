/* SPDX-License-Identifier: Apache-2.0 */
/* Time by label, memory peaks and link use of one replay. */
#include "base/base.h"
#include "replay/engine.h"

void ss_timeline_free(struct ss_timeline *t)
{
    if (!t)
        return;
    SS_FREE(t->spent, t->dynamic_peak, t->peak_time, t->peak_slot, t->event_s, t->link_busy, t);
}

static struct ss_timeline *timeline_new(const struct ss_program *p)
{
    struct ss_timeline *t = ss_calloc(1, sizeof *t);
    size_t n = (size_t)p->nclasses + 1;
    if (!t)
        return NULL;
    t->nclasses = p->nclasses;
    t->spent = ss_calloc(n, sizeof *t->spent);
    t->dynamic_peak = ss_calloc(n, sizeof *t->dynamic_peak);
    t->peak_time = ss_calloc(n, sizeof *t->peak_time);
    t->peak_slot = ss_calloc(n, sizeof *t->peak_slot);
    t->event_s = ss_calloc(ss_template_events(p) + 1, sizeof *t->event_s);
    t->link_busy = ss_calloc((size_t)p->nlinks + 1, sizeof *t->link_busy);
    if (t->spent && t->dynamic_peak && t->peak_time && t->peak_slot && t->event_s && t->link_busy)
        return t;
    ss_timeline_free(t);
    return NULL;
}

int ss_timeline_replay_with(const struct ss_program *p, const struct ss_replay_options *options,
                            struct ss_timeline **out, struct ss_error *err)
{
    static const struct ss_replay_options usual = {.engine = SS_ENGINE_NATIVE};
    struct ss_board *board = NULL;
    options = options ? options : &usual;
    SS_TRY(ss_replay_board(p, options, NULL, 0, 1, &board, err));
    struct ss_timeline *t = timeline_new(p);
    if (!t) {
        ss_board_free(board);
        return ss_nomem(err);
    }
    t->iteration_s = board->makespan;
    t->events = board->events;
    t->flows = board->flows;
    t->doublings = options->engine == SS_ENGINE_NATIVE ? board->doublings : NAN;
    for (int c = 0; c < p->nclasses; c++) {
        struct ss_account *a = &board->accounts[c];
        if (board->makespan > a->end)
            ss_account_add(a, SS_LABEL_BUBBLE, board->makespan - a->end);
        for (int i = 0; i < SS_LABEL_COUNT; i++)
            t->spent[c][i] = a->label[i].sum + a->label[i].rest;
        memcpy(t->dynamic_peak[c], a->peak, sizeof a->peak);
        t->peak_time[c] = a->peak_time;
        t->peak_slot[c] = a->peak_slot;
    }
    memcpy(t->event_s, board->event_s, ss_template_events(p) * sizeof *t->event_s);
    memcpy(t->link_busy, board->link_busy, (size_t)p->nlinks * sizeof *t->link_busy);
    ss_board_free(board);
    *out = t;
    return 0;
}

int ss_timeline_replay(const struct ss_program *p, int engine, struct ss_timeline **out, struct ss_error *err)
{
    return ss_timeline_replay_with(p, &(struct ss_replay_options){.engine = engine}, out, err);
}
