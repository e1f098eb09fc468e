/* SPDX-License-Identifier: Apache-2.0 */
/* In place of hwloc_import.c where the build has no hwloc (SS_HWLOC=OFF). */
#include "platform/node_facts.h"

int ss_node_facts_read(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                       struct ss_error *err)
{
    (void)text, (void)len, (void)out;
    return ss_fail(err, SS_ERR_UNSUPPORTED, file, 0,
                   "this stepsim is built without hwloc, which reads such files" SS_HINT "build one with it");
}

unsigned ss_node_facts_hwloc(void)
{
    return 0;
}
