/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of resources as PBS, Grid Engine and PJM read them. */
#include "base/base.h"
#include "import/launcher.h"

#define MOST (1 << 20)

/* The number that is all of the n bytes at p; 0: none. */
static int number(const char *p, size_t n)
{
    char text[16];
    int64_t found;

    if (n == 0 || n >= sizeof text)
        return 0;
    memcpy(text, p, n);
    text[n] = '\0';
    return ss_parse_i64(text, 1, MOST, &found) ? 0 : (int)found;
}

/* The number of "ngpus=8" among the options behind ":" of a chunk; 0: it has none. */
static int option(const char *p, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (; (p = memchr(p, ':', (size_t)(end - p))) != NULL; p++)
        if ((size_t)(end - p) > n + 1 && !strncasecmp(p + 1, name, n) && p[1 + n] == '=') {
            const char *value = p + n + 2;
            size_t len = strcspn(value, ":+, \t\r\n");
            return number(value, len < (size_t)(end - value) ? len : (size_t)(end - value));
        }
    return 0;
}

/* Reads chunks joined by "+": nodes add up; GPUs are those of a node where all chunks have equally many. The
 * name of a host is one node. */
static void read_chunks(const char *p, const char *end, struct ss_pbs *out)
{
    struct ss_pbs sum = {0};
    int same = 1;

    for (const char *next; p < end; p = next + 1) {
        next = memchr(p, '+', (size_t)(end - p));
        next = next ? next : end;
        size_t n = strcspn(p, ":+");
        int nodes = number(p, n < (size_t)(next - p) ? n : (size_t)(next - p));
        int gpus = option(p, next, "ngpus"), tasks = option(p, next, "mpiprocs"),
            lines = option(p, next, "ppn");
        gpus = gpus ? gpus : option(p, next, "gpus");
        gpus = gpus ? gpus : option(p, next, "gpu");
        lines = lines ? lines : tasks;
        same &= sum.nodes == 0 || (gpus == sum.gpus && tasks == sum.tasks && lines == sum.lines);
        sum = (struct ss_pbs){sum.nodes + (nodes ? nodes : 1), gpus, tasks, lines};
        if (sum.nodes > MOST)
            return;
    }
    if (!same)
        sum = (struct ss_pbs){.nodes = sum.nodes};
    *out = sum;
}

/* Reads a list of resources, "select=4:ngpus=8,walltime=2:00", up to a blank. Whole nodes of ABCI are "rt_F=4", of TSUBAME "node_f=4". */
void ss_pbs_list(const char *p, struct ss_pbs *out)
{
    static const char *const names[] = {
        "select=", "nodes=", "rt_F=", "rt_AF=", "rt_HF=", "node_f=", "f_node="};

    for (; *p && !isspace((unsigned char)*p); p += strcspn(p, ", \t\r\n"), p += *p == ',')
        for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
            size_t n = strlen(names[i]);
            if (!strncasecmp(p, names[i], n))
                read_chunks(p + n, p + n + strcspn(p + n, ", \t\r\n"), out);
        }
}

/* "rscgrp=regular-a,node=2x3:torus", "gpu=4" and "max-proc-per-node=8" of pjsub. A node of which GPUs are asked for is one. */
void ss_pjm_list(const char *list, int64_t count[SS_COUNTS])
{
    static const struct {
        const char *name;
        int what;
    } rows[] = {{"node=", SS_COUNT_NODES},
                {"vnode=", SS_COUNT_NODES},
                {"gpu=", SS_COUNT_GPUS},
                {"proc=", SS_COUNT_ALL},
                {"max-proc-per-node=", SS_COUNT_NODE}};

    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        for (size_t k = 0; k < SS_ARRAY_LEN(rows); k++) {
            const size_t length = strlen(rows[k].name);
            int64_t all = 1, one;
            if (strncmp(p, rows[k].name, length) != 0)
                continue;
            const char *at = p + length;
            for (char *end; (one = strtoll(at, &end, 10)) > 0 && one <= 1 << 20 && all <= 1 << 20; at = end) {
                all *= one;
                end += rows[k].what == SS_COUNT_NODES && *end == 'x';
            }
            count[rows[k].what] = at > p + length && all <= 1 << 20 ? all : count[rows[k].what];
        }
    if (count[SS_COUNT_GPUS] && !count[SS_COUNT_NODES])
        count[SS_COUNT_NODES] = 1;
}
