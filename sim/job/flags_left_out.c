/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that take others away. */
#include "base/base.h"
#include "job/flags_set.h"

/* A request resolves --without before it is parsed. */
SS_FLAG_CALLED(without)
{
    *why = "it takes away flags of a command line or a job file, and here are none";
    return SS_ERR_INPUT;
}

SS_FLAG_CALLED(drop)
{
    *why = "it leaves out flags of a command line or a job file, and here are none";
    return SS_ERR_INPUT;
}

/* No error band holds for a job that is not the real one. */
SS_FLAG_CALLED(dropped)
{
    if (!values[0][strspn(values[0], "-,")]) {
        *why = "it names no flag";
        return SS_ERR_INPUT;
    }
    if (!asked->job.unmodelled[0])
        snprintf(asked->job.unmodelled, sizeof asked->job.unmodelled, "--%.*s", (int)strcspn(values[0], ","),
                 values[0]);
    return SS_OK;
}
