/* SPDX-License-Identifier: Apache-2.0 */
/* Which GEMMs, copies and launches the probe measures, and in what order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "layers/kinds.h"
#include "probe.h"
#include "stepsim/job.h"

/* ---- shapes of the models' linear layers ---- */

struct shapes {
    int n;
    size_t cap;
    struct shape {
        long m, n, k;
        int pass, fp8;
    } * list;
};

static int shapes_add(struct shapes *s, int pass, double m, double n, double k, int linear,
                      struct ss_error *err)
{
    struct shape shape = {(long)m, (long)n, (long)k, pass, 0};

    if (m != floor(m) || n != floor(n) || k != floor(k))
        return SS_OK; /* the model does not divide by this tp */
    shape.fp8 = linear && shape.m % 16 == 0 && shape.n % 16 == 0 && shape.k % 16 == 0;
    if (ss_grow(&s->list, &s->cap, (size_t)s->n + 1, sizeof *s->list))
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    s->list[s->n++] = shape;
    return SS_OK;
}

/* The three GEMMs of each linear layer of a kind of layer. */
static int shapes_of_layer(struct shapes *s, const struct ss_shape *of, int kind, struct ss_error *err)
{
    struct ss_ops ops = {0};
    int rc = SS_OK;

    ss_layer_operators(kind, of, &ops);
    for (int i = 0; i < ops.n && !rc; i++) {
        const struct ss_op *op = &ops.op[i];
        int linear = ss_layer_is_pair(kind);
        if (op->kind != SS_OP_GEMM)
            continue;
        rc = shapes_add(s, PROBE_FORWARD, op->gemm.m, op->gemm.n, op->gemm.k, linear, err);
        if (!rc)
            rc = shapes_add(s, PROBE_DGRAD, op->gemm.m, op->gemm.k, op->gemm.n, linear, err);
        if (!rc)
            rc = shapes_add(s, PROBE_WGRAD, op->gemm.n, op->gemm.k, op->gemm.m, linear, err);
    }
    return rc;
}

static int shapes_of_model(struct shapes *s, const char *name, struct ss_error *err)
{
    const struct ss_stack none = {0};
    struct ss_job job;
    struct ss_shape shape;
    int rc;

    ss_job_init(&job);
    rc = ss_model_load(name, &job.model, err);
    if (!rc)
        rc = ss_model_finish(&job.model, err);
    job.micro_batch = 1;
    job.cp = 1;
    job.precision = SS_BF16;
    for (int tp = 1; tp <= 8 && !rc; tp *= 2)
        for (int tokens = 2048; tokens <= 16384 && !rc; tokens *= 2) {
            job.tp = tp;
            job.seq_length = tokens;
            ss_shape_init(&shape, &job, &none, ss_model_padded_vocab(&job.model, 128, tp));
            rc = shapes_of_layer(s, &shape, SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE), err);
            if (!rc)
                rc = shapes_of_layer(s, &shape, SS_LAYER_LOSS, err);
        }
    return rc;
}

static int compare_shapes(const void *a, const void *b)
{
    const struct shape *x = a, *y = b;
    const long keys[][2] = {{x->pass, y->pass}, {x->m, y->m}, {x->n, y->n}, {x->k, y->k}, {y->fp8, x->fp8}};

    for (size_t i = 0; i < SS_ARRAY_LEN(keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int is_same(const struct shape *a, const struct shape *b)
{
    return a->pass == b->pass && a->m == b->m && a->n == b->n && a->k == b->k;
}

/* All of them once, sorted. */
static int shapes_collect(struct shapes *s, struct ss_error *err)
{
    char **names;
    size_t n;
    int kept = 0, rc = ss_data_list("workloads/models", ".json", &names, &n, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i++)
        rc = shapes_of_model(s, names[i], err);
    ss_names_free(names, n);
    if (rc)
        return rc;
    if (s->n)
        qsort(s->list, (size_t)s->n, sizeof *s->list, compare_shapes);
    for (int i = 0; i < s->n; i++)
        if (!kept || !is_same(&s->list[i], &s->list[kept - 1]))
            s->list[kept++] = s->list[i];
    s->n = kept;
    return SS_OK;
}

/* ---- plan ---- */

static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

/* Steps of the golden section visit a sorted list evenly, however early they end. */
static int stride_of(int n)
{
    int stride = (int)(n * 0.6180339887) | 1;

    while (gcd(stride, n) != 1)
        stride++;
    return stride;
}

static void plan_put(struct probe_plan *p, int kind, long bytes)
{
    p->items[p->n++] = (struct probe_item){.kind = kind, .bytes = bytes};
}

/* Shape by shape in all precisions: a run that is cut short has some of each. */
static void plan_gemms(struct probe_plan *p, const struct shapes *s, int gemms, unsigned precisions)
{
    int stride = stride_of(s->n), taken[SS_PRECISION_COUNT] = {0};

    for (long i = 0; i < s->n; i++) {
        const struct shape *at = &s->list[i * stride % s->n];
        struct probe_item item = {.kind = PROBE_GEMM, .pass = at->pass, .m = at->m, .n = at->n, .k = at->k};
        for (int q = 0; q < SS_PRECISION_COUNT; q++) {
            if (!(precisions & 1U << q) || (q == SS_FP8 && !at->fp8) || (gemms && taken[q] == gemms))
                continue;
            item.precision = q;
            p->items[p->n++] = item;
            taken[q]++;
        }
    }
}

int probe_plan_build(int gemms, unsigned precisions, struct probe_plan *out, struct ss_error *err)
{
    struct shapes s = {0};
    int rc = shapes_collect(&s, err);

    memset(out, 0, sizeof *out);
    if (!rc && !s.n)
        rc = ss_fail(err, SS_ERR_INPUT, NULL, 0, "no model in workloads/models");
    if (!rc && !(out->items = ss_calloc((size_t)s.n * SS_PRECISION_COUNT + 32, sizeof *out->items)))
        rc = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    if (!rc) {
        plan_put(out, PROBE_LAUNCH, 0);
        plan_put(out, PROBE_ISSUE, 0);
        for (long bytes = 1L << 16; bytes <= 1L << 32; bytes *= 4)
            plan_put(out, PROBE_COPY, bytes);
        for (long bytes = 1L << 26; bytes <= 1L << 28; bytes *= 4)
            plan_put(out, PROBE_H2D, bytes);
        plan_gemms(out, &s, gemms, precisions);
    }
    free(s.list);
    return rc;
}

void probe_plan_free(struct probe_plan *plan)
{
    free(plan->items);
    plan->items = NULL;
}
