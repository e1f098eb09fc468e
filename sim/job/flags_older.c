/* SPDX-License-Identifier: Apache-2.0 */
/* Names that releases before Megatron core had. */
#include <string.h>

#include "base/base.h"
#include "job/flags_set.h"

/* The flag of 2021 and 2022: it says by which method whole layers are recomputed; without the flag none
 * are. */
SS_FLAG_CALLED(checkpoint_method)
{
    int block = !strcmp(values[0], "block");

    if (!block && strcmp(values[0], "uniform") != 0) {
        *why = "it is uniform or block";
        return SS_ERR_INPUT;
    }
    int rc = ss_flag_checkpoint_activations(asked, n, values, why);
    asked->job.recompute.method = block ? SS_RECOMPUTE_BLOCK : SS_RECOMPUTE_UNIFORM;
    SS_GIVE(asked, recompute_method);
    return rc;
}
