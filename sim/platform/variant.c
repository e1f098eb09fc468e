/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Platforms told as a difference: a zone that holds nothing but props, one of them ss.base, is that
 * platform with the other props changed; and a template on fewer GPUs a node than it has.
 */
#include <stdlib.h>
#include <string.h>

#include "platform/platform_internal.h"

#define MAX_BASES 8

static const struct ss_xml_node *base_prop(const struct ss_xml_node *zone)
{
    for (const struct ss_xml_node *c = zone->first_child; c != NULL; c = c->next) {
        const char *id = ss_tag_is(c, "prop") ? ss_xml_attr(c, "id") : NULL;

        if (id != NULL && strcmp(id, ss_prop_at(SS_PROP_BASE)->id) == 0)
            return c;
    }
    return NULL;
}

bool ss_variant_is(const struct ss_xml_node *root)
{
    return ss_tag_is(root, "platform") && root->first_child != NULL && ss_tag_is(root->first_child, "zone") &&
           base_prop(root->first_child) != NULL;
}

static int check_body(const struct ss_xml_node *zone, const char *file, struct ss_error *err)
{
    if (zone->next != NULL)
        return ss_fail(err, SS_ERR_INPUT, file, zone->next->line,
                       "a second element beside the zone with ss.base");
    for (const struct ss_xml_node *c = zone->first_child; c != NULL; c = c->next) {
        const char *id = ss_xml_attr(c, "id");

        if (!ss_tag_is(c, "prop"))
            return ss_hint(
                err, ss_fail(err, SS_ERR_INPUT, file, c->line, "<%s> in a zone with ss.base", c->tag),
                "a platform with ss.base holds props only; its nodes and links are those of the base");
        if (id == NULL || ss_xml_attr(c, "value") == NULL)
            return ss_fail(err, SS_ERR_INPUT, file, c->line, "<prop> needs %s",
                           id == NULL ? "an id" : "a value");
        for (const struct ss_xml_node *p = zone->first_child; p != c; p = p->next)
            if (strcmp(ss_xml_attr(p, "id"), id) == 0)
                return ss_hint(err,
                               ss_fail(err, SS_ERR_INPUT, file, c->line,
                                       "prop \"%s\" is given twice (first in line %d)", id, p->line),
                               "keep one of them");
    }
    return SS_OK;
}

static int set_shape(struct ss_platform *p, int prop, const char *value, int line, struct ss_error *err)
{
    double number;
    int status = ss_prop_parse(prop, value, p->file, line, &number, err);

    if (status != SS_OK)
        return status;
    if (prop == SS_PROP_GPUS_PER_NODE)
        p->gpus_per_node = (int)number;
    else
        p->nics_per_node = (int)number;
    return SS_OK;
}

static int set_words(struct ss_platform *p, int prop, const struct ss_xml_node *node, struct ss_error *err)
{
    const char *value = ss_xml_attr(node, "value");
    struct ss_prop_value text = {.text = value, .line = node->line};
    char *assumed;
    int status;

    if (prop == SS_PROP_CARD) {
        if (value[0] == 0 || !ss_copy(p->card.name, sizeof(p->card.name), value))
            return ss_fail(err, SS_ERR_INPUT, p->file, node->line, "ss.card is a name of 1 to %zu letters",
                           sizeof(p->card.name) - 1);
        return SS_OK;
    }
    if (prop == SS_PROP_TEMPLATE) {
        status = ss_prop_check_word(prop, value, p->file, node->line, err);
        if (status != SS_OK)
            return status;
        p->template_kind = strcmp(value, "mesh") == 0 ? SS_TEMPLATE_MESH : SS_TEMPLATE_NVSWITCH;
        return SS_OK;
    }
    status = ss_props_assumed(&text, p->file, &assumed, err);
    if (status != SS_OK)
        return status;
    free(p->assumed);
    p->assumed = assumed;
    return SS_OK;
}

