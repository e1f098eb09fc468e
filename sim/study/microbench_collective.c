/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what tables of micro-benchmarks say of collectives: operation, size, ranks and nodes; also
 * DeepEP's exchanges. */
#include "base/base.h"
#include "study/calibrate.h"

/* Returns the whole number that ends where `end` points, 0 if there is none. */
static int number_before(const char *text, const char *end)
{
    const char *at = end;

    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at < end && end - at < 7 ? atoi(at) : 0;
}

/* "8 GPU 1 node", "16 GPU 2 nodes", "32 GPU (4 nodes, inferred)", "2 nodes x 1 GPU", "4 GPU groups inside 8-GPU node", "72 GPU"; behind it
 * may stand ", one thread", which issues to all. Nodes 0: not said. */
static int read_group(const char *text, struct ss_group_shape *g)
{
    const char *gpus = strstr(text, " GPU"), *nodes = strstr(text, " node");

    if (!gpus)
        return 0;
    g->n = number_before(text, gpus);
    g->nodes = nodes ? number_before(text, nodes) : 0;
    if (strstr(text, "inside"))
        g->nodes = 1;
    if (strstr(text, " x "))
        g->n *= g->nodes;
    g->per_node = g->nodes ? g->n / g->nodes : 0;
    return g->n >= 2 && (!g->nodes || g->n % g->nodes == 0);
}

/* "1048576", "4KB", "1 GB" and the like in units of 1024, "536870912 B (1 racks)"; "4096x12288 bf16 = 100663296 B total" */
static double read_size(const char *text)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = {{"", 1}, {" B", 1}, {"KB", 1024}, {"MB", 1048576}, {"GB", 1073741824}};
    const char *sum = strstr(text, "= ");
    char *end;
    double size = strtod(sum ? sum + 2 : text, &end);

    for (size_t i = 0; i < SS_ARRAY_LEN(units); i++) {
        size_t n = strlen(units[i].unit);
        if (!strncmp(end, units[i].unit, n) &&
            (!end[n] || !strncmp(end + n, " (", 2) || !strcmp(end + n, " total")))
            return size * units[i].bytes;
    }
    return 0;
}

/* Reads "all_reduce 1048576" or "all-to-all (EP group) 33554432": returns nccl-tests' name, and *rest is the
 * text behind it. */
static int read_operation(const char *shape, const char **rest)
{
    char name[32];
    size_t n = strcspn(shape, " ");

    if (!shape[n] || n >= sizeof name)
        return -1;
    ss_copy(name, n + 1, shape);
    for (char *c = name; *c; c++)
        if (*c == '-')
            *c = '_';
    *rest = shape + n + 1;
    if (**rest == '(')
        *rest += strcspn(*rest, ")") + (strchr(*rest, ')') ? 2 : 0);
    return ss_nccl_kind(!strcmp(name, "all_to_all") ? "alltoall" : name);
}

/* Returns the bytes that nccl-tests count for one member. They are busbw times the time (its
 * PERFORMANCE.md). */
static double bus_bytes(const struct ss_bench_point *p)
{
    double once = p->bytes * (p->group.n - 1) / p->group.n;

    if (p->collective == SS_COLL_RING_STEP)
        return p->bytes;
    return p->collective == SS_COLL_ALL_REDUCE ? 2 * once : once;
}

static const char *set_seconds(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    if (!strncmp(r->unit, "GB/s busbw", 10))
        p->seconds = bus_bytes(p) / (r->value * 1e9);
    else if (!strncmp(r->unit, "GB/s algbw", 10) ||
             (!strcmp(r->unit, "GB/s") && p->collective == SS_COLL_RING_STEP)) /* whose two are the same */
        p->seconds = p->bytes / (r->value * 1e9);
    else if (!strncmp(r->unit, "us", 2) || !strncmp(r->unit, "ms", 2))
        p->seconds = r->value * (r->unit[0] == 'u' ? 1e-6 : 1e-3);
    else
        return strcmp(r->unit, "GB/s") ? SS_BENCH_NO_UNIT : "GB/s that say neither algbw nor busbw";
    return NULL;
}

/* What a benchmark of DeepEP moves where its row does not say: 4,096 tokens, 7,168 wide, top-8 of 256 experts, on nodes of 8,
 * over more than four of them at most four; 24 SMs (deepseek-ai/DeepEP@dd758ca, defaults of tests/legacy/test_internode.py;
 * docs/legacy.md). Tokens of dispatch are in fp8 with a scale for 128, of combine in bf16. Its rates over NVLink count all
 * copies, over NICs all nodes. HybridEP's moves as many tokens to eight experts a rank, in fp8 or bf16, on any of the nodes, in chunks of 128 (its
 * hybrid-ep branch at 83e0d15, docs and tests/test_hybrid_ep.py). */
