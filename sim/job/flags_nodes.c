/* SPDX-License-Identifier: Apache-2.0 */
/* The flag that says on which nodes of a cluster a job is. */
#include <string.h>

#include "base/base.h"
#include "job/flags_set.h"
#include "stepsim/params.h"

/* Reads "3" or "0-7", n characters. */
static int read_range(const char *text, size_t n, struct ss_node_range *out)
{
    char word[32], *last;
    int64_t from, to;

    if (n == 0 || n >= sizeof word)
        return -1;
    memcpy(word, text, n);
    word[n] = '\0';
    last = strchr(word, '-');
    if (last)
        *last++ = '\0';
    if (ss_parse_i64(word, 0, SS_MAX_GPUS - 1, &from))
        return -1;
    to = from;
    if (last && ss_parse_i64(last, from, SS_MAX_GPUS - 1, &to))
        return -1;
    *out = (struct ss_node_range){(int)from, (int)to};
    return 0;
}

SS_FLAG_CALLED(on_nodes)
{
    const char *at = values[0];

    asked->job.nranges = 0;
    for (size_t len;; at += len + 1) {
        struct ss_node_range r;
        len = strcspn(at, ",");
        *why = "not nodes like 0-3,8: from the lower to the higher, each once";
        if (read_range(at, len, &r))
            return SS_ERR_INPUT;
        for (int i = 0; i < asked->job.nranges; i++)
            if (r.first <= asked->job.on_nodes[i].last && asked->job.on_nodes[i].first <= r.last)
                return SS_ERR_INPUT;
        *why = "more than 64 ranges";
        if (asked->job.nranges == SS_MAX_NODE_RANGES)
            return SS_ERR_INPUT;
        asked->job.on_nodes[asked->job.nranges++] = r;
        if (!at[len])
            return SS_OK;
    }
}
