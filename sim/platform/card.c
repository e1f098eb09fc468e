/* SPDX-License-Identifier: Apache-2.0 */
/* Cards: what platform files name instead of telling the props of a card again. */
#include "platform/platform_internal.h"

#define MAX_BASES 8

void ss_card_files_free(struct ss_card_files *files)
{
    while (files->first != NULL) {
        struct ss_card_file *f = files->first;

        files->first = f->next;
        ss_xml_free(f->doc);
        SS_FREE(f->name, f->path, f);
    }
}

/* A card is <card> with props and nothing else. */
static int check_form(const struct ss_xml_node *root, const char *path, struct ss_error *err)
{
    if (!ss_tag_is(root, "card"))
        return ss_fail(err, SS_ERR_INPUT, path, root->line, "the root is <%.60s>, not <card>" SS_HINT "%s",
                       root->tag,
                       ss_tag_is(root, "platform") ? "this is a platform: --platform and ss.base take it"
                                                   : "a card is <card> with the props of a card in it");
    for (const struct ss_xml_node *c = root->first_child; c != NULL; c = c->next) {
        if (!ss_tag_is(c, "prop"))
            return ss_fail(err, SS_ERR_INPUT, path, c->line,
                           "<%.60s> in a card" SS_HINT "a card holds <prop id=\"ss...\" value=\"...\"/> only",
                           c->tag);
        if (ss_xml_attr(c, "id") == NULL || ss_xml_attr(c, "value") == NULL)
            return ss_fail(err, SS_ERR_INPUT, path, c->line, "<prop> needs %s",
                           ss_xml_attr(c, "id") == NULL ? "an id" : "a value");
    }
    return SS_OK;
}

static int find_path(const char *name, const char *file, int line, char *path, size_t size,
                     struct ss_error *err)
{
    struct ss_error why = {0};
    int rc = ss_data_find("platforms/cards", name, ".xml", path, size, &why);

    if (!rc)
        return SS_OK;
    rc = ss_fail(err, file != NULL ? SS_ERR_INPUT : rc, file, line, "%s: %s",
                 ss_prop_at(SS_PROP_CARD_BASE)->id, why.message);
    return why.hint[0] != 0 ? ss_hint(err, rc, "%s", why.hint) : rc;
}

static int open_card(struct ss_card_files *files, const char *name, const char *file, int line,
                     struct ss_card_file **out, struct ss_error *err)
{
    char path[4096];
    struct ss_card_file *f;

    for (f = files->first; f != NULL; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *out = f;
            return SS_OK;
        }
    SS_TRY(find_path(name, file, line, path, sizeof(path), err));
    f = ss_calloc(1, sizeof(*f));
    SS_NEED(f, err);
    f->next = files->first;
    files->first = f;
    f->name = strdup(name);
    f->path = strdup(path);
    SS_NEED(f->name && f->path, err);
    int rc = ss_xml_load(path, &f->doc, err);
    SS_THEN(rc, ss_files_add(files->read, path, err));
    SS_THEN(rc, check_form(ss_xml_root(f->doc), f->path, err));
    *out = f;
    return rc;
}

static int card_props(struct ss_props *props, const char *name, const char *file, int line,
                      struct ss_error *err);

int ss_props_read(struct ss_props *props, const struct ss_xml_node *node, int where, const char *file,
                  struct ss_error *err)
{
    const struct ss_xml_node *card = ss_props_find(node, SS_PROP_CARD_BASE);
    int rc = SS_OK;

    if (card != NULL && (where & SS_AT_GPU) != 0)
        rc = card_props(props, ss_xml_attr(card, "value"), file, card->line, err);
    return rc ? rc : ss_props_read_own(props, node, where, file, err);
}

/* The card's own file, which may name another card to begin with. */
static int card_props(struct ss_props *props, const char *name, const char *file, int line,
                      struct ss_error *err)
{
    struct ss_card_file *f = NULL;

    if (props->depth >= MAX_BASES)
        return ss_fail(err, SS_ERR_INPUT, file, line,
                       "more than %d cards one on another" SS_HINT
                       "does an ss.card.base lead back to this file?",
                       MAX_BASES);
    SS_TRY(open_card(props->files, name, file, line, &f, err));
    props->depth++;
    int rc = ss_props_read(props, ss_xml_root(f->doc), SS_AT_CARD, f->path, err);
    props->depth--;
    return rc;
}

int ss_props_begin(struct ss_props *props, const char *card, struct ss_error *err)
{
    int rc = card != NULL && card[0] != 0 ? card_props(props, card, NULL, 0, err) : SS_OK;

    props->outside = props->steps;
    return rc;
}

int ss_card_load(const char *name_or_path, struct ss_card *out, struct ss_error *err)
{
    struct ss_card_files files = {0};
    struct ss_props props = {.files = &files};
    int rc = card_props(&props, name_or_path, NULL, 0, err);

    SS_THEN(rc, ss_props_card(&props, name_or_path, 0, out, err));
    ss_card_files_free(&files);
    return rc;
}

/* Returns whether a suffix behind a card's name means the same card: "H100-SXM5", "A100-80GB", but not
 * "A100-PCIE" or "H20-3e". */
static int is_plain_suffix(const char *at)
{
    if (*at != '-')
        return !isalnum((unsigned char)*at);
    size_t digits = strspn(at + 1, "0123456789");
    return strncmp(at + 1, "SXM", 3) == 0 || (digits > 0 && !isalnum((unsigned char)at[1 + digits])) ||
           strncmp(at + 1 + digits, "GB", 2) == 0;
}

/* Words of a card of its own; but the "NVL72" of "GB200 NVL72" is the size of an NVLink domain. */
static int is_another(const char *model, const char *card)
{
    static const char *const others[] = {"PCIe", "PCIE", "NVL"};

    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++) {
        const char *at = strstr(model, others[i]);
        if (at && !isdigit((unsigned char)at[strlen(others[i])]) && !strstr(card, others[i]))
            return 1;
    }
    return 0;
}

int ss_card_is_named(const char *model, const char *card)
{
    size_t n = strcspn(card, "-");

    if (is_another(model, card))
        return 0;
    for (const char *at = model; n && *at; at++)
        if (strncmp(at, card, n) == 0 && (at == model || !isalnum((unsigned char)at[-1])) &&
            is_plain_suffix(at + n))
            return 1;
    return 0;
}
