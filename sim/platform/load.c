/* SPDX-License-Identifier: Apache-2.0 */
/* From XML to a platform: a template, a user's own file, or a difference: a zone that holds nothing but props, one of
 * them ss.base, is that platform with the other props changed. Any of them may be taken with fewer GPUs a node. */
#include "platform/platform_internal.h"

#define MAX_BASES 8

static bool is_variant(const struct ss_xml_node *root)
{
    const struct ss_xml_node *zone = ss_zone_of(root);

    return ss_tag_is(root, "platform") && zone != NULL && ss_tag_is(zone, "zone") &&
           ss_props_find(zone, SS_PROP_BASE) != NULL;
}

static int check_body(const struct ss_xml_node *zone, const char *file, struct ss_error *err)
{
    if (zone->next != NULL)
        return ss_fail(err, SS_ERR_INPUT, file, zone->next->line,
                       "a second element beside the zone with ss.base");
    for (const struct ss_xml_node *c = zone->first_child; c != NULL; c = c->next) {
        const char *id = ss_xml_attr(c, "id");

        if (!ss_tag_is(c, "prop"))
            return ss_fail(
                err, SS_ERR_INPUT, file, c->line,
                "<%s> in a zone with ss.base" SS_HINT
                "a platform with ss.base holds props only; its nodes and links are those of the base",
                c->tag);
        if (id == NULL || ss_xml_attr(c, "value") == NULL)
            return ss_fail(err, SS_ERR_INPUT, file, c->line, "<prop> needs %s",
                           id == NULL ? "an id" : "a value");
        for (const struct ss_xml_node *p = zone->first_child; p != c; p = p->next)
            if (strcmp(ss_xml_attr(p, "id"), id) == 0)
                return ss_fail(err, SS_ERR_INPUT, file, c->line,
                               "prop \"%s\" is given twice (first in line %d)" SS_HINT "keep one of them", id,
                               p->line);
    }
    return SS_OK;
}

static void set_card(struct ss_platform *p, const struct ss_props *props)
{
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        if (props->value[i].text != NULL)
            ss_prop_put(i, &p->card, props->value[i].number);
    if (props->value[SS_PROP_CARD].text != NULL)
        ss_copy(p->card.name, sizeof(p->card.name), props->value[SS_PROP_CARD].text);
}

static int set_layout(struct ss_platform *p, const struct ss_props *props, bool nodes_given,
                      struct ss_error *err)
{
    const struct ss_prop_value *v = props->value;
    int rc = SS_OK;

    for (int i = SS_PROP_CARD_COUNT; i < SS_PROP_PLATFORM_COUNT && !rc; i++)
        if (v[i].text != NULL && ss_prop_is_settable(i))
            rc = ss_platform_put(p, i, v[i].number, err);
    p->gpus_per_node = (int)ss_props_number(props, SS_PROP_GPUS_PER_NODE, p->gpus_per_node);
    p->nics_per_node = (int)ss_props_number(props, SS_PROP_NICS_PER_NODE, p->nics_per_node);
    p->fabric_nodes = (int)ss_props_number(props, SS_PROP_FABRIC_NODES, p->fabric_nodes);
    if (!nodes_given)
        p->nodes = (int)ss_props_number(props, SS_PROP_NODES, p->nodes);
    if (v[SS_PROP_TEMPLATE].text != NULL)
        p->template_kind =
            strcmp(v[SS_PROP_TEMPLATE].text, "mesh") == 0 ? SS_TEMPLATE_MESH : SS_TEMPLATE_NVSWITCH;
    return rc;
}

/* Takes the words about the base's card out, for another card stands in its place. */
static void drop_card_words(char *words)
{
    char *to = words, id[80];

    for (const char *from = words; *from != 0;) {
        size_t len = strcspn(from, " ");

        snprintf(id, sizeof(id), "ss.%.*s", (int)len, from);
        if (ss_prop_find(id, SS_OF_CARD | SS_OF_STACK) < 0) {
            if (to > words)
                *to++ = ' ';
            memmove(to, from, len);
            to += len;
        }
        from += len;
        from += strspn(from, " ");
    }
    *to = 0;
}

/* A list of its own is the whole list; a card of its own takes the base's words about cards away. */
static int set_assumed(struct ss_platform *p, struct ss_props *props, struct ss_error *err)
{
    struct ss_prop_value *own = &props->value[SS_PROP_ASSUMED];
    char *assumed = NULL;

    if (own->text == NULL && props->value[SS_PROP_CARD_BASE].text == NULL)
        return SS_OK;
    if (own->text == NULL) {
        drop_card_words(p->assumed);
        own->text = p->assumed;
    }
    SS_TRY(ss_props_assumed(props, p->fabric_word, &assumed, err));
    free(p->assumed);
    p->assumed = assumed;
    return SS_OK;
}