enum {
    TOKENS = 4096,
    WIDTH = 7168,
    TOP_K = 8,
    EXPERTS = 256,
    NODE = 8,
    MOST_NODES = 4,
    DEEPEP_SMS = 24,
    HYBRIDEP_EXPERTS = 8,
    HYBRIDEP_CHUNK = 128
};

static const char *read_exchange(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    int combine = !strncmp(r->shape, "MoE combine ", 12), hybrid = strstr(r->shape, "HybridEP") != NULL;
    const char *sms = strstr(r->shape, " SMs");

    if (strstr(r->shape, "low-latency"))
        return "kernels of decoding";
    if ((!combine && strncmp(r->shape, "MoE dispatch ", 13) != 0) || strncmp(r->unit, "GB/s (", 6) != 0)
        return "an exchange beside compute, or words that are not known";
    p->group.nodes = p->group.nodes ? p->group.nodes : (p->group.n + NODE - 1) / NODE;
    p->group.per_node = p->group.n / p->group.nodes;
    int limited = p->group.nodes > MOST_NODES && !hybrid;
    int experts = hybrid ? HYBRIDEP_EXPERTS * p->group.n : EXPERTS;
    int wide = combine || (hybrid && !strcmp(r->precision, "bf16"));
    const struct ss_load_input in = {.kind = SS_LOAD_BALANCED,
                                     .experts = experts,
                                     .top_k = TOP_K,
                                     .groups = limited ? p->group.nodes : 0,
                                     .group_topk = limited ? MOST_NODES : 0,
                                     .ep = p->group.n,
                                     .nodes = p->group.nodes,
                                     .tokens = (double)TOKENS * p->group.n};
    struct ss_load_figures load;
    if (p->group.n % p->group.nodes || experts % p->group.n || ss_load_figures(&in, &load, NULL))
        return "ranks that do not divide the experts";
    p->collective = combine ? SS_COLL_COMBINE : SS_COLL_DISPATCH;
    p->fit = 0;
    p->group.spread = (struct ss_token_spread){.nodes = load.remote_nodes, .copies = load.ranks};
    p->sms = sms && number_before(r->shape, sms) ? number_before(r->shape, sms) : DEEPEP_SMS;
    p->tokens = hybrid ? TOKENS : 0;
    p->chunk = HYBRIDEP_CHUNK;
    p->bytes = (double)TOKENS * WIDTH * (wide ? 2 : 1 + 4. / 128);
    p->seconds = p->bytes * (strstr(r->unit, "RDMA") ? load.nodes : load.ranks) / (r->value * 1e9);
    return NULL;
}

const char *ss_bench_collective(const struct ss_bench_row *r, struct ss_bench_point *p)
{
    const char *rest = "";

    p->kind = SS_BENCH_COLLECTIVE;
    if (!read_group(r->ranks, &p->group))
        return "ranks and nodes that are not said, or not alike";
    p->per_thread = strstr(r->ranks, ", one thread") ? p->group.n : 1;
    if (!strncmp(r->shape, "MoE ", 4))
        return read_exchange(r, p);
    p->collective = read_operation(r->shape, &rest);
    if (!strncmp(r->shape, "sendrecv ", 9))
        p->collective = SS_COLL_RING_STEP;
    if (!strncmp(r->shape, "collective-permute ", 19)) { /* "ring 8 4096", "one-way i->i+4 4096" */
        p->collective = SS_COLL_RING_STEP;
        rest = strrchr(r->shape, ' ') + 1;
    }
    if (p->collective < 0)
        return "an operation, or one algorithm of it, that is not modelled";
    p->bytes = read_size(rest);
    if (p->bytes <= 0)
        return "no single size";
    p->algorithm = strstr(r->unit, "(NVLS)")   ? &ss_collective_nvls
                   : strstr(r->unit, "(Ring,") ? &ss_collective_ring
                                               : NULL;
    p->fit = p->group.nodes == 1 && p->bytes >= SS_SMALLEST_MESSAGE && p->collective != SS_COLL_RING_STEP &&
             !strncmp(r->unit, "GB/s busbw", 10);
    return set_seconds(r, p);
}
