/* SPDX-License-Identifier: Apache-2.0 */
/* Which layouts a row lends to other numbers of nodes: the best ones, few of which are alike. */
#include "base/base.h"
#include "decide/capacity_internal.h"

#define ALIKE 2 /* layouts of the same tensor, context and pipeline sizes that a row lends at most */

/* Copies the words of a layout without its micro batch, which another number of nodes may not divide. */
static void copy_words(char *to, size_t size, const char *words)
{
    static const char flag[] = "--mbs ";
    const char *at = strstr(words, flag), *end = at ? at + strlen(flag) : NULL;

    snprintf(to, size, "%.*s%s", at ? (int)(at - words) : (int)strlen(words), words,
             end ? end + strcspn(end, " ") : "");
}

/* Takes the layouts that are best, of `points`, the fastest first, and returns how many; gpu_s is how long an iteration takes. */
static int take_shapes(const struct ss_find_point *const *points, int npoints,
                       struct ss_capacity_shape shape[SS_CAPACITY_SHAPES])
{
    int n = 0;

    for (int i = 0; n < SS_CAPACITY_SHAPES && i < npoints; i++) {
        const struct ss_find_point *p = points[i];
        struct ss_capacity_shape *s = &shape[n];
        char words[sizeof s->words];
        int alike = 0, same = 0;
        copy_words(words, sizeof words, p->flags);
        if (p->summary.outcome !=
            points[0]->summary.outcome) /* those that surely fit, else those near the limit */
            break;
        for (int k = 0; k < n; k++) {
            alike += shape[k].tp == p->tp && shape[k].cp == p->cp && shape[k].pp == p->pp;
            same |= !strcmp(shape[k].words, words);
        }
        if (alike == ALIKE || same)
            continue;
        *s = (struct ss_capacity_shape){.tp = p->tp,
                                        .cp = p->cp,
                                        .pp = p->pp,
                                        .micro_batch = p->micro_batch,
                                        .gpu_s = p->summary.iteration_s};
        ss_copy(s->words, sizeof s->words, words);
        n++;
    }
    return n;
}

double ss_capacity_slowest_lent(void *ctx, const struct ss_find_point *const *points, int n)
{
    struct ss_capacity_shape shape[SS_CAPACITY_SHAPES];

    (void)ctx;
    return take_shapes(points, n, shape) < SS_CAPACITY_SHAPES ? INFINITY
                                                              : shape[SS_CAPACITY_SHAPES - 1].gpu_s;
}

int ss_capacity_lend(const struct ss_find_result *found, double tokens, struct ss_capacity_answer *a,
                     struct ss_error *err)
{
    const struct ss_find_point **points = ss_calloc((size_t)found->npoints + 1, sizeof *points);

    SS_NEED(points, err);
    for (int i = 0; i < found->npoints; i++)
        points[i] = &found->points[i];
    int n = take_shapes(points, found->npoints, a->shape);
    free(points);
    for (int i = 0; i < n; i++)
        a->shape[i].gpu_s = a->shape[i].gpu_s * a->point.gpus / tokens;
    if (n < SS_CAPACITY_SHAPES)
        a->shape[n].tp = 0;
    return SS_OK;
}