/* Everything that the zone says, and the card that it names. */
static int read_difference(struct ss_platform *p, const struct ss_xml_node *zone,
                           const struct ss_platform_options *options, struct ss_error *err)
{
    struct ss_card_files cards = {.read = options != NULL ? options->files : NULL};
    struct ss_props props = {.files = &cards};
    int rc = ss_props_read(&props, zone, SS_AT_ROOT | SS_AT_VARIANT, p->file, err);

    if (!rc && props.value[SS_PROP_CARD_BASE].text != NULL)
        rc = ss_props_card(&props, p->file, zone->line, &p->card, err);
    else if (!rc)
        set_card(p, &props);
    p->has_card = p->has_card || props.value[SS_PROP_CARD].text != NULL;
    if (!rc && (props.value[SS_PROP_LIBRARY].text != NULL || props.value[SS_PROP_CARD_BASE].text != NULL))
        rc = ss_props_library(&props, p, err);
    SS_THEN(rc, ss_props_basis(&props, p, err));
    if (!rc && (props.value[SS_PROP_FABRIC_NAME].text != NULL || props.value[SS_PROP_CARD_BASE].text != NULL))
        rc = ss_props_fabric(&props, p, err);
    SS_THEN(rc, set_layout(p, &props, options != NULL && options->nodes > 0, err));
    SS_THEN(rc, set_assumed(p, &props, err));
    ss_card_files_free(&cards);
    return rc;
}

static int load_base(const struct ss_xml_node *prop, const char *file,
                     const struct ss_platform_options *options, int depth, struct ss_platform **out,
                     struct ss_error *err)
{
    char path[4096];
    struct ss_xml *doc = NULL;
    struct ss_platform_options own = {0};
    struct ss_error why = {0};
    int rc = ss_data_find("platforms", ss_xml_attr(prop, "value"), ".xml", path, sizeof(path), &why);

    if (rc) {
        rc = ss_fail(err, SS_ERR_INPUT, file, prop->line, "ss.base: %s", why.message);
        return why.hint[0] != 0 ? ss_hint(err, rc, "%s", why.hint) : rc;
    }
    if (depth >= MAX_BASES)
        return ss_fail(err, SS_ERR_INPUT, file, prop->line,
                       "more than %d bases one on another" SS_HINT "does a base lead back to this file?",
                       MAX_BASES);
    rc = ss_xml_load(path, &doc, err);
    if (!rc && options != NULL)
        rc = ss_files_add(options->files, path, err);
    if (options != NULL)
        own = *options;
    own.nodes = 0; /* the variant has as many nodes as are asked for, of nodes of its own size */
    SS_THEN(rc, ss_platform_from_document(doc, path, &own, depth + 1, out, err));
    ss_xml_free(doc);
    return rc;
}

static int read_variant(const struct ss_xml_node *root, const char *file,
                        const struct ss_platform_options *options, int depth, struct ss_platform **out,
                        struct ss_error *err)
{
    const struct ss_xml_node *zone = ss_zone_of(root);
    struct ss_platform *p = NULL;
    int nodes = options != NULL ? options->nodes : 0, rc = ss_schema_check_variant(root, file, err);

    SS_THEN(rc, check_body(zone, file, err));
    SS_THEN(rc, load_base(ss_props_find(zone, SS_PROP_BASE), file, options, depth, &p, err));
    if (rc)
        return rc;
    ss_copy(p->file, sizeof(p->file), file);
    ss_platform_base_name(file, p->name, sizeof(p->name));
    if (p->foreign != NULL)
        rc = ss_fail(err, SS_ERR_INPUT, file, zone->line,
                     "ss.base names a file that is no template" SS_HINT "change a copy of that file instead");
    SS_THEN(rc, read_difference(p, zone, options, err));
    if (nodes > 0)
        p->nodes = nodes;
    ss_template_derive(p);
    SS_THEN(rc, ss_template_check_size(
                    p, nodes > 0 && (int64_t)nodes * p->gpus_per_node > SS_MAX_GPUS ? 0 : zone->line, err));
    SS_HAND(rc, p, out, ss_platform_free);
}

