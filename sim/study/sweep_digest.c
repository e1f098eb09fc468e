/* SPDX-License-Identifier: Apache-2.0 */
/* Computes digests that tell one sweep or search from another, for their journals. */
#include "base/base.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

static uint64_t add(uint64_t h, const char *text)
{
    return ss_hash(h, text, strlen(text) + 1);
}

int ss_sweep_digest(const struct ss_sweep *vary, const struct ss_request *base, int engine,
                    const struct ss_files *files, uint64_t *out, struct ss_error *err)
{
    uint64_t h = ss_hash(SS_HASH_INIT, &engine, sizeof engine);
    char content[17];
    int rc = SS_OK;

    for (size_t i = 0; i < base->n;
         i++) /* the places tell which words belong together, and which beat others */
        h = ss_hash(add(h, base->word[i].text), &base->word[i].place, sizeof base->word[i].place);
    for (int f = 0; vary && f < vary->nflags; f++) {
        h = add(h, vary->flags[f].name);
        for (int i = 0; i < vary->flags[f].nvalues; i++)
            h = add(h, vary->flags[f].value[i]);
    }
    for (size_t i = 0; files && i < files->n && !rc; i++) {
        rc = ss_file_hash(files->path[i], content, err);
        h = rc ? h : add(h, content);
    }
    *out = h;
    return rc;
}
