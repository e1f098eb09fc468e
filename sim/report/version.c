/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/report.h"

#ifndef SS_VERSION /* the build defines it */
#define SS_VERSION "unknown"
#endif

const char *ss_version(void)
{
    return SS_VERSION;
}
