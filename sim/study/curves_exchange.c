/* SPDX-License-Identifier: Apache-2.0 */
/* Curves of DeepEP's exchanges by the SMs that they take, and of NCCL's collectives inside a node. */
#include "base/base.h"
#include "cost/curve.h"
#include "study/curves.h"

enum { HIDDEN, TOKENS, TOP_K, EXPERTS, SMS };

/* Returns the GPUs, in the mean, that have one of a token's experts, which are drawn without regard of the GPU. */
static double copies(const double *s, int gpus)
{
    double none = 1, each = s[EXPERTS] / gpus;

    for (int k = 0; k < (int)s[TOP_K]; k++)
        none *= (s[EXPERTS] - each - k) / (s[EXPERTS] - k);
    return gpus * (1 - (none > 0 ? none : 0));
}

static double seconds(const struct ss_curve_site *site, const double *s, int back)
{
    /* Dispatch has tokens in fp8 with a scale of 128, combine in 16 bit. */
    const struct ss_exchange_call call = {.tokens = s[TOKENS],
                                          .bytes = s[HIDDEN] * (back ? 2 : 1 + 4. / 128),
                                          .copies = copies(s, site->gpus),
                                          .gpus = site->gpus,
                                          .sms = s[SMS]};

    return ss_curve_exchange(site->card, site->fabric, back, &call);
}

static double dispatch(const struct ss_curve_site *site, const double *s)
{
    return seconds(site, s, 0);
}

static double combine(const struct ss_curve_site *site, const double *s)
{
    return seconds(site, s, 1);
}

static const char *check(const struct ss_bench_row *row, const struct ss_card *card, double *s)
{
    (void)card;
    if (strcmp(row->ranks, "1 nodes") != 0)
        return "an exchange of several nodes";
    return s[SMS] >= 1 && s[TOP_K] >= 1 && s[EXPERTS] >= s[TOP_K] ? NULL : SS_BENCH_NO_SIZES;
}

/* ---- NCCL: the shape is the bytes alone ---- */

enum { BYTES, GPUS };
/* GPUs of a node from which on NCCL sums in the switch: rows of 2 and 4 reach what a ring does, 8 of Hopper more than their links carry. */
#define SWITCH 8

static const char *read_collective(const struct ss_bench_row *row, const struct ss_card *card, double *s)
{
    char *end;

    s[BYTES] = strtod(row->shape, &end);
    if (*end || end == row->shape || !(s[BYTES] > 0) || s[BYTES] > 1e12)
        return SS_BENCH_NO_SIZES;
    s[GPUS] = strtod(row->ranks, &end);
    if (strcmp(end, " GPUs") != 0 || s[GPUS] < 2)
        return "ranks and nodes that are not said, or not alike";
    if (!strcmp(row->kind, "all_reduce") && s[GPUS] >= SWITCH && card->nvls_efficiency > 0)
        return "an all-reduce that the switch sums: ss.nvls.efficiency and ss.nvls.latency price it";
    if (!strcmp(row->precision,
                "int8")) /* the table counts 2 bytes an element: with 1 no link was exceeded */
        s[BYTES] /= 2;
    return NULL;
}

static double gather(const struct ss_curve_site *site, const double *s)
{
    return ss_inside_ring(site->card, site->fabric, 1, s[GPUS], s[BYTES]);
}

static double reduce(const struct ss_curve_site *site, const double *s)
{
    return ss_inside_ring(site->card, site->fabric, 2, s[GPUS], s[BYTES]);
}

static double alltoall(const struct ss_curve_site *site, const double *s)
{
    double latency;

    return ss_inside_alltoall(site->card, site->fabric, s[GPUS], s[BYTES], &latency);
}

#define RING                                                                                                 \
    SS_PROP_curve_ring_launch, SS_PROP_curve_ring_step, SS_PROP_curve_ring_small,                            \
        SS_PROP_curve_ring_middle_latency, SS_PROP_curve_ring_middle, SS_PROP_curve_ring_copy
#define ALLTOALL                                                                                             \
    SS_PROP_curve_alltoall_launch, SS_PROP_curve_alltoall_step, SS_PROP_curve_alltoall_small,                \
        SS_PROP_curve_alltoall_middle_latency, SS_PROP_curve_alltoall_middle,                                \
        SS_PROP_curve_alltoall_latency, SS_PROP_curve_alltoall_large, SS_PROP_curve_alltoall_copy
#define COLLECTIVE(word, law, group, ...)                                                                    \
    {                                                                                                        \
        .family = group, .kind = word, .words = "", .more = read_collective, .seconds = law, .prop = {       \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define ROW(name, word)                                                                                      \
    {                                                                                                        \
        .family = word, .kind = word, .words = "hidden tokens topk experts sms", .more = check,              \
        .seconds = name, .prop = {                                                                           \
            SS_PROP_curve_##name##_launch,                                                                   \
            SS_PROP_curve_##name##_token,                                                                    \
            SS_PROP_curve_##name##_copy,                                                                     \
            SS_PROP_curve_##name##_rate,                                                                     \
            SS_PROP_curve_##name##_link                                                                      \
        }                                                                                                    \
    }
const struct ss_bench_curve ss_curves_exchange[] = {ROW(dispatch, "deepep_dispatch"),
                                                    ROW(combine, "deepep_combine"),
                                                    COLLECTIVE("all_gather", gather, "ring", RING),
                                                    COLLECTIVE("reduce_scatter", gather, "ring", RING),
                                                    COLLECTIVE("all_reduce", reduce, "ring", RING),
                                                    COLLECTIVE("alltoall", alltoall, "alltoall", ALLTOALL),
                                                    {0}};
#undef ROW
