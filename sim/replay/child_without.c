/* SPDX-License-Identifier: Apache-2.0 */
/* In place of child.c where the build has no SimGrid (SS_SIMGRID=OFF). */
#include "base/base.h"
#include "replay/engine.h"

int ss_engine_is_built(int engine)
{
    return engine == SS_ENGINE_NATIVE;
}

int ss_simgrid_load(struct ss_error *err)
{
    return ss_fail(err, SS_ERR_ENGINE, NULL, 0,
                   "this stepsim is built without SimGrid" SS_HINT
                   "use --engine native, which gives the same times");
}

int ss_child_replay(const struct ss_program *p, struct ss_tape *tape, struct ss_board *board,
                    const struct ss_replay_options *options, struct ss_error *err)
{
    (void)p, (void)tape, (void)board, (void)options;
    return ss_simgrid_load(err);
}

int ss_simgrid_probe(const char *file, struct ss_error *err)
{
    (void)file;
    return ss_simgrid_load(err);
}

int ss_simgrid_ask_routes(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
                          struct ss_error *err)
{
    (void)npairs, (void)hosts, (void)routes;
    return ss_fail(err, SS_ERR_UNSUPPORTED, file, 0,
                   "only SimGrid finds its routes, and this stepsim is built without SimGrid" SS_HINT
                   "build one with it, or write routes that stepsim reads");
}
