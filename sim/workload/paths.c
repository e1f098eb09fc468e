/* SPDX-License-Identifier: Apache-2.0 */
/* Links that flows cross. A rank's own links become its class's; those in the fabric that can limit stay. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "workload/plan_internal.h"

enum { DOWN, UP };

static double link_efficiency(const struct ss_plan *plan, int kind)
{
    const struct ss_card *card = ss_platform_card(plan->platform);
    return kind == SS_LINK_NVLINK ? card->nvlink_efficiency : card->nic_efficiency;
}

static int link_add(struct ss_plan_builder *b, const char *name, int kind, double bandwidth, double latency,
                    int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_link *link;
    if (ss_grow(&plan->links, &b->cap_links, (size_t)plan->nlinks + 1, sizeof *plan->links) != 0)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for links");
    link = &plan->links[plan->nlinks];
    memset(link, 0, sizeof *link);
    ss_copy(link->name, sizeof link->name, name);
    link->kind = kind;
    link->bandwidth = bandwidth;
    link->latency = latency;
    *index = plan->nlinks++;
    return SS_OK;
}

/* The class's own NVLink or NIC, one direction. */
static int class_link(struct ss_plan_builder *b, int cls, int kind, int direction, double bandwidth,
                      double latency, int *index, struct ss_error *err)
{
    static const char *const kinds[SS_LINK_KIND_COUNT] = {"nvlink", "nic", "uplink", "link"};
    int *slot = &b->class_link[(cls * SS_LINK_KIND_COUNT + kind) * 2 + direction];
    char name[64];
    if (*slot < 0) {
        snprintf(name, sizeof name, "class%d.%s.%s", cls, kinds[kind], direction == UP ? "up" : "down");
        int status = link_add(b, name, kind, bandwidth, latency, slot, err);
        if (status)
            return status;
    }
    *index = *slot;
    return SS_OK;
}

static int path_add(struct ss_plan_builder *b, const struct ss_path *path, int *index, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    for (int i = 0; i < plan->npaths; i++) {
        const struct ss_path *p = &plan->paths[i];
        if (p->nlinks == path->nlinks &&
            memcmp(p->link, path->link, (size_t)path->nlinks * sizeof *path->link) == 0 &&
            memcmp(p->weight, path->weight, (size_t)path->nlinks * sizeof *path->weight) == 0) {
            *index = i;
            return SS_OK;
        }
    }
    if (ss_grow(&plan->paths, &b->cap_paths, (size_t)plan->npaths + 1, sizeof *plan->paths) != 0)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for paths");
    plan->paths[plan->npaths] = *path;
    *index = plan->npaths++;
    return SS_OK;
}

int ss_plan_path_ring(struct ss_plan_builder *b, int cls, int link_kind, int *path, struct ss_error *err)
{
    double bandwidth = link_kind == SS_LINK_NVLINK ? b->net.nvlink_busbw : b->net.nic_busbw;
    struct ss_path p;
    memset(&p, 0, sizeof p);
    p.nlinks = 2;
    for (int i = 0; i < 2; i++) {
        int status = class_link(b, cls, link_kind, i == 0 ? UP : DOWN, bandwidth, 0, &p.link[i], err);
        if (status)
            return status;
        p.weight[i] = 1;
    }
    return path_add(b, &p, path, err);
}

/* How many ranks of the sender's class cross this link on the way to the same pipeline rank. */
static double members_on_link(const struct ss_plan *plan, int src, int dst, int link)
{
    int cls = plan->class_of[src], stage = ss_ranks_coordinate(&plan->ranks, dst, SS_AXIS_PP);
    double n = 0;
    for (int r = 0; r < plan->world_size; r++) {
        struct ss_route route;
        int peer;
        if (plan->class_of[r] != cls)
            continue;
        peer = ss_plan_stage_peer(plan, r, stage);
        if (peer == r)
            continue;
        ss_platform_route(plan->platform, r, peer, &route);
        for (int i = 0; i < route.nlinks; i++)
            n += route.link[i] == link;
    }
    return n < 1 ? 1 : n;
}

