/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a platform and answers for it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

static int read_zone(struct ss_platform *p, const struct ss_xml_node *root,
                     const struct ss_platform_options *options, struct ss_error *err)
{
    const struct ss_xml_node *zone = root->first_child;
    struct ss_card_files cards = {0};
    struct ss_props props = {.files = &cards};
    struct ss_index ix = {0};
    bool cluster = ss_tag_is(zone, "cluster");
    int status =
        ss_props_read(&props, zone, SS_AT_ROOT | SS_AT_ZONE | (cluster ? SS_AT_HOST : 0), p->file, err);

    if (status == SS_OK)
        status = ss_index_build(&ix, root, p->file, err);
    if (status == SS_OK)
        status = ss_refs_check(&ix, root, p->file, err);
    if (status == SS_OK && props.value[SS_PROP_TEMPLATE].text == NULL)
        status = ss_foreign_read(p, root, &ix, &props, options, err);
    else if (status == SS_OK)
        status = ss_template_read(p, zone, &props, options != NULL ? options->nodes : 0, err);
    ss_index_free(&ix);
    ss_card_files_free(&cards);
    return status;
}

int ss_platform_from_document(const struct ss_xml *doc, const char *name,
                              const struct ss_platform_options *options, int depth, struct ss_platform **out,
                              struct ss_error *err)
{
    struct ss_platform *p;
    int status;

    if (options != NULL && (options->nodes < 0 || options->nodes > SS_MAX_GPUS))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%d nodes; 1 to %d are possible", options->nodes,
                       SS_MAX_GPUS);
    if (ss_variant_is(ss_xml_root(doc)))
        return ss_variant_read(ss_xml_root(doc), name, options, depth, out, err);
    p = ss_calloc(1, sizeof(*p));
    if (p == NULL)
        return ss_fail(err, SS_ERR_NOMEM, name, 0, "out of memory");
    if (!ss_copy(p->file, sizeof(p->file), name)) {
        ss_platform_free(p);
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "a file name of more than %zu characters",
                       sizeof(p->file) - 1);
    }
    ss_platform_base_name(name, p->name, sizeof(p->name));
    status = ss_schema_check(ss_xml_root(doc), p->file, err);
    if (status == SS_OK)
        status = read_zone(p, ss_xml_root(doc), options, err);
    if (status != SS_OK) {
        ss_platform_free(p);
        return status;
    }
    *out = p;
    return SS_OK;
}

static int from_document(const struct ss_xml *doc, const char *name,
                         const struct ss_platform_options *options, struct ss_platform **out,
                         struct ss_error *err)
{
    struct ss_platform *p;
    int status = ss_platform_from_document(doc, name, options, 0, &p, err);

    if (status == SS_OK && options != NULL)
        status = ss_variant_take_gpus(p, options->gpus_per_node, err);
    else if (status != SS_OK)
        return status;
    if (status != SS_OK) {
        ss_platform_free(p);
        return status;
    }
    *out = p;
    return SS_OK;
}

int ss_platform_parse(const char *text, size_t len, const char *name,
                      const struct ss_platform_options *options, struct ss_platform **out,
                      struct ss_error *err)
{
    struct ss_xml *doc = NULL;
    int status = ss_xml_parse(text, len, name, &doc, err);

    if (status == SS_OK)
        status = from_document(doc, name, options, out, err);
    ss_xml_free(doc);
    return status;
}

int ss_platform_load(const char *name_or_path, const struct ss_platform_options *options,
                     struct ss_platform **out, struct ss_error *err)
{
    char path[4096];
    struct ss_xml *doc = NULL;
    int status = ss_data_find("platforms", name_or_path, ".xml", path, sizeof(path), err);

    if (status == SS_OK)
        status = ss_xml_load(path, &doc, err);
    if (status == SS_OK && options != NULL)
        status = ss_files_add(options->files, path, err);
    if (status == SS_OK)
        status = from_document(doc, path, options, out, err);
    ss_xml_free(doc);
    return status;
}

