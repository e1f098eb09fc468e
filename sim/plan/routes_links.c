/* SPDX-License-Identifier: Apache-2.0 */
/* Links as flows see them: the links of the platform, some of them slow or failed, and the ports of GPUs. */
#include "base/base.h"
#include "plan/routes.h"

double ss_link_efficiency(const struct ss_plan *plan, int kind)
{
    const struct ss_card *card = ss_platform_card(plan->platform);
    return kind == SS_LINK_FABRIC ? card->fabric_efficiency : card->nic_efficiency;
}

void ss_routes_link(const struct ss_plan *plan, const struct ss_routes *r, int link, struct ss_link *out)
{
    if (link < r->nplatform) {
        ss_platform_link(plan->platform, link, out);
    } else {
        int gpus = ss_platform_gpus_per_node(plan->platform), gpu = (link - r->nplatform) / 2;
        snprintf(out->name, sizeof out->name, "%ss-%d-%d.%s", ss_platform_fabric_word(plan->platform),
                 gpu / gpus, gpu % gpus, (link - r->nplatform) % 2 ? "down" : "up");
        out->kind = SS_LINK_FABRIC;
        out->latency = 0;
    }
    out->bandwidth = r->bandwidth[ss_symmetry_link_at(&r->symmetry, link)];
}

/* The build at hand. */
struct build {
    const struct ss_plan *plan;
    struct ss_routes *r;
    struct ss_error *err;
    int gpus, mesh;
};

/* Returns whether the link has the name: "nic-3-0" names "nic-3-0.up" and "nic-3-0.down". */
static int named(const char *link, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(link, name, n) && (!link[n] || !strcmp(link + n, ".up") || !strcmp(link + n, ".down"));
}

#define LEAST_BANDWIDTH 1.0 /* 0 is a link that failed */

static int slow_link(const struct build *b, int i, double factor)
{
    double *bandwidth = &b->r->bandwidth[i];
    struct ss_link link;
    if (factor > 0 && *bandwidth > 0 && *bandwidth / factor < LEAST_BANDWIDTH) {
        ss_routes_link(b->plan, b->r, i, &link);
        return ss_fail(b->err, SS_ERR_CONFIG, NULL, 0, "the link %s is slowed to less than %g bytes a second",
                       link.name, LEAST_BANDWIDTH);
    }
    *bandwidth = factor > 0 ? *bandwidth / factor : 0;
    return SS_OK;
}

/* Slows the links of a port. In a mesh a port stands for all links of its GPU in its direction. */
static int slow_port(const struct build *b, int port, double factor)
{
    int gpu = (port - b->r->nplatform) / 2, down = (port - b->r->nplatform) % 2, rc = SS_OK;
    for (int i = 0, other = gpu / b->gpus * b->gpus; i < b->gpus && !rc; i++, other++) {
        struct ss_route way;
        if (other == gpu)
            continue;
        ss_platform_route(b->plan->platform, down ? other : gpu, down ? gpu : other, &way);
        rc = slow_link(b, way.link[0], factor);
    }
    return rc;
}

static int slow_down(const struct build *b, const struct ss_slow_link *slow)
{
    int found = 0, rc = SS_OK;
    for (int i = 0; i < b->r->nlinks && !rc; i++) {
        struct ss_link link;
        ss_routes_link(b->plan, b->r, i, &link);
        if (!named(link.name, slow->name))
            continue;
        rc = b->mesh && i >= b->r->nplatform ? slow_port(b, i, slow->factor) : slow_link(b, i, slow->factor);
        found = 1;
    }
    if (rc)
        return rc;
    if (found)
        return SS_OK;
    return ss_fail(
        b->err, SS_ERR_CONFIG, NULL, 0,
        "the platform has no link '%s' to slow down" SS_HINT
        "links of our platforms are named %s-NODE-GPU, nic-NODE-NIC and uplink-LEAF-RAIL%s",
        slow->name, ss_platform_fabric_word(b->plan->platform),
        ss_platform_joined_nodes(b->plan->platform) > 1
            ? "; NODE is a domain of the fabric here, and GPU and NIC count through all of its nodes"
            : "");
}

int ss_routes_make_links(const struct ss_plan *plan, const struct ss_net *net,
                         const struct ss_plan_options *options, struct ss_routes *r, struct ss_error *err)
{
    const struct build b = {plan, r, err, ss_platform_gpus_per_node(plan->platform),
                            ss_platform_is_mesh(plan->platform)};
    double eff[SS_LINK_KIND_COUNT];
    int rc = SS_OK;
    for (int k = 0; k < SS_LINK_KIND_COUNT; k++)
        eff[k] = ss_link_efficiency(plan, k);
    r->nplatform = ss_platform_link_count(plan->platform);
    r->nlinks = r->symmetry.nlinks;
    r->slow = options->nslow_links > 0;
    r->bandwidth = malloc((size_t)r->nlinks * sizeof *r->bandwidth);
    r->inner = ss_calloc((size_t)r->nlinks, 1);
    SS_NEED(r->bandwidth && r->inner, err);
    for (int i = 0; i < r->nlinks; i++) {
        int kind, link = ss_symmetry_link(&r->symmetry, i);
        if (link >= r->nplatform) {
            r->bandwidth[i] = net->fabric_busbw;
            continue;
        }
        ss_platform_link_facts(plan->platform, link, &kind, &r->bandwidth[i]);
        r->bandwidth[i] *= eff[kind];
        r->inner[i] = kind == SS_LINK_UPLINK || kind == SS_LINK_OTHER;
    }
    for (int i = 0; i < options->nslow_links && !rc; i++)
        rc = slow_down(&b, &options->slow_links[i]);
    return rc;
}
