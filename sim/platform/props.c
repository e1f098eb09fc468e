/* SPDX-License-Identifier: Apache-2.0 */
/* The ss. props of a platform file and of the cards that it names: strict reading. */
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
        return ss_fail(err, SS_ERR_INPUT, file, line,
                       "ss.card needs a name of 1 to 63 characters" SS_HINT "write it like H100-80GB");
    return ss_prop_check_word(prop, text, file, line, err);
}

static int misplaced(const struct ss_prop *p, const struct ss_xml_node *node, const char *file,
                     struct ss_error *err)
{

    if (p->owner == SS_OF_LINK)
        return ss_prop_unknown(p->id, file, node->line, err);
    return ss_fail(err, SS_ERR_INPUT, file, node->line,
                   "prop \"%s\" does not belong in <%s>" SS_HINT "it belongs in %s", p->id, node->parent->tag,
                   p->where & SS_AT_ROOT   ? "the outermost zone"
                   : p->where & SS_AT_HOST ? "a <host>, or an inner zone or cluster"
                                           : "a <link>");
}

static int read_one(struct ss_props *props, const struct ss_xml_node *node, int where, int prop,
                    const char *file, struct ss_error *err)
{
    const struct ss_prop *row = ss_prop_at(prop);
    struct ss_prop_value *value = &props->value[prop];

    if ((row->where & where) == 0)
        return misplaced(row, node, file, err);
    if (prop == SS_PROP_ASSUMED && where == SS_AT_CARD)
        value = &props->card_assumed;
    value->text = ss_xml_attr(node, "value");
    value->file = file;
    value->line = node->line;
    value->step = props->steps;
    return row->is_word ? read_word(prop, value->text, file, node->line, err)
                        : ss_prop_parse(prop, value->text, file, node->line, &value->number, err);
}

const struct ss_xml_node *ss_props_find(const struct ss_xml_node *node, int prop)
{
    const struct ss_xml_node *c = node->first_child;

    for (; c != NULL && ss_tag_is(c, "prop"); c = c->next) {
        const char *id = ss_xml_attr(c, "id");

        if (id != NULL && strcmp(id, ss_prop_at(prop)->id) == 0)
            return c;
    }
    return NULL;
}

static int given_twice(const char *id, int prop, const char *file, int line, int first, struct ss_error *err)
{
    const char *alias = ss_prop_key(prop), *own = ss_prop_at(prop)->id;
    int code =
        ss_fail(err, SS_ERR_INPUT, file, line, "prop \"%s\" is given twice (first in line %d)", id, first);

    return alias == own ? ss_hint(err, code, "keep one of them")
                        : ss_hint(err, code, "\"%s\" and \"%s\" are one prop: keep one of them", own, alias);
}

int ss_props_read_own(struct ss_props *props, const struct ss_xml_node *node, int where, const char *file,
                      struct ss_error *err)
{
    int seen[SS_PROP_PLATFORM_COUNT] = {0};
    int rc = SS_OK;

    props->steps++;
    for (const struct ss_xml_node *c = node->first_child; c != NULL && !rc; c = c->next) {
        const char *id = ss_tag_is(c, "prop") ? ss_xml_attr(c, "id") : NULL;
        int prop;

        if (id == NULL || strncmp(id, "ss.", 3) != 0)
            continue;
        prop = ss_prop_find(id, SS_OF_PLATFORM);
        if (prop < 0)
            return ss_prop_unknown(id, file, c->line, err);
        if (seen[prop] != 0)
            return given_twice(id, prop, file, c->line, seen[prop], err);
        seen[prop] = c->line;
        rc = read_one(props, c, where, prop, file, err);
    }
    return rc;
}

/* ---- the card ---- */

static int missing_one(const struct ss_prop *p, const char *file, int line, struct ss_error *err)
{
    int code = ss_fail(err, SS_ERR_INPUT, file, line, "missing prop \"%s\"", p->id);

    return p->is_word ? ss_hint(err, code, "add <prop id=\"%s\" value=\"...\"/> to this zone", p->id)
                      : ss_hint(err, code, "add <prop id=\"%s\" value=\"...\"/> to this zone, with %s", p->id,
                                ss_unit_example(p->unit));
}

