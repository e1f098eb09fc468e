/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that a platform answers. */
#include "platform/platform_internal.h"

void ss_platform_base_name(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    size_t len;

    ss_copy(out, size, slash != NULL ? slash + 1 : path);
    len = strlen(out);
    if (len > 4 && strcmp(out + len - 4, ".xml") == 0)
        out[len - 4] = 0;
}

int ss_platform_is_template(const struct ss_platform *p)
{
    return p->foreign == NULL;
}

int ss_platform_copy(const struct ss_platform *p, struct ss_platform **out, struct ss_error *err)
{
    *out = NULL;
    if (p->foreign != NULL)
        return SS_OK;
    struct ss_platform *copy = malloc(sizeof(*copy));
    char *assumed = p->assumed != NULL ? strdup(p->assumed) : NULL;

    if (copy == NULL || (p->assumed != NULL && assumed == NULL)) {
        SS_FREE(copy, assumed);
        return ss_nomem(err);
    }
    *copy = *p;
    copy->assumed = assumed;
    copy->untaken = NULL; /* of a template there is none */
    *out = copy;
    return SS_OK;
}

void ss_platform_free(struct ss_platform *p)
{
    if (p == NULL)
        return;
    ss_foreign_free(p->foreign);
    SS_FREE(p->assumed, p->untaken, p);
}

const char *ss_platform_name(const struct ss_platform *p)
{
    return p->name;
}

const char *ss_platform_file(const struct ss_platform *p)
{
    return p->file;
}

const struct ss_card *ss_platform_card(const struct ss_platform *p)
{
    return &p->card;
}

const struct ss_library *ss_platform_library(const struct ss_platform *p)
{
    return &p->library;
}

const char *ss_platform_library_file(const struct ss_platform *p)
{
    return p->library_file[0] != 0 ? p->library_file : NULL;
}

const char *ss_platform_fabric(const struct ss_platform *p)
{
    return p->fabric;
}

const char *ss_platform_fabric_word(const struct ss_platform *p)
{
    return p->fabric_word;
}

int ss_platform_nodes(const struct ss_platform *p)
{
    return p->nodes;
}

int ss_platform_gpus_per_node(const struct ss_platform *p)
{
    return p->gpus_per_node;
}

int ss_platform_joined_nodes(const struct ss_platform *p)
{
    return p->joined > 0 ? p->joined : 1;
}

int ss_platform_file_nodes(const struct ss_platform *p)
{
    return p->nodes * ss_platform_joined_nodes(p);
}

int ss_platform_file_gpus(const struct ss_platform *p)
{
    return p->gpus_per_node / ss_platform_joined_nodes(p);
}

int ss_platform_nics_per_node(const struct ss_platform *p)
{
    return p->nics_per_node;
}

double ss_platform_nic_bandwidth(const struct ss_platform *p)
{
    if (p->foreign != NULL)
        return ss_foreign_bandwidth(p, SS_LINK_NIC);
    return p->nics_per_node > 0 ? p->bandwidth[SS_LINK_NIC] : 0;
}

int ss_platform_is_mesh(const struct ss_platform *p)
{
    return p->foreign == NULL && p->template_kind == SS_TEMPLATE_MESH;
}

/* In a mesh the sum over all neighbours. */
double ss_platform_fabric_bandwidth(const struct ss_platform *p)
{
    if (p->foreign != NULL)
        return ss_foreign_bandwidth(p, SS_LINK_FABRIC);
    return p->bandwidth[SS_LINK_FABRIC] * (ss_platform_is_mesh(p) ? p->gpus_per_node - 1 : 1);
}

const char *ss_platform_price_basis(const struct ss_platform *p)
{
    return p->price_basis;
}

const char *ss_platform_assumed(const struct ss_platform *p)
{
    return p->assumed != NULL ? p->assumed : "";
}

const char *ss_platform_untaken(const struct ss_platform *p)
{
    return p->untaken != NULL ? p->untaken : "";
}

