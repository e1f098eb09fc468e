/* SPDX-License-Identifier: Apache-2.0 */
/* The ss. props: one table, strict reading. */
#include <stdlib.h>
#include <string.h>

#include "platform/platform_internal.h"

#define TEXT (-1)
static const struct ss_prop_def defs[SS_PROP_COUNT] = {
#define X(field, id, unit, required, def, lo, hi, doc)                                                       \
    [SS_PROP_##field] = {id, SS_UNIT_##unit, SS_AT_ROOT | SS_AT_ZONE | SS_AT_HOST, required, lo, hi},
    SS_CARD_PROPS(X)
#undef X
        [SS_PROP_GPUS_PER_NODE] = {"ss.gpus_per_node", SS_UNIT_COUNT, SS_AT_ROOT, 0, 1, SS_MAX_GPUS_PER_NODE},
    [SS_PROP_NICS_PER_NODE] = {"ss.nics_per_node", SS_UNIT_COUNT, SS_AT_ROOT, 0, 0, SS_MAX_GPUS_PER_NODE},
    [SS_PROP_NODES_PER_LEAF] = {"ss.nodes_per_leaf", SS_UNIT_COUNT, SS_AT_ROOT, 0, 1, SS_MAX_GPUS},
    [SS_PROP_OVERSUBSCRIPTION] = {"ss.oversubscription", SS_UNIT_NONE, SS_AT_ROOT, 0, 0.01, 1000},
    [SS_PROP_NODE] = {"ss.node", SS_UNIT_COUNT, SS_AT_ZONE | SS_AT_HOST, 0, 0, 1e9},
    [SS_PROP_CARD] = {"ss.card", TEXT, SS_AT_ROOT | SS_AT_ZONE | SS_AT_HOST, 1, 0, 0},
    [SS_PROP_TEMPLATE] = {"ss.template", TEXT, SS_AT_ROOT, 0, 0, 0},
    [SS_PROP_ASSUMED] = {"ss.assumed", TEXT, SS_AT_ROOT, 0, 0, 0},
    [SS_PROP_KIND] = {"ss.kind", TEXT, SS_AT_LINK, 0, 0, 0},
};

static const char *const unit_example[] = {[SS_UNIT_NONE] = "a number",
                                           [SS_UNIT_COUNT] = "a whole number",
                                           [SS_UNIT_FRACTION] = "0.85 or 85%",
                                           [SS_UNIT_BYTES] = "80GB or 81559MiB",
                                           [SS_UNIT_BANDWIDTH] = "50GBps or 400Gbps",
                                           [SS_UNIT_FLOPS] = "989.4Tf",
                                           [SS_UNIT_TIME] = "2us",
                                           [SS_UNIT_WATT] = "700W",
                                           [SS_UNIT_PRICE] = "2.5USD/h"};

/* What SimGrid has a tag for, and what the words of ss.assumed may name beside props. */
static const char *const link_values[] = {"nvlink.bandwidth", "nvlink.latency", "nic.bandwidth",
                                          "nic.latency", "uplink.latency"};
static const char *const kind_names[SS_LINK_KIND_COUNT] = {"nvlink", "nic", "uplink", "other"};

const struct ss_prop_def *ss_prop_def(int prop)
{
    return &defs[prop];
}

int ss_prop_find(const char *id)
{
    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (strcmp(defs[i].id, id) == 0)
            return i;
    return -1;
}

int ss_prop_unknown(const char *id, const char *file, int line, struct ss_error *err)
{
    const char *names[SS_PROP_COUNT + SS_ARRAY_LEN(link_values)];
    const char *near;
    char links[SS_ARRAY_LEN(link_values)][32];
    int code = ss_fail(err, SS_ERR_INPUT, file, line, "unknown prop \"%s\"", id);

    for (size_t i = 0; i < SS_ARRAY_LEN(link_values); i++)
        if (strcmp(id + 3, link_values[i]) == 0)
            return ss_hint(err, code, "it is an attribute of the <link> elements");
    for (int i = 0; i < SS_PROP_COUNT; i++)
        names[i] = defs[i].id;
    for (size_t i = 0; i < SS_ARRAY_LEN(link_values); i++) {
        snprintf(links[i], sizeof links[i], "ss.%s", link_values[i]);
        names[SS_PROP_COUNT + i] = links[i];
    }
    near = ss_nearest(id, names, SS_ARRAY_LEN(names));
    if (near != NULL)
        return ss_hint(err, code, "did you mean \"%s\"?", near);
    return ss_hint(err, code, "props with ss. are stepsim's own; rename it if it is yours");
}

int ss_prop_parse(int prop, const char *text, const char *file, int line, double *out, struct ss_error *err)
{
    const struct ss_prop_def *def = &defs[prop];
    const char *why = "";
    char lo[48], hi[48];

    if (ss_unit_parse(text, def->unit, out, &why) != SS_OK) {
        int code = ss_fail(err, SS_ERR_INPUT, file, line, "%s=\"%s\": %s", def->id, text, why);

        return ss_hint(err, code, "write it like %s", unit_example[def->unit]);
    }
    if (*out < def->lo || *out > def->hi)
        return ss_hint(err,
                       ss_fail(err, SS_ERR_INPUT, file, line, "%s=\"%s\" is outside %s to %s", def->id, text,
                               ss_unit_format(def->lo, def->unit, lo, sizeof(lo)),
                               ss_unit_format(def->hi, def->unit, hi, sizeof(hi))),
                       "is the unit right?");
    return SS_OK;
}

static int read_text(int prop, const char *text, const char *file, int line, struct ss_error *err)
{
    if (prop == SS_PROP_CARD && (text[0] == 0 || strlen(text) >= sizeof(((struct ss_card *)0)->name)))
        return ss_hint(err,
                       ss_fail(err, SS_ERR_INPUT, file, line, "ss.card needs a name of 1 to 63 characters"),
                       "write it like H100-80GB");
    if (prop == SS_PROP_TEMPLATE && strcmp(text, "nvswitch") != 0 && strcmp(text, "mesh") != 0) {
        int code = ss_fail(err, SS_ERR_INPUT, file, line, "unknown template \"%s\"", text);

        return ss_hint(err, code, "use nvswitch or mesh, or remove the prop");
    }
    if (prop == SS_PROP_KIND) {
        for (int i = 0; i < SS_LINK_KIND_COUNT; i++)
            if (strcmp(text, kind_names[i]) == 0)
                return SS_OK;
        return ss_hint(err, ss_fail(err, SS_ERR_INPUT, file, line, "unknown kind of link \"%s\"", text),
                       "use nvlink, nic, uplink or other");
    }
    return SS_OK;
}

static int read_one(struct ss_props *props, const struct ss_xml_node *node, int where, int prop,
                    const char *file, struct ss_error *err)
{
    const struct ss_prop_def *def = &defs[prop];
    struct ss_prop_value *value = &props->value[prop];
    int status;

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
    status = def->unit == TEXT ? read_text(prop, value->text, file, node->line, err)
                               : ss_prop_parse(prop, value->text, file, node->line, &value->number, err);
    return status;
}

int ss_props_read(struct ss_props *props, const struct ss_xml_node *node, int where, const char *file,
                  struct ss_error *err)
{
    int seen[SS_PROP_COUNT] = {0};

    for (const struct ss_xml_node *c = node->first_child; c != NULL; c = c->next) {
        const char *id = ss_tag_is(c, "prop") ? ss_xml_attr(c, "id") : NULL;
        int prop, status;

        if (id == NULL || strncmp(id, "ss.", 3) != 0)
            continue;
        prop = ss_prop_find(id);
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

double ss_card_get(const struct ss_card *card, int prop)
{
    switch (prop) {
#define X(field, id, unit, required, def, lo, hi, doc)                                                       \
    case SS_PROP_##field: return card->field;
        SS_CARD_PROPS(X)
#undef X
    default: return 0;
    }
}

void ss_card_put(struct ss_card *card, int prop, double value)
{
    switch (prop) {
#define X(field, id, unit, required, def, lo, hi, doc)                                                       \
    case SS_PROP_##field: card->field = value; break;
        SS_CARD_PROPS(X)
#undef X
    default: break;
    }
}

int ss_props_card(const struct ss_props *props, const char *file, int line, struct ss_card *card,
                  struct ss_error *err)
{
    static const double defaults[] = {
#define X(field, id, unit, required, def, lo, hi, doc) def,
        SS_CARD_PROPS(X)
#undef X
    };

    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (defs[i].required && props->value[i].text == NULL) {
            int code = ss_fail(err, SS_ERR_INPUT, file, line, "missing prop \"%s\"", defs[i].id);

            return defs[i].unit == TEXT
                       ? ss_hint(err, code, "add <prop id=\"%s\" value=\"...\"/> to this zone", defs[i].id)
                       : ss_hint(err, code, "add <prop id=\"%s\" value=\"...\"/> to this zone, with %s",
                                 defs[i].id, unit_example[defs[i].unit]);
        }
    ss_copy(card->name, sizeof(card->name), props->value[SS_PROP_CARD].text);
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        ss_card_put(card, i, props->value[i].text != NULL ? props->value[i].number : defaults[i]);
    return SS_OK;
}

static bool may_be_assumed(const char *word)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(link_values); i++)
        if (strcmp(word, link_values[i]) == 0)
            return true;
    for (int i = 0; i < SS_PROP_NUMBER_COUNT; i++)
        if (strcmp(word, defs[i].id + 3) == 0)
            return true;
    return false;
}

static int assumed_unknown(const char *word, const struct ss_prop_value *value, const char *file,
                           struct ss_error *err)
{
    const char *names[SS_ARRAY_LEN(link_values) + SS_PROP_NUMBER_COUNT];
    size_t n = 0;
    const char *near;
    int code = ss_fail(err, SS_ERR_INPUT, file, value->line,
                       "ss.assumed names \"%s\", which is no value of a platform", word);

    for (size_t i = 0; i < SS_ARRAY_LEN(link_values); i++)
        names[n++] = link_values[i];
    for (int i = 0; i < SS_PROP_NUMBER_COUNT; i++)
        names[n++] = defs[i].id + 3;
    near = ss_nearest(word, names, n);
    return near != NULL ? ss_hint(err, code, "did you mean \"%s\"?", near)
                        : ss_hint(err, code, "name props without \"ss.\", or link values like nic.bandwidth");
}

int ss_props_assumed(const struct ss_prop_value *value, const char *file, char **out, struct ss_error *err)
{
    const char *text = value->text != NULL ? value->text : "";
    char *buf = ss_calloc(1, strlen(text) + 1);
    char *to = buf;

    if (buf == NULL)
        return ss_fail(err, SS_ERR_NOMEM, file, value->line, "out of memory");
    while (*(text += strspn(text, " \t\r\n")) != 0) {
        size_t len = strcspn(text, " \t\r\n");
        char *word = to + (to > buf);

        memcpy(word, text, len);
        word[len] = 0;
        if (!may_be_assumed(word)) {
            int code = assumed_unknown(word, value, file, err);

            free(buf);
            return code;
        }
        if (to > buf)
            *to = ' ';
        to = word + len;
        text += len;
    }
    *out = buf;
    return SS_OK;
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
