/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of the plan: one for each process group, or for each class of equal groups, with all classes
 * that take part. */
#include <assert.h>

#include "base/arena.h"
#include "base/base.h"
#include "base/stats.h"
#include "plan/matrix.h"
#include "plan/plan_internal.h"

int ss_plan_collective_add(struct ss_plan_builder *b, const struct ss_collective_spec *spec,
                           const int *members, int nmembers, int nflows, int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_collective *c;
    if (ss_grow(&plan->collectives, &b->cap_collectives, (size_t)plan->ncollectives + 1, sizeof *c) != 0)
        return ss_nomem(err);
    c = &plan->collectives[plan->ncollectives];
    memset(c, 0, sizeof *c);
    *index = plan->ncollectives++;
    ss_copy(c->name, sizeof c->name, spec->name);
    c->role = spec->role;
    c->label = ss_comm_facts(spec->comm)->label;
    c->kind = spec->role == SS_ROLE_OFFLOAD || spec->role == SS_ROLE_LAUNCH ? 0 : spec->kind + 1;
    c->bytes = spec->bytes;
    c->part = spec->part > 0 ? spec->part : 1;
    c->sm_share = spec->sm_share;
    const size_t flows = (size_t)nflows * sizeof *c->phases[0].flows,
                 ints = (size_t)nmembers * sizeof *c->members;
    struct ss_arena arena = {plan->parts};
    c->phases = ss_arena_take(&arena, sizeof *c->phases + flows + ints,
                              _Alignof(struct ss_flow_phase)); /* flows and members lie behind the phase */
    plan->parts = arena.blocks;
    SS_NEED(c->phases, err);
    *c->phases = (struct ss_flow_phase){0};
    c->nphases = 1;
    c->phases[0].latency = spec->seconds;
    c->phases[0].flows = nflows ? (struct ss_flow *)(c->phases + 1) : NULL;
    c->members = (int *)((char *)(c->phases + 1) + flows);
    memcpy(c->members, members, ints);
    c->nmembers = nmembers;
    return SS_OK;
}

void ss_plan_flow_add(struct ss_plan_builder *b, int collective, int path, double bytes)
{
    struct ss_flow_phase *phase = &b->plan->collectives[collective].phases[0];
    phase->flows[phase->nflows].path = path;
    phase->flows[phase->nflows++].bytes = bytes;
}

int ss_plan_list_add(int **list, int *n, int value, struct ss_error *err)
{
    int *grown = realloc(*list, (size_t)(*n + 1) * sizeof **list);
    SS_NEED(grown, err);
    *list = grown;
    grown[(*n)++] = value;
    return SS_OK;
}

int ss_plan_group_classes(const struct ss_plan_builder *b, int cls, int comm, struct ss_class_list *out,
                          struct ss_error *err)
{
    const struct ss_plan *plan = b->plan;
    int n, runs = 0, sorted = 1, *of = b->members;
    ss_comm_members(plan, comm, plan->classes[cls].representative, of, &n);
    for (int i = 0; i < n; i++) { /* usually all ranks are of one class */
        int own = plan->class_of[of[i]];
        if (runs && own == of[runs - 1])
            continue;
        sorted &= runs == 0 || own > of[runs - 1];
        of[runs++] = own;
    }
    if (!sorted)
        ss_sort_int(of, (size_t)runs);
    n = runs;
    out->n = 0;
    for (int i = 0; i < n; i++)
        if (i == 0 || of[i] != of[out->n - 1])
            of[out->n++] = of[i];
    out->cls = malloc((size_t)out->n * sizeof *out->cls);
    SS_NEED(out->cls, err);
    memcpy(out->cls, of, (size_t)out->n * sizeof *out->cls);
    return SS_OK;
}

/* ---- flows ---- */

/* Returns whether the path is known already: a flow that is like another member's stands for both. */
static int known_flow(const struct ss_plan_builder *b, int index, int path)
{
    const struct ss_flow_phase *phase = &b->plan->collectives[index].phases[0];
    for (int i = 0; i < phase->nflows && !b->plan->unfolded; i++)
        if (phase->flows[i].path == path)
            return 1;
    return 0;
}

/* An algorithm, and the links as it sees them. */
struct lowered {
    const struct ss_collective_spec *spec;
    const struct ss_collective_algorithm *algorithm;
    struct ss_net net;
    struct ss_group_shape shape;
};

/* Returns the bytes that take as long at NCCL's rate, where user buffers drive the link at another rate. */
static double link_bytes(const struct lowered *l, double bytes)
{
    return (l->spec->user_buffers > 0 ? bytes / l->spec->user_buffers : bytes) * l->spec->part;
}

/* Returns the part of a hop's bytes that its j-th flow, to rank `to`, carries. */
static double flow_part(const struct ss_plan_builder *b, int rank, const struct lowered *l, int hop, int j,
                        int to)
{
    if (ss_is_uneven(&l->shape))
        return ss_groups_amount(&b->groups, hop, ss_way_of(l->spec->kind), rank, to);
    return l->algorithm->part ? l->algorithm->part(&l->shape, j) : 1;
}

/* Adds a flow; nothing goes to a rank whose experts nobody chooses. */
static void add_flow(struct ss_plan_builder *b, int index, int path, double bytes)
{
    if (bytes > 0)
        ss_plan_flow_add(b, index, path, bytes);
}