static int set_one(struct ss_platform *p, const struct ss_xml_node *node, struct ss_error *err)
{
    const char *id = ss_xml_attr(node, "id"), *value = ss_xml_attr(node, "value");
    struct ss_error why = {0};
    int prop = ss_prop_find(id, SS_OF_PLATFORM), status;

    if (strncmp(id, "ss.", 3) != 0 || prop == SS_PROP_BASE)
        return SS_OK;
    if (prop == SS_PROP_GPUS_PER_NODE || prop == SS_PROP_NICS_PER_NODE)
        return set_shape(p, prop, value, node->line, err);
    if (prop == SS_PROP_CARD || prop == SS_PROP_TEMPLATE || prop == SS_PROP_ASSUMED)
        return set_words(p, prop, node, err);
    status = ss_platform_set(p, id, value, &why);
    if (status == SS_OK)
        return SS_OK;
    status = ss_fail(err, status, p->file, node->line, "%s", why.message);
    return why.hint[0] != 0 ? ss_hint(err, status, "%s", why.hint) : status;
}

static int load_base(const struct ss_xml_node *prop, const char *file,
                     const struct ss_platform_options *options, int depth, struct ss_platform **out,
                     struct ss_error *err)
{
    char path[4096];
    struct ss_xml *doc = NULL;
    struct ss_error why = {0};
    int status = ss_data_find("platforms", ss_xml_attr(prop, "value"), ".xml", path, sizeof(path), &why);

    if (status != SS_OK) {
        status = ss_fail(err, SS_ERR_INPUT, file, prop->line, "ss.base: %s", why.message);
        return why.hint[0] != 0 ? ss_hint(err, status, "%s", why.hint) : status;
    }
    if (depth >= MAX_BASES)
        return ss_hint(
            err, ss_fail(err, SS_ERR_INPUT, file, prop->line, "more than %d bases one on another", MAX_BASES),
            "does a base lead back to this file?");
    status = ss_xml_load(path, &doc, err);
    if (status == SS_OK && options != NULL)
        status = ss_files_add(options->files, path, err);
    if (status == SS_OK)
        status = ss_platform_from_document(doc, path, options, depth + 1, out, err);
    ss_xml_free(doc);
    return status;
}

int ss_variant_read(const struct ss_xml_node *root, const char *file,
                    const struct ss_platform_options *options, int depth, struct ss_platform **out,
                    struct ss_error *err)
{
    const struct ss_xml_node *zone = root->first_child;
    struct ss_platform *p = NULL;
    int status = check_body(zone, file, err);

    if (status == SS_OK)
        status = load_base(base_prop(zone), file, options, depth, &p, err);
    if (status != SS_OK)
        return status;
    ss_copy(p->file, sizeof(p->file), file);
    ss_platform_base_name(file, p->name, sizeof(p->name));
    if (p->foreign != NULL)
        status = ss_hint(
            err, ss_fail(err, SS_ERR_INPUT, file, zone->line, "ss.base names a file that is no template"),
            "change a copy of that file instead");
    for (const struct ss_xml_node *c = zone->first_child; c != NULL && status == SS_OK; c = c->next)
        status = set_one(p, c, err);
    ss_template_derive(p);
    if (status == SS_OK)
        status = ss_template_check_size(p, zone->line, err);
    if (status != SS_OK) {
        ss_platform_free(p);
        return status;
    }
    *out = p;
    return SS_OK;
}

int ss_variant_take_gpus(struct ss_platform *p, int gpus, struct ss_error *err)
{
    int nics;

    if (gpus == 0 || gpus == p->gpus_per_node)
        return SS_OK;
    if (gpus < 0 || gpus > p->gpus_per_node || p->foreign != NULL)
        return ss_hint(
            err,
            ss_fail(err, SS_ERR_INPUT, p->file, 0, "%d GPUs of nodes that have %d", gpus, p->gpus_per_node),
            p->foreign != NULL ? "only a template can be used in part" : "take a platform with larger nodes");
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