/* The words that ask for so many are at fault, and no line of the platform. */
static int wrong_gpus(const struct ss_platform *p, int gpus, struct ss_error *err)
{
    ss_fail(err, SS_ERR_INPUT, NULL, 0, "%d GPUs of nodes that have %d (%s)", gpus, p->gpus_per_node,
            p->name);
    if (err != NULL)
        ss_copy(err->flags, sizeof(err->flags), "--gpus-per-node");
    return ss_hint(err, SS_ERR_INPUT,
                   p->foreign != NULL ? "only a template can be used in part"
                                      : "start fewer processes a node, or take a platform with larger nodes");
}

/* Leaves `gpus` GPUs a node and their share of its NICs; 0 = all. */
static int take_gpus(struct ss_platform *p, int gpus, struct ss_error *err)
{
    int nics;

    if (gpus == 0 || gpus == p->gpus_per_node)
        return SS_OK;
    if (gpus < 0 || gpus > p->gpus_per_node || p->foreign != NULL)
        return wrong_gpus(p, gpus, err);
    nics = p->nics_per_node * gpus / p->gpus_per_node;
    if (p->nics_per_node > 0 && (nics == 0 || gpus % nics != 0))
        nics = 1;
    p->nics_per_node = nics;
    p->gpus_per_node = gpus;
    if (gpus == 1 && p->template_kind == SS_TEMPLATE_MESH) /* a mesh of one has no link */
        p->template_kind = SS_TEMPLATE_NVSWITCH;
    ss_template_derive(p);
    return ss_template_check_size(p, 0, err);
}

int ss_platform_most_joined(const struct ss_platform *p)
{
    int most = p->fabric_nodes, gpus = ss_platform_file_gpus(p);
    return most * gpus > SS_MAX_GPUS_PER_NODE ? SS_MAX_GPUS_PER_NODE / gpus : most;
}

int ss_platform_joins(const struct ss_platform *p, int nodes)
{
    int most = ss_platform_most_joined(p), n = nodes < most ? nodes : most;
    if (most < 2 || nodes < 2)
        return 1;
    while (nodes % n != 0)
        n--;
    return n < nodes && 2 * n < most ? 0 : n;
}

/* Joins the nodes of an NVLink switch into one node, because a node is what NVLink joins: the fewest domains
 * with equally many nodes. Fewer than half of the nodes that the switch could join would mean another
 * cluster. */
static int join_nodes(struct ss_platform *p, struct ss_error *err)
{
    int most = ss_platform_most_joined(p), n = ss_platform_joins(p, p->nodes);

    if (most < 2 || p->nodes < 2)
        return SS_OK;
    if (n == 0)
        return ss_fail(err, SS_ERR_UNSUPPORTED, p->file, 0,
                       "%d nodes do not divide into %s domains of %d to %d nodes each" SS_HINT
                       "domains are taken to be equal: take %d nodes",
                       p->nodes, p->fabric, (most + 1) / 2, most, p->nodes / most * most);
    p->joined = n;
    p->nodes /= n;
    p->gpus_per_node *= n;
    p->nics_per_node *= n;
    p->nodes_per_leaf = p->nodes_per_leaf > n ? p->nodes_per_leaf / n : 1;
    ss_template_derive(p);
    return ss_template_check_size(p, 0, err);
}

/* ---- any platform ---- */

static int read_zone(struct ss_platform *p, const struct ss_xml_node *root,
                     const struct ss_platform_options *options, struct ss_error *err)
{
    const struct ss_xml_node *zone = ss_zone_of(root);
    struct ss_card_files cards = {.read = options != NULL ? options->files : NULL};
    struct ss_props props = {.files = &cards};
    struct ss_index ix = {0};
    bool cluster = ss_tag_is(zone, "cluster");
    int where = SS_AT_ROOT | SS_AT_ZONE | (cluster ? SS_AT_HOST : 0), rc;

    if (ss_props_find(zone, SS_PROP_HOSTS) != NULL) /* the links inside nodes are props too */
        where |= SS_AT_VARIANT;
    rc = ss_props_begin(&props, options != NULL ? options->card : NULL, err);
    SS_THEN(rc, ss_props_read(&props, zone, where, p->file, err));
    p->has_card = !rc && props.value[SS_PROP_CARD].step > props.outside;
    SS_THEN(rc, ss_index_build(&ix, root, p->file, err));
    SS_THEN(rc, ss_refs_check(&ix, root, p->file, err));
    if (!rc && props.value[SS_PROP_TEMPLATE].text == NULL)
        rc = ss_foreign_read(p, root, &ix, &props, options, err);
    else if (!rc)
        rc = ss_template_read(p, zone, &props, options != NULL ? options->nodes : 0, err);
    ss_index_free(&ix);
    ss_card_files_free(&cards);
    return rc;
}

