/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The period of a loop without a global barrier. Two bodies in a row let the ranks take the offsets that they
 * keep; what a third body adds is one period.
 */
#include "base/base.h"
#include "replay/engine.h"

/* The program with every class's slots `times` times in a row; shares all else with p. */
static int repeat(const struct ss_program *p, int times, struct ss_program *out, struct ss_error *err)
{
    *out = *p;
    out->source = NULL;
    out->classes = ss_calloc((size_t)p->nclasses, sizeof *out->classes);
    SS_NEED(out->classes, err);
    for (int c = 0; c < p->nclasses; c++) {
        struct ss_program_class *cls = &out->classes[c];
        size_t n = (size_t)p->classes[c].nslots;
        *cls = p->classes[c];
        cls->loop = (struct ss_program_loop){0};
        cls->slots = ss_calloc(n * (size_t)times, sizeof *cls->slots);
        SS_NEED(cls->slots, err);
        for (size_t i = 0; i < (size_t)times * n; i++)
            cls->slots[i] = ss_program_slot_at(&p->classes[c], (int)(i % n));
        cls->nslots = (int)n * times;
    }
    return SS_OK;
}

static void forget(const struct ss_program *p, struct ss_program *loop)
{
    for (int c = 0; loop->classes && c < p->nclasses; c++)
        free(loop->classes[c].slots);
    free(loop->classes);
}

static int replay_times(const struct ss_program *p, int times, const struct ss_replay_options *how,
                        struct ss_timeline **out, struct ss_error *err)
{
    struct ss_program loop = {0};
    int rc = repeat(p, times, &loop, err);
    SS_THEN(rc, ss_timeline_replay_with(&loop, how, out, err));
    forget(p, &loop);
    return rc;
}

static int seconds_of(const struct ss_program *p, const struct ss_replay_options *how, double *seconds,
                      struct ss_error *err)
{
    struct ss_board *board = NULL;
    SS_TRY(ss_replay_board(p, how, NULL, 0, 0, &board, err));
    *seconds = board->makespan;
    ss_board_free(board);
    return SS_OK;
}

int ss_replay_seconds(const struct ss_program *p, const struct ss_replay_options *how, int loop,
                      double *seconds, struct ss_error *err)
{
    double of[2];
    if (!loop)
        return seconds_of(p, how, seconds, err);
    for (int i = 0; i < 2; i++) {
        struct ss_program body = {0};
        int rc = repeat(p, 2 + i, &body, err);
        SS_THEN(rc, seconds_of(&body, how, &of[i], err));
        forget(p, &body);
        SS_TRY(rc);
    }
    *seconds = of[1] - of[0];
    return SS_OK;
}

/* Rounding alone makes a difference negative. */
static double minus(double a, double b)
{
    return a > b ? a - b : 0;
}

/* Leaves in t what it has beyond `before`. */
static void subtract(const struct ss_program *p, struct ss_timeline *t, const struct ss_timeline *before)
{
    t->iteration_s -= before->iteration_s;
    t->events -= before->events;
    t->flows -= before->flows;
    for (int c = 0; c < p->nclasses; c++) {
        for (int i = 0; i < SS_LABEL_COUNT; i++)
            t->spent[c][i] = minus(t->spent[c][i], before->spent[c][i]);
        if (p->classes[c].nslots)
            t->peak_slot[c] %= p->classes[c].nslots;
    }
    for (size_t i = 0; i < ss_template_events(p); i++)
        t->event_s[i] = minus(t->event_s[i], before->event_s[i]);
    for (int i = 0; t->link_busy && i < p->nlinks; i++)
        t->link_busy[i] = minus(t->link_busy[i], before->link_busy[i]);
}

int ss_timeline_steady(const struct ss_program *p, const struct ss_replay_options *how,
                       struct ss_timeline **out, struct ss_error *err)
{
    struct ss_timeline *two = NULL, *three = NULL;
    int rc = replay_times(p, 2, how, &two, err);
    SS_THEN(rc, replay_times(p, 3, how, &three, err));
    if (!rc) {
        subtract(p, three, two);
        *out = three;
    }
    ss_timeline_free(two);
    return rc;
}
