/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of loads: refused with a message, or loads of which figures can be made. */
#include <stdlib.h>

#include "job/moe_loads.h"
#include "stepsim/job.h"
#include "stepsim/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_moe_loads loads;
    struct ss_error err = {0};
    if (size > 1 << 16)
        return 0;
    if (ss_moe_loads_parse((const char *)data, size, "fuzz.csv", 8, 2, &loads, &err)) {
        if (!err.message[0])
            abort();
        return 0;
    }
    const struct ss_load_input in = {.kind = SS_LOAD_FILE,
                                     .loads = loads.load,
                                     .layers = loads.layers,
                                     .layer = -1,
                                     .experts = 8,
                                     .top_k = 2,
                                     .groups = 4,
                                     .group_topk = 2,
                                     .ep = 4,
                                     .nodes = 2,
                                     .tokens = 1024,
                                     .capacity_factor = 1.25};
    struct ss_load_figures f;
    if (ss_load_figures(&in, &f, &err))
        abort();
    /* Ranks of two experts each hold at most all of a token's two copies; some are dropped. */
    if (!(f.rank.mean >= 0 && f.rank.mean <= 4 && f.coldest_rank >= 0 &&
          f.coldest_rank <= f.rank.mean + 1e-9) ||
        !(f.dropped >= 0 && f.dropped < 1) || !(f.nodes >= 1 - 1e-9 && f.nodes <= 2 && f.ranks <= 2 + 1e-9))
        abort();
    free(loads.load);
    return 0;
}