static int check_missing(const struct ss_props *props, const char *file, int line, struct ss_error *err)
{
    char names[sizeof(((struct ss_error *)0)->message)] = "";
    int n = 0, first = 0;

    for (int i = 0; i < SS_PROP_PLATFORM_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);

        if (!p->required || props->value[i].text != NULL)
            continue;
        first = n++ == 0 ? i : first;
        ss_append(names, sizeof(names), "%s%s", n > 1 ? ", " : "", p->id + 3);
    }
    if (n < 2)
        return n == 0 ? SS_OK : missing_one(ss_prop_at(first), file, line, err);
    return ss_fail(err, SS_ERR_INPUT, file, line,
                   "%d props of a card are missing: %s" SS_HINT
                   "name a card, by --card h100 or <prop id=\"%s\" value=\"h100\"/> (\"stepsim list "
                   "cards\"), or add them "
                   "with \"ss.\" before",
                   n, names, ss_prop_at(SS_PROP_CARD_BASE)->id);
}

int ss_props_card(const struct ss_props *props, const char *file, int line, struct ss_card *card,
                  struct ss_error *err)
{
    SS_TRY(check_missing(props, file, line, err));
    ss_copy(card->name, sizeof(card->name), props->value[SS_PROP_CARD].text);
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        ss_prop_put(i, card, props->value[i].text != NULL ? props->value[i].number : ss_prop_at(i)->def);
    return SS_OK;
}

int ss_props_library(const struct ss_props *props, struct ss_platform *p, struct ss_error *err)
{
    const struct ss_prop_value *named = &props->value[SS_PROP_LIBRARY];
    struct ss_error why = {0};
    int rc =
        ss_library_load(named->text != NULL ? named->text : "nccl", props->files->read, &p->library, &why);

    if (!ss_copy(p->library_file, sizeof p->library_file, named->text != NULL ? named->text : ""))
        return ss_fail(err, SS_ERR_INPUT, named->file, named->line, "%s has more than %zu characters",
                       ss_prop_at(SS_PROP_LIBRARY)->id, sizeof p->library_file - 1);
    if (!rc)
        return SS_OK;
    if (named->text != NULL && why.line == 0) { /* no such file: the place that names it is to be mended */
        return ss_fail(err, SS_ERR_INPUT, named->file, named->line, "%s: %s" SS_HINT "%s",
                       ss_prop_at(SS_PROP_LIBRARY)->id, why.message, why.hint);
    }
    if (err != NULL)
        *err = why;
    return rc;
}

int ss_props_basis(const struct ss_props *props, struct ss_platform *p, struct ss_error *err)
{
    const struct ss_prop_value *given = &props->value[SS_PROP_PRICE_BASIS];

    if (ss_copy(p->price_basis, sizeof p->price_basis, given->text != NULL ? given->text : ""))
        return SS_OK;
    return ss_fail(err, SS_ERR_INPUT, given->file, given->line, "%s has more than %zu characters",
                   ss_prop_at(SS_PROP_PRICE_BASIS)->id, sizeof p->price_basis - 1);
}

int ss_props_fabric(const struct ss_props *props, struct ss_platform *p, struct ss_error *err)
{
    const struct ss_prop_value *named = &props->value[SS_PROP_FABRIC_NAME];
    const char *name = named->text != NULL ? named->text : "NVLink";

    if (!ss_name_is_plain(name) || !ss_copy(p->fabric, sizeof p->fabric, name))
        return ss_fail(
            err, SS_ERR_INPUT, named->file, named->line,
            "%s needs a name of 1 to %zu letters, digits, -_.+, and blanks behind the first" SS_HINT
            "write it like xGMI",
            ss_prop_at(SS_PROP_FABRIC_NAME)->id, sizeof p->fabric - 1);
    p->fabric_word = strcmp(name, "NVLink") == 0 ? "nvlink" : "fabric";
    return SS_OK;
}