/* Settings of SimGrid's own kernel have no part in a prediction, which takes hosts, links and routes alone. */
static int keep_config(struct ss_platform *p, const struct ss_xml_node *root, struct ss_error *err)
{
    for (const struct ss_xml_node *c = root->first_child; c != NULL; c = c->next)
        for (const struct ss_xml_node *v = ss_tag_is(c, "config") ? c->first_child : NULL; v != NULL;
             v = v->next) {
            char *all = NULL;

            SS_NEED(asprintf(&all, "%s%s%.60s=%.60s", p->untaken != NULL ? p->untaken : "",
                             p->untaken != NULL ? ", " : "", ss_xml_attr(v, "id"),
                             ss_xml_attr(v, "value")) >= 0,
                    err);
            free(p->untaken);
            p->untaken = all;
        }
    return SS_OK;
}

int ss_platform_from_document(const struct ss_xml *doc, const char *name,
                              const struct ss_platform_options *options, int depth, struct ss_platform **out,
                              struct ss_error *err)
{
    struct ss_platform *p;

    if (options != NULL && (options->nodes < 0 || options->nodes > SS_MAX_GPUS))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%d nodes; 1 to %d are possible", options->nodes,
                       SS_MAX_GPUS);
    if (is_variant(ss_xml_root(doc)))
        return read_variant(ss_xml_root(doc), name, options, depth, out, err);
    p = ss_calloc(1, sizeof(*p));
    SS_NEED(p, err);
    if (!ss_copy(p->file, sizeof(p->file), name)) {
        ss_platform_free(p);
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "a file name of more than %zu characters",
                       sizeof(p->file) - 1);
    }
    ss_platform_base_name(name, p->name, sizeof(p->name));
    int rc = ss_schema_check(ss_xml_root(doc), ss_xml_is_known(doc), p->file, err);
    SS_THEN(rc, keep_config(p, ss_xml_root(doc), err));
    SS_THEN(rc, read_zone(p, ss_xml_root(doc), options, err));
    SS_HAND(rc, p, out, ss_platform_free);
}

/* A card that is given beside a file which names one must be that card. */
static int check_card(const struct ss_platform *p, const char *card, struct ss_error *err)
{
    struct ss_card own;
    int rc = ss_card_load(card, &own, err);
    bool same = !rc && strcmp(own.name, p->card.name) == 0;

    for (int i = 0; i < SS_PROP_CARD_COUNT && same; i++)
        same = ss_prop_get(i, &own) == ss_prop_get(i, &p->card);
    if (rc || same)
        return rc;
    return ss_fail(err, SS_ERR_CONFIG, p->file, 0,
                   "the file says its card itself, %s: --card %s is another one" SS_HINT
                   "leave --card out: it is for files that name no card",
                   p->card.name, card);
}

static int from_document(const struct ss_xml *doc, const char *name,
                         const struct ss_platform_options *options, struct ss_platform **out,
                         struct ss_error *err)
{
    struct ss_platform *p;
    int rc = SS_OK;

    SS_TRY(ss_platform_from_document(doc, name, options, 0, &p, err));
    if (options != NULL && options->card != NULL && options->card[0] != 0 && p->has_card)
        rc = check_card(p, options->card, err);
    SS_THEN(rc, take_gpus(p, options != NULL ? options->gpus_per_node : 0, err));
    SS_THEN(rc, join_nodes(p, err));
    SS_HAND(rc, p, out, ss_platform_free);
}

int ss_platform_parse(const char *text, size_t len, const char *name,
                      const struct ss_platform_options *options, struct ss_platform **out,
                      struct ss_error *err)
{
    struct ss_xml *doc = NULL;
    int rc = ss_xml_parse(text, len, name, &doc, err);

    SS_THEN(rc, from_document(doc, name, options, out, err));
    ss_xml_free(doc);
    return rc;
}

int ss_platform_load(const char *name_or_path, const struct ss_platform_options *options,
                     struct ss_platform **out, struct ss_error *err)
{
    char path[4096];
    struct ss_xml *doc = NULL;
    int rc = ss_data_find("platforms", name_or_path, ".xml", path, sizeof(path), err);

    SS_THEN(rc, ss_xml_load(path, &doc, err));
    if (!rc && options != NULL)
        rc = ss_files_add(options->files, path, err);
    SS_THEN(rc, from_document(doc, path, options, out, err));
    ss_xml_free(doc);
    return rc;
}
