/* SPDX-License-Identifier: Apache-2.0 */
/* What helps the best layout beside its layout: the changes of explain that leave it as it is. */
#include "base/base.h"
#include "decide/advise.h"
#include "decide/search_internal.h"
#include "stepsim/compare.h"
#include "study/changes.h"
#include "study/study_internal.h"
#include "workers/pool.h"

int ss_find_advise(const struct ss_scenario *s, double seconds, const struct ss_find_options *o,
                   struct ss_explanation **out, struct ss_error *err)
{
    struct ss_run_options options = {.engine = SS_ENGINE_NATIVE,
                                     .unchecked = 1,
                                     .narrow = 1,
                                     .bands = o->run->bands,
                                     .workers = o->workers};
    struct ss_explanation *x = ss_calloc(1, sizeof *x);
    if (!x)
        return ss_nomem(err);
    if (!options.workers.n && !options.workers.team)
        options.workers.n = ss_pool_cores();
    ss_copy(x->side.name, sizeof x->side.name, "the best");
    x->side.summary.iteration_s = seconds;
    int rc = ss_advise(s, -1, &options, SS_CHANGE_BESIDE, x, err);
    if (rc)
        free(x);
    else
        *out = x;
    return rc;
}
