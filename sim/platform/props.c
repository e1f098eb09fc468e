/* SPDX-License-Identifier: Apache-2.0 */
/* The ss. props: one table, strict reading. */
#include <stdlib.h>
#include <string.h>

#include "platform/platform_internal.h"

static const char *const kind_names[SS_LINK_KIND_COUNT] = {"nvlink", "nic", "uplink", "other"};

static int of_platform(int prop)
{
    return prop < SS_PROP_PLATFORM_COUNT;
}

int ss_prop_unknown(const char *id, const char *file, int line, struct ss_error *err)
{
    const char *near;
    int code = ss_fail(err, SS_ERR_INPUT, file, line, "unknown prop \"%s\"", id);

    if (ss_prop_find(id, SS_OF_LINK) >= 0)
        return ss_hint(err, code, "it is an attribute of the <link> elements");
    if (ss_prop_find(id, SS_OF_STACK) >= 0)
        return ss_hint(err, code, "it is a prop of a stack: docs/reference/formats.md");
    near = ss_prop_nearest(id, of_platform);
    if (near != NULL)
        return ss_hint(err, code, "did you mean \"%s\"?", near);
    return ss_hint(err, code, "props with ss. are stepsim's own; rename it if it is yours");
}

static int read_word(int prop, const char *text, const char *file, int line, struct ss_error *err)
{
    if (prop == SS_PROP_CARD && (text[0] == 0 || strlen(text) >= sizeof(((struct ss_card *)0)->name)))
        return ss_hint(err,
                       ss_fail(err, SS_ERR_INPUT, file, line, "ss.card needs a name of 1 to 63 characters"),
                       "write it like H100-80GB");
    return ss_prop_check_word(prop, text, file, line, err);
}

static int read_one(struct ss_props *props, const struct ss_xml_node *node, int where, int prop,
                    const char *file, struct ss_error *err)
{
    const struct ss_prop *def = ss_prop_at(prop);
    struct ss_prop_value *value = &props->value[prop];

    if ((def->where & where) == 0) {
        int code = ss_fail(err, SS_ERR_INPUT, file, node->line, "prop \"%s\" does not belong in <%s>",
                           def->id, node->parent->tag);
        return ss_hint(err, code, "it belongs in %s",
                       def->where & SS_AT_ROOT   ? "the outermost zone"
                       : def->where & SS_AT_HOST ? "a <host>, or an inner zone or cluster"
                                                 : "a <link>");
    }
    value->text = ss_xml_attr(node, "value");
    value->line = node->line;
    return def->is_word ? read_word(prop, value->text, file, node->line, err)
                        : ss_prop_parse(prop, value->text, file, node->line, &value->number, err);
}

int ss_props_read(struct ss_props *props, const struct ss_xml_node *node, int where, const char *file,
                  struct ss_error *err)
{
    int seen[SS_PROP_PLATFORM_COUNT] = {0};

    for (const struct ss_xml_node *c = node->first_child; c != NULL; c = c->next) {
        const char *id = ss_tag_is(c, "prop") ? ss_xml_attr(c, "id") : NULL;
        int prop, status;

        if (id == NULL || strncmp(id, "ss.", 3) != 0)
            continue;
        prop = ss_prop_find(id, SS_OF_PLATFORM & ~SS_OF_LINK);
        if (prop < 0)
            return ss_prop_unknown(id, file, c->line, err);
        if (seen[prop] != 0)
            return ss_hint(err,
                           ss_fail(err, SS_ERR_INPUT, file, c->line,
                                   "prop \"%s\" is given twice (first in line %d)", id, seen[prop]),
                           "keep one of them");
        seen[prop] = c->line;
        status = read_one(props, c, where, prop, file, err);
        if (status != SS_OK)
            return status;
    }
    return SS_OK;
}

int ss_props_card(const struct ss_props *props, const char *file, int line, struct ss_card *card,
                  struct ss_error *err)
{
    for (int i = 0; i < SS_PROP_PLATFORM_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);

        if (p->required && props->value[i].text == NULL) {
            int code = ss_fail(err, SS_ERR_INPUT, file, line, "missing prop \"%s\"", p->id);

            return p->is_word
                       ? ss_hint(err, code, "add <prop id=\"%s\" value=\"...\"/> to this zone", p->id)
                       : ss_hint(err, code, "add <prop id=\"%s\" value=\"...\"/> to this zone, with %s",
                                 p->id, ss_unit_example(p->unit));
        }
    }
    ss_copy(card->name, sizeof(card->name), props->value[SS_PROP_CARD].text);
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        ss_prop_put(i, card, props->value[i].text != NULL ? props->value[i].number : ss_prop_at(i)->def);
    return SS_OK;
}

/* What ss.assumed may name: every number of a platform file, and of its links. */
static int may_be_assumed(int prop)
{
    return prop < SS_PROP_PLATFORM_COUNT && !ss_prop_at(prop)->is_word;
}

static int assumed_unknown(const char *id, const struct ss_prop_value *value, const char *file,
                           struct ss_error *err)
{
    const char *near = ss_prop_nearest(id, may_be_assumed);
    int code = ss_fail(err, SS_ERR_INPUT, file, value->line,
                       "ss.assumed names \"%.200s\", which is no value of a platform", id + 3);

    return near != NULL ? ss_hint(err, code, "did you mean \"%s\"?", near + 3)
                        : ss_hint(err, code, "name props without \"ss.\", or link values like nic.bandwidth");
}

int ss_props_assumed(const struct ss_prop_value *value, const char *file, char **out, struct ss_error *err)
{
    const char *text = value->text != NULL ? value->text : "";
    char *buf = ss_calloc(1, strlen(text) + 1), *id = ss_calloc(1, strlen(text) + 4);
    char *to = buf;
    int status = SS_OK;

    if (buf == NULL || id == NULL)
        status = ss_fail(err, SS_ERR_NOMEM, file, value->line, "out of memory");
    while (status == SS_OK && *(text += strspn(text, " \t\r\n")) != 0) {
        size_t len = strcspn(text, " \t\r\n");
        int prop;

        sprintf(id, "ss.%.*s", (int)len, text);
        prop = ss_prop_find(id, SS_OF_PLATFORM);
        if (prop < 0 || !may_be_assumed(prop))
            status = assumed_unknown(id, value, file, err);
        if (to > buf)
            *to++ = ' ';
        memcpy(to, text, len);
        to += len;
        text += len;
    }
    free(id);
    if (status == SS_OK)
        *out = buf;
    else
        free(buf);
    return status;
}

int ss_link_kind_of(const char *name, const char *kind)
{
    for (int i = 0; i < SS_LINK_KIND_COUNT; i++) {
        size_t len = strlen(kind_names[i]);

        if (kind != NULL ? strcmp(kind, kind_names[i]) == 0
                         : strncmp(name, kind_names[i], len) == 0 && strchr("-_.", name[len]) != NULL)
            return i;
    }
    return SS_LINK_OTHER;
}