/* Adds the flows of one rank, side by side. */
static int rank_flows(struct ss_plan_builder *b, int rank, const struct lowered *l, int index,
                      struct ss_error *err)
{
    int comm = l->spec->comm, path, local = ss_groups_local(&b->groups, comm, rank);
    size_t flow = (size_t)ss_symmetry_at(&b->routes.symmetry, rank) * (size_t)b->routes.nkinds;
    struct ss_collective_flows flows =
        l->algorithm->flows(&l->net, l->spec->kind, l->spec->bytes, &l->shape, local);
    b->plan->collectives[index].phases[0].latency = flows.latency * l->spec->part; /* equal for all members */
    const unsigned hops = ss_algorithm_hops(l->algorithm, l->net.mesh);
    for (int hop = 0; hop < SS_HOP_COUNT; hop++)
        for (int j = 0; j < b->routes.width[comm][hop] && hops & SS_HOP_BIT(hop); j++) {
            SS_TRY(ss_plan_path_at(b, flow + (size_t)(b->routes.hop[comm][hop] + j), &path, err));
            if (path >= 0 && flows.bytes[hop] > 0 && !known_flow(b, index, path))
                add_flow(b, index, path,
                         link_bytes(l, flows.bytes[hop]) *
                             flow_part(b, rank, l, hop, j,
                                       b->routes.to[flow + (size_t)(b->routes.hop[comm][hop] + j)]));
        }
    return SS_OK;
}

/* Adds the flows of a class: all its ranks have equal flows, except the odd ranks. */
static int member_flows(struct ss_plan_builder *b, int cls, const struct lowered *l, int index,
                        struct ss_error *err)
{
    int rc = rank_flows(b, b->plan->classes[cls].representative, l, index, err);
    for (int i = 0; i < b->nodd && !rc; i++)
        if (b->plan->class_of[b->odd[i]] == cls)
            rc = rank_flows(b, b->odd[i], l, index, err);
    return rc;
}

static int add_flows(struct ss_plan_builder *b, const struct lowered *l, const struct ss_class_list *classes,
                     int *index, struct ss_error *err)
{
    int most = 0;
    for (int hop = 0; hop < SS_HOP_COUNT; hop++)
        most += b->routes.width[l->spec->comm][hop];
    int rc = ss_plan_collective_add(b, l->spec, classes->cls, classes->n, most * (classes->n + b->nodd),
                                    index, err);
    for (int i = 0; i < classes->n && !rc; i++)
        rc = member_flows(b, classes->cls[i], l, *index, err);
    return rc;
}

/* Adds a collective with the flows of another one of the same classes. */
static int copy_flows(struct ss_plan_builder *b, const struct ss_collective_spec *spec, int of, int *index,
                      struct ss_error *err)
{
    const int n = b->plan->collectives[of].phases[0].nflows;
    const struct ss_collective like = b->plan->collectives[of];
    SS_TRY(ss_plan_collective_add(b, spec, like.members, like.nmembers, n, index, err));
    struct ss_flow_phase *phase = &b->plan->collectives[*index].phases[0];
    phase->latency = like.phases[0].latency;
    phase->nflows = n;
    if (n)
        memcpy(phase->flows, like.phases[0].flows, (size_t)n * sizeof *phase->flows);
    return SS_OK;
}

/* A collective with the flows of a bucket, among the last ones; -1: there is none. */
static int bucket_like(const struct ss_plan_builder *b, int cls, const struct ss_collective_spec *spec)
{
    for (int i = 0; i < b->nflows && i < SS_LAST_BUCKETS; i++) {
        const struct ss_bucket_flows *f = &b->flows[i];
        if (f->bytes == spec->bytes && f->cls == cls && f->comm == spec->comm && f->kind == spec->kind)
            return f->index;
    }
    return -1;
}

int ss_plan_bucket_add(struct ss_plan_builder *b, int cls, const struct ss_collective_spec *spec,
                       const struct ss_class_list *classes, int *index, struct ss_error *err)
{
    const int like = bucket_like(b, cls, spec);

    if (like >= 0)
        return copy_flows(b, spec, like, index, err);
    SS_TRY(ss_plan_group_collective_add(b, cls, spec, classes, index, err));
    b->flows[b->nflows++ % SS_LAST_BUCKETS] =
        (struct ss_bucket_flows){cls, spec->comm, spec->kind, *index, spec->bytes};
    return SS_OK;
}

int ss_plan_group_collective_add(struct ss_plan_builder *b, int cls, const struct ss_collective_spec *spec,
                                 const struct ss_class_list *classes, int *index, struct ss_error *err)
{
    struct lowered l = {.spec = spec, .net = b->net};
    struct ss_class_list found = {0};
    int rc = classes ? SS_OK : ss_plan_group_classes(b, cls, spec->comm, &found, err);
    if (rc)
        return rc;
    classes = classes ? classes : &found;
    if (spec->seconds >= 0) {
        rc = ss_plan_collective_add(b, spec, classes->cls, classes->n, 0, index, err);
    } else {
        l.shape = ss_groups_shape(&b->groups, spec->comm, b->plan->classes[cls].representative);
        ss_net_user_buffers(&l.net, spec->user_buffers);
        ss_net_beside(&l.net, spec->kind, spec->bytes, &l.shape, spec->beside);
        l.algorithm = ss_collective_choose(&l.net, spec->kind, spec->bytes, &l.shape);
        /* otherwise it would have no hops */
        assert(ss_comm_kinds(b->plan, spec->comm) & SS_COLL_BIT(spec->kind));
        rc = add_flows(b, &l, classes, index, err);
    }
    free(found.cls);
    return rc;
}
