/* SPDX-License-Identifier: Apache-2.0 */
/* The batch as trainers say it that do not know how many GPUs they will have. */
#include "base/base.h"
#include "job/flags_set.h"

SS_FLAG_CALLED(accumulation)
{
    int64_t steps;

    if (ss_parse_i64(values[0], 1, 1 << 26, &steps)) {
        *why = "it is a whole number from 1 to 67108864";
        return SS_ERR_INPUT;
    }
    asked->accumulation = (int)steps;
    asked->job.global_batch = 0; /* an earlier word, which this one beats */
    return SS_OK;
}
