/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch of a replay to an engine. */
#include "base/base.h"
#include "replay/engine.h"

const char *ss_engine_name(int engine)
{
    return engine == SS_ENGINE_NATIVE ? "native" : engine == SS_ENGINE_SIMGRID ? "simgrid" : "unknown";
}

/* Figures are made of times by sums and factors, which must neither overflow nor lose every digit. */
static int check_length(const struct ss_board *b, struct ss_error *err)
{
    if (b->makespan <= SS_LONGEST_S)
        return 0;
    return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                   "the iteration would take %.3g s, more than %.0e s or 30,000 years" SS_HINT
                   "check --straggler, --slow-link and the units of bandwidths and rates",
                   b->makespan, SS_LONGEST_S);
}

static int outcome(const struct ss_program *p, const struct ss_board *b, struct ss_error *err)
{
    if (b->status == 0)
        return check_length(b, err);
    if (b->status == SS_ERR_DEADLOCK)
        return ss_deadlock_fail(p, b->at, err);
    if (b->status == SS_ERR_NOMEM)
        return ss_nomem(err);
    int rc = ss_fail(err, b->status, NULL, 0, "%s", b->message);
    return b->hint[0] ? ss_hint(err, rc, "%s", b->hint) : rc;
}

/* The rounding of SimGrid's clock can, in theory, make it miss an end and stop; it then looks like a deadlock. */
static int confirm_deadlock(const struct ss_program *p, struct ss_board *board, struct ss_error *err)
{
    struct ss_board *native = NULL;
    const struct ss_replay_options options = {.engine = SS_ENGINE_NATIVE};
    if (board->status != SS_ERR_DEADLOCK || ss_replay_board(p, &options, NULL, 0, 0, &native, NULL))
        return 0;
    ss_board_free(native);
    int rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid stopped before the end of a job that can run");
    return ss_hint(err, rc, "use --engine native, which finishes it");
}

int ss_replay_board(const struct ss_program *p, const struct ss_replay_options *options,
                    const struct ss_observer *observers, int nobservers, int accounts, struct ss_board **out,
                    struct ss_error *err)
{
    int engine = options->engine;
    if (engine != SS_ENGINE_NATIVE && engine != SS_ENGINE_SIMGRID)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown engine %d", engine);
    int rc = ss_replay_precheck(p, err);
    if (rc)
        return rc;
    struct ss_board *board = ss_board_new(p, engine == SS_ENGINE_SIMGRID, accounts);
    SS_NEED(board, err);
    board->full_replay = options->full;
    struct ss_tape tape;
    ss_tape_init(&tape, p, board, observers, nobservers);
    if (engine == SS_ENGINE_NATIVE) {
        ss_native_run(p, &tape, board, options);
        ss_tape_end(&tape);
    } else {
        rc = ss_child_replay(p, &tape, board, options, err);
        SS_THEN(rc, confirm_deadlock(p, board, err));
    }
    ss_tape_free(&tape);
    SS_THEN(rc, outcome(p, board, err));
    SS_HAND(rc, board, out, ss_board_free);
}

int ss_replay(const struct ss_program *p, int engine, const struct ss_observer *observers, int nobservers,
              struct ss_replay_stats *stats, struct ss_error *err)
{
    struct ss_board *board = NULL;
    const struct ss_replay_options options = {.engine = engine};
    SS_TRY(ss_replay_board(p, &options, observers, nobservers, 0, &board, err));
    if (stats) {
        stats->makespan = board->makespan;
        stats->events = board->events;
    }
    ss_board_free(board);
    return 0;
}