/* A link inside the fabric. It is left out where it cannot limit: when the NICs of all ranks that cross
 * it together carry no more than it does. */
static int shared_link(struct ss_plan_builder *b, int src, int dst, int platform_link, struct ss_path *path,
                       struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_link link;
    int *slot = &b->shared_link[platform_link], status;
    double members = members_on_link(plan, src, dst, platform_link);
    ss_platform_link(plan->platform, platform_link, &link);
    if (*slot < 0 && members * ss_platform_nic_bandwidth(plan->platform) <= link.bandwidth)
        return SS_OK;
    if (*slot < 0) {
        status = link_add(b, link.name, link.kind, link.bandwidth * link_efficiency(plan, link.kind),
                          link.latency, slot, err);
        if (status)
            return status;
    }
    path->link[path->nlinks] = *slot;
    path->weight[path->nlinks++] = members;
    return SS_OK;
}

int ss_plan_path_between(struct ss_plan_builder *b, int src, int dst, int *path, double *latency,
                         struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_route route;
    struct ss_path p;
    double nics = (double)b->net.gpus_per_node / fmax(1, b->net.nics_per_node);
    memset(&p, 0, sizeof p);
    ss_platform_route(plan->platform, src, dst, &route);
    *latency = 0;
    for (int i = 0; i < route.nlinks; i++) {
        struct ss_link link;
        int end = i == 0 || i == route.nlinks - 1, status;
        ss_platform_link(plan->platform, route.link[i], &link);
        if (end) {
            int cls = plan->class_of[i == 0 ? src : dst], direction = i == 0 ? UP : DOWN;
            status =
                class_link(b, cls, link.kind, direction, link.bandwidth * link_efficiency(plan, link.kind),
                           link.latency, &p.link[p.nlinks], err);
            /* GPUs that share a NIC send through it together. */
            p.weight[p.nlinks++] =
                link.kind == SS_LINK_NIC && nics > 1 ? members_on_link(plan, src, dst, route.link[i]) : 1;
        } else {
            status = shared_link(b, src, dst, route.link[i], &p, err);
        }
        if (status)
            return status;
    }
    *latency = route.latency;
    return path_add(b, &p, path, err);
}

static int p2p_add(struct ss_plan_builder *b, int src, int dst, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    struct ss_p2p_path edge;
    int status;
    memset(&edge, 0, sizeof edge);
    edge.from = plan->class_of[src];
    edge.to = plan->class_of[dst];
    for (int i = 0; i < plan->np2p; i++)
        if (plan->p2p[i].from == edge.from && plan->p2p[i].to == edge.to)
            return SS_OK;
    status = ss_plan_path_between(b, src, dst, &edge.path, &edge.latency, err);
    if (status)
        return status;
    edge.sm_share = 0; /* NCCL sends use one or two channels; they are short beside the compute */
    if (ss_grow(&plan->p2p, &b->cap_p2p, (size_t)plan->np2p + 1, sizeof *plan->p2p) != 0)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for sends");
    plan->p2p[plan->np2p++] = edge;
    return SS_OK;
}

int ss_plan_p2p_build(struct ss_plan_builder *b, struct ss_error *err)
{
    struct ss_plan *plan = b->plan;
    const struct ss_schedule *s = plan->schedule;
    int status = SS_OK;
    for (int v = 0; v + 1 < s->stages * s->chunks && !status; v++) {
        int from = s->virtual_rank[v], to = s->virtual_rank[v + 1];
        for (int c = 0; c < plan->nclasses && !status && from != to; c++) {
            int rank = plan->classes[c].representative;
            if (plan->classes[c].stage == from)
                status = p2p_add(b, rank, ss_plan_stage_peer(plan, rank, to), err);
            else if (plan->classes[c].stage == to)
                status = p2p_add(b, rank, ss_plan_stage_peer(plan, rank, from), err);
            if (!status && plan->classes[c].stage == from &&
                s->stages == 2) /* both neighbours are one rank */
                status = p2p_add(b, ss_plan_stage_peer(plan, rank, to), rank, err);
        }
    }
    return status;
}