void ss_platform_free(struct ss_platform *p)
{
    if (p == NULL)
        return;
    ss_foreign_free(p->foreign);
    free(p->assumed);
    free(p);
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

int ss_platform_nodes(const struct ss_platform *p)
{
    return p->nodes;
}

int ss_platform_gpus_per_node(const struct ss_platform *p)
{
    return p->gpus_per_node;
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

/* Of a mesh: to all neighbours together. */
double ss_platform_nvlink_bandwidth(const struct ss_platform *p)
{
    if (p->foreign != NULL)
        return ss_foreign_bandwidth(p, SS_LINK_NVLINK);
    return p->bandwidth[SS_LINK_NVLINK] * (p->template_kind == SS_TEMPLATE_MESH ? p->gpus_per_node - 1 : 1);
}

const char *ss_platform_assumed(const struct ss_platform *p)
{
    return p->assumed != NULL ? p->assumed : "";
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

/* ---- what-ifs ---- */

static int link_kind(int prop)
{
    return ss_link_kind_of(ss_prop_at(prop)->id + 3, NULL);
}

static void set_foreign_latency(struct ss_foreign *f, int kind, double value)
{
    for (long r = 0; r < (long)f->ngpus * f->ngpus; r++)
        for (int i = 0; i < f->routes[r].nlinks; i++) {
            const struct ss_foreign_link *link = &f->links[f->pool[f->routes[r].first + i]];

            if (link->kind == kind)
                f->routes[r].latency += value - link->latency;
        }
    for (int i = 0; i < f->nlinks; i++)
        if (f->links[i].kind == kind)
            f->links[i].latency = value;
}

static void set_links(struct ss_platform *p, int prop, double value)
{
    int kind = link_kind(prop), is_bandwidth = ss_prop_at(prop)->unit == SS_UNIT_BANDWIDTH;
    struct ss_foreign *f = p->foreign;

    if (f == NULL) {
        (is_bandwidth ? p->bandwidth : p->latency)[kind] = value;
        ss_template_derive(p);
    } else if (!is_bandwidth) {
        set_foreign_latency(f, kind, value);
    } else {
        for (int i = 0; i < f->nlinks; i++)
            if (f->links[i].kind == kind)
                f->links[i].bandwidth = value;
    }
}

/* Of a foreign platform the first GPU's way to its neighbour says the bandwidth, its first link the latency. */
static double get_links(const struct ss_platform *p, int prop)
{
    int kind = link_kind(prop), is_bandwidth = ss_prop_at(prop)->unit == SS_UNIT_BANDWIDTH;

    if (p->foreign == NULL)
        return (is_bandwidth ? p->bandwidth : p->latency)[kind];
    if (is_bandwidth)
        return ss_foreign_bandwidth(p, kind);
    for (int i = 0; i < p->foreign->nlinks; i++)
        if (p->foreign->links[i].kind == kind)
            return p->foreign->links[i].latency;
    return 0;
}

static int set_fabric(struct ss_platform *p, int prop, double value, struct ss_error *err)
{
    if (p->foreign != NULL)
        return ss_fail(err, SS_ERR_INPUT, p->file, 0, "%s is a value of platforms with ss.template",
                       ss_prop_at(prop)->id);
    if (prop == SS_PROP_OVERSUBSCRIPTION)
        p->oversubscription = value;
    else
        p->nodes_per_leaf = (int)value;
    ss_template_derive(p);
    return SS_OK;
}

/* What stands behind a card's name in a model's: "H100-SXM5", "A100-80GB", but no "A100-PCIE" and no "H20-3e". */
static int is_plain_suffix(const char *at)
{
    if (*at != '-')
        return !isalnum((unsigned char)*at);
    size_t digits = strspn(at + 1, "0123456789");
    return strncmp(at + 1, "SXM", 3) == 0 || (digits > 0 && !isalnum((unsigned char)at[1 + digits])) ||
           strncmp(at + 1 + digits, "GB", 2) == 0;
}

int ss_card_is_named(const char *model, const char *card)
{
    static const char *const others[] = {"PCIe", "PCIE", "NVL"};
    size_t n = strcspn(card, "-");

    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++)
        if (strstr(model, others[i]) && !strstr(card, others[i]))
            return 0;
    for (const char *at = model; n && *at; at++)
        if (strncmp(at, card, n) == 0 && (at == model || !isalnum((unsigned char)at[-1])) &&
            is_plain_suffix(at + n))
            return 1;
    return 0;
}

static int unknown_prop(const char *id, struct ss_error *err)
{
    if (strncmp(id, "ss.", 3) == 0)
        return ss_prop_unknown(id, NULL, 0, err);
    return ss_hint(err, ss_fail(err, SS_ERR_INPUT, NULL, 0, "unknown prop \"%.200s\"", id),
                   "props of a platform start with \"ss.\"");
}

int ss_platform_put(struct ss_platform *p, int prop, double value, struct ss_error *err)
{
    switch (ss_prop_at(prop)->owner) {
    case SS_OF_CLUSTER: return set_fabric(p, prop, value, err);
    case SS_OF_LINK: set_links(p, prop, value); return SS_OK;
    default: ss_prop_put(prop, &p->card, value); return SS_OK;
    }
}

int ss_platform_set(struct ss_platform *p, const char *id, const char *value, struct ss_error *err)
{
    int prop = ss_prop_find(id, SS_OF_PLATFORM), status;
    double number;

    if (prop < 0)
        return unknown_prop(id, err);
    if (!ss_prop_is_settable(prop))
        return ss_hint(err, ss_fail(err, SS_ERR_INPUT, NULL, 0, "%s cannot be set", id),
                       "it is the shape of the platform; edit the file");
    status = ss_prop_parse(prop, value, NULL, 0, &number, err);
    return status != SS_OK ? status : ss_platform_put(p, prop, number, err);
}

double ss_platform_get(const struct ss_platform *p, int prop)
{
    switch (ss_prop_at(prop)->owner) {
    case SS_OF_CARD: return ss_prop_get(prop, &p->card);
    case SS_OF_LINK: return get_links(p, prop);
    case SS_OF_CLUSTER: return prop == SS_PROP_OVERSUBSCRIPTION ? p->oversubscription : p->nodes_per_leaf;
    default: return prop == SS_PROP_GPUS_PER_NODE ? p->gpus_per_node : p->nics_per_node;
    }
}

/* ---- hash ---- */

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