int ss_platform_leaf_nodes(const struct ss_platform *p)
{
    return p->foreign == NULL && p->nics_per_node > 0 ? p->nodes_per_leaf : 0;
}

int ss_platform_link_count(const struct ss_platform *p)
{
    return p->foreign != NULL ? p->foreign->nlinks : ss_template_link_count(p);
}

void ss_platform_link(const struct ss_platform *p, int index, struct ss_link *out)
{
    const struct ss_foreign_link *link;

    if (p->foreign == NULL) {
        ss_template_link(p, index, out);
        return;
    }
    link = &p->foreign->links[index];
    ss_copy(out->name, sizeof(out->name), link->name);
    out->kind = link->kind;
    out->bandwidth = link->bandwidth;
    out->latency = link->latency;
}

void ss_platform_link_facts(const struct ss_platform *p, int index, int *kind, double *bandwidth)
{
    if (p->foreign != NULL) {
        *kind = p->foreign->links[index].kind;
        *bandwidth = p->foreign->links[index].bandwidth;
        return;
    }
    *kind = ss_template_link_kind(p, index);
    *bandwidth = p->bandwidth[*kind];
}

void ss_platform_route(const struct ss_platform *p, int src, int dst, struct ss_route *out)
{
    const struct ss_foreign_route *route;

    if (p->foreign == NULL) {
        ss_template_route(p, src, dst, out);
        return;
    }
    route = &p->foreign->routes[src * p->foreign->ngpus + dst];
    out->nlinks = route->nlinks;
    out->latency = route->latency;
    for (int i = 0; i < route->nlinks; i++)
        out->link[i] = p->foreign->pool[route->first + i];
}

static uint64_t hash_integer(uint64_t h, uint64_t value)
{
    unsigned char bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    return ss_hash(h, bytes, sizeof(bytes));
}

static uint64_t hash_double(uint64_t h, double value)
{
    uint64_t bits;

    value += 0.0; /* no negative zero */
    memcpy(&bits, &value, sizeof(bits));
    return hash_integer(h, bits);
}

static uint64_t hash_foreign(uint64_t h, const struct ss_foreign *f)
{
    for (int i = 0; i < f->nlinks; i++) {
        h = hash_integer(h, (uint64_t)f->links[i].kind);
        h = hash_double(h, f->links[i].bandwidth);
        h = hash_double(h, f->links[i].latency);
    }
    for (long i = 0; i < (long)f->ngpus * f->ngpus; i++) {
        h = hash_integer(h, (uint64_t)f->routes[i].nlinks);
        h = hash_double(h, f->routes[i].latency);
        for (int k = 0; k < f->routes[i].nlinks; k++)
            h = hash_integer(h, (uint64_t)f->pool[f->routes[i].first + k]);
    }
    return h;
}

uint64_t ss_platform_hash(const struct ss_platform *p)
{
    uint64_t h = ss_hash(SS_HASH_INIT, p->card.name, strlen(p->card.name));

    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        h = hash_double(h, ss_prop_get(i, &p->card));
    if (p->library_file[0] != 0) {
        h = hash_integer(h, p->library.algorithms);
        for (const double *d = &p->library.step; d <= &p->library.direct_most; d++)
            h = hash_double(h, *d);
    }
    h = hash_integer(h, (uint64_t)p->nodes);
    h = hash_integer(h, (uint64_t)p->gpus_per_node);
    h = hash_integer(h, (uint64_t)p->nics_per_node);
    h = hash_integer(h, (uint64_t)p->template_kind);
    if (p->foreign != NULL)
        return hash_foreign(h, p->foreign);
    h = hash_integer(h, (uint64_t)p->nodes_per_leaf);
    h = hash_double(h, p->oversubscription);
    for (int i = 0; i < SS_LINK_KIND_COUNT; i++) {
        h = hash_double(h, p->bandwidth[i]);
        h = hash_double(h, p->latency[i]);
    }
    return h;
}