/* ---- ss.assumed ---- */

/* Returns whether ss.assumed may name a prop: every number of a platform file and of its links. A card file may
 * also name numbers that stacks have for a card. */
static int may_be_assumed(int prop)
{
    return !ss_prop_at(prop)->is_word;
}

static int card_may_assume(int prop)
{
    return prop < SS_PROP_CARD_COUNT || (ss_prop_at(prop)->owner == SS_OF_STACK && may_be_assumed(prop));
}

static int assumed_unknown(const char *id, const struct ss_prop_value *value, int of_card,
                           struct ss_error *err)
{
    const char *near = ss_prop_nearest(id, of_card ? card_may_assume : may_be_assumed);
    int code = ss_fail(err, SS_ERR_INPUT, value->file, value->line,
                       "ss.assumed names \"%.200s\", which is no value of a %s", id + 3,
                       of_card ? "card" : "platform");

    return near != NULL ? ss_hint(err, code, "did you mean \"%s\"?", near + 3)
                        : ss_hint(err, code, "name props without \"ss.\", or link values like nic.bandwidth");
}

/* Appends the words of a value to out, separated by one space, as aliases where the fabric is NVLink; a card's
 * words only where the card's own value of the prop holds and `out` lacks the word. */
static int add_assumed(const struct ss_props *props, const struct ss_prop_value *value, int of_card,
                       const char *fabric_word, char *out, struct ss_error *err)
{
    const char *text = value->text != NULL ? value->text : "", *word;
    char id[80];

    while (*(text += strspn(text, " \t\r\n")) != 0) {
        size_t len = strcspn(text, " \t\r\n");
        int prop;

        snprintf(id, sizeof(id), "ss.%.*s", (int)(len < 200 ? len : 200), text);
        prop = ss_prop_find(id, SS_OF_ANY);
        if (prop < 0 || !(of_card ? card_may_assume(prop) : may_be_assumed(prop)))
            return assumed_unknown(id, value, of_card, err);
        word = (strcmp(fabric_word, "nvlink") == 0 ? ss_prop_key(prop) : ss_prop_at(prop)->id) + 3;
        if (!of_card || ((prop >= SS_PROP_PLATFORM_COUNT || props->value[prop].step <= value->step) &&
                         !ss_has_word(out, word)))
            sprintf(out + strlen(out), "%s%s", out[0] != 0 ? " " : "", word);
        text += len;
    }
    return SS_OK;
}

int ss_props_assumed(const struct ss_props *props, const char *fabric_word, char **out, struct ss_error *err)
{
    const struct ss_prop_value *own = &props->value[SS_PROP_ASSUMED], *card = &props->card_assumed;
    size_t size =
        (own->text != NULL ? strlen(own->text) : 0) + (card->text != NULL ? strlen(card->text) : 0) + 2;
    char *buf = ss_calloc(2, size); /* an id may be longer than its alias */

    SS_NEED(buf, err);
    int rc = add_assumed(props, own, 0, fabric_word, buf, err);
    SS_THEN(rc, add_assumed(props, card, 1, fabric_word, buf, err));
    SS_HAND(rc, buf, out, free);
}

int ss_link_kind_of(const char *name, const char *kind, const char *fabric_word)
{
    const char *asked = kind != NULL && strcmp(kind, "fabric") == 0 ? "nvlink" : kind;

    if (kind == NULL && strcmp(fabric_word, "fabric") == 0 && strncmp(name, "fabric-", 7) == 0)
        return SS_LINK_FABRIC;
    for (int i = 0; i < SS_LINK_KIND_COUNT; i++) {
        size_t len = strlen(kind_names[i]);

        if (asked != NULL ? strcmp(asked, kind_names[i]) == 0
                          : strncmp(name, kind_names[i], len) == 0 && strchr("-_.", name[len]) != NULL)
            return i;
    }
    return SS_LINK_OTHER;
}
