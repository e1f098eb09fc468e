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
    const double *lent_s = ctx, most = fmax(points[0]->summary.iteration_s, *lent_s);

    return take_shapes(points, n, shape) < SS_CAPACITY_SHAPES
               ? most
               : fmin(most, shape[SS_CAPACITY_SHAPES - 1].gpu_s);
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

static int by_gpu_seconds(const void *left, const void *right)
{
    const struct ss_capacity_shape *a = left, *b = right;
    return a->gpu_s < b->gpu_s ? -1 : a->gpu_s > b->gpu_s;
}

void ss_capacity_put_shapes(struct ss_capacity_board *b, const struct ss_capacity_answer *a)
{
    struct ss_capacity_shape all[2 * SS_CAPACITY_SHAPES];
    int n = b->nshapes;

    memcpy(all, b->shape, sizeof b->shape);
    for (int i = 0; i < SS_CAPACITY_SHAPES && a->shape[i].tp; i++) {
        int k = 0;
        while (k < n && strcmp(all[k].words, a->shape[i].words) != 0)
            k++;
        if (k == n)
            all[n++] = a->shape[i];
        else
            all[k].gpu_s = fmin(all[k].gpu_s, a->shape[i].gpu_s);
    }
    if (n)
        qsort(all, (size_t)n, sizeof *all, by_gpu_seconds);
    b->nshapes = n < SS_CAPACITY_SHAPES ? n : SS_CAPACITY_SHAPES;
    memcpy(b->shape, all, sizeof b->shape);
    if (n >= SS_CAPACITY_SHAPES)
        b->lent_gpu_s = fmin(b->lent_gpu_s, all[SS_CAPACITY_SHAPES - 1].gpu_s);
}
