/* SPDX-License-Identifier: Apache-2.0 */
/* Placement files: on which GPU each rank is. */
#include "base/base.h"
#include "stepsim/plan.h"
#include "stepsim/platform.h"

#define MAX_BYTES (16u << 20)

struct reader {
    const char *path;
    int line, nodes, gpus, world;
    int *gpu_of, n;
    int *rank_of; /* [world]: rank + 1 on each GPU */
    struct ss_error *err;
};

static int bad(const struct reader *r, const char *what)
{
    return ss_fail(r->err, SS_ERR_INPUT, r->path, r->line,
                   "%s" SS_HINT
                   "a line is \"node N\" or \"gpu NODE INDEX\"; the platform has %d nodes of %d GPUs",
                   what, r->nodes, r->gpus);
}

static int place(struct reader *r, int gpu)
{
    if (r->n == r->world)
        return bad(r, "more places than ranks");
    if (r->rank_of[gpu])
        return ss_fail(r->err, SS_ERR_INPUT, r->path, r->line, "GPU %d of node %d is taken by rank %d",
                       gpu % r->gpus, gpu / r->gpus, r->rank_of[gpu] - 1);
    r->rank_of[gpu] = r->n + 1;
    r->gpu_of[r->n++] = gpu;
    return SS_OK;
}

static int number(const char *word, int limit)
{
    int64_t value;
    return word && !ss_parse_i64(word, 0, limit - 1, &value) ? (int)value : -1;
}

static int read_line(struct reader *r, char *line)
{
    char *rest, *word[4] = {NULL};
    int n = 0, node, rc = SS_OK;
    line[strcspn(line, "#")] = '\0';
    for (char *w = strtok_r(line, " \t\r", &rest); w && n < 4; w = strtok_r(NULL, " \t\r", &rest))
        word[n++] = w;
    if (n == 0)
        return SS_OK;
    node = number(word[1], r->nodes);
    if (!strcmp(word[0], "node") && n == 2 && node >= 0) {
        for (int i = 0; i < r->gpus && !rc; i++)
            rc = place(r, node * r->gpus + i);
        return rc;
    }
    if (!strcmp(word[0], "gpu") && n == 3 && node >= 0 && number(word[2], r->gpus) >= 0)
        return place(r, node * r->gpus + number(word[2], r->gpus));
    return bad(r, "not a place");
}

static int read_text(struct reader *r, char *text)
{
    int rc = SS_OK;
    for (char *line = text, *end; line && !rc; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        r->line++;
        rc = read_line(r, line);
    }
    if (!rc && r->n < r->world) {
        r->line = 0;
        rc = ss_fail(r->err, SS_ERR_INPUT, r->path, 0,
                     "places for %d ranks, the platform has %d GPUs" SS_HINT
                     "name every GPU once, or take fewer nodes",
                     r->n, r->world);
    }
    return rc;
}

int ss_placement_load(const char *path, const struct ss_platform *platform, int **out, struct ss_error *err)
{
    struct reader r = {.path = path, .err = err};
    char *text = NULL;
    size_t len;
    int rc = ss_file_read(path, MAX_BYTES, &text, &len, err);
    if (rc)
        return rc;
    r.nodes = ss_platform_file_nodes(platform);
    r.gpus = ss_platform_file_gpus(platform);
    r.world = r.nodes * r.gpus;
    r.gpu_of = ss_calloc((size_t)r.world, sizeof *r.gpu_of);
    r.rank_of = ss_calloc((size_t)r.world, sizeof *r.rank_of);
    if (!r.gpu_of || !r.rank_of)
        rc = ss_nomem(err);
    else if (strlen(text) != len)
        rc = ss_fail(err, SS_ERR_INPUT, path, 0, "not a text");
    else
        rc = read_text(&r, text);
    SS_FREE(text, r.rank_of);
    if (rc) {
        free(r.gpu_of);
        return rc;
    }
    *out = r.gpu_of;
    return SS_OK;
}
