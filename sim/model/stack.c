/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/stack.h"

#include "base/base.h"
#include "model/stack_internal.h"
#include "stepsim/params.h"

#define MAX_BASES 12
#define FOLDER "workloads/stacks"

static int of_stack(int prop)
{
    return ss_prop_at(prop)->owner == SS_OF_STACK;
}

static void put_word(int prop, struct ss_stack *s, int value)
{
    *(int *)((char *)s + ss_prop_at(prop)->offset) = value;
}

static void stack_init(struct ss_stack *s)
{
    memset(s, 0, sizeof(*s));
    for (int i = SS_PROP_PLATFORM_COUNT; i < SS_PROP_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);

        if (p->is_word)
            put_word(i, s, (int)p->def);
        else
            ss_prop_put(i, s, p->def);
    }
}

static int unknown_prop(const char *file, int line, const char *id, struct ss_error *err)
{
    const char *near = ss_prop_nearest(id, of_stack);

    ss_fail(err, SS_ERR_INPUT, file, line, "a stack has no prop \"%.80s\"", id);
    return near ? ss_hint(err, SS_ERR_INPUT, "did you mean \"%s\"?", near)
                : ss_hint(err, SS_ERR_INPUT, "workloads/README.md says where they are listed");
}

static int set_prop(struct ss_stack *s, const char *file, int line, const char *id, const char *value,
                    struct ss_error *err)
{
    int prop = ss_prop_find(id, SS_OF_STACK), rc;
    double number;

    if (prop < 0)
        return unknown_prop(file, line, id, err);
    if (ss_prop_at(prop)->is_word) {
        rc = ss_prop_check_word(prop, value, file, line, err);
        for (int i = 0; !rc && ss_prop_word(prop, i); i++)
            if (!strcmp(ss_prop_word(prop, i), value))
                put_word(prop, s, i);
        return rc;
    }
    rc = ss_prop_parse(prop, value, file, line, &number, err);
    if (!rc)
        ss_prop_put(prop, s, number);
    return rc;
}

int ss_stack_set(struct ss_stack *s, const char *id, const char *value, struct ss_error *err)
{
    return set_prop(s, NULL, 0, id, value, err);
}

static int check_attrs(const char *file, const struct ss_xml_node *node, const char *allowed,
                       struct ss_error *err)
{
    for (int i = 0; i < node->nattrs; i++) {
        if (ss_has_word(allowed, node->attrs[i].name))
            continue;
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "<%s> has no attribute \"%.60s\"" SS_HINT "it may have: %s", node->tag,
                       node->attrs[i].name, allowed);
    }
    return SS_OK;
}

/* Refuses a prop that stands twice for one card; `first` is where the prop stands first. */
static int check_repeated(const char *file, const struct ss_xml_node *first, const struct ss_xml_node *node,
                          int prop, struct ss_error *err)
{
    const char *id = ss_xml_attr(node, "id"), *card = ss_xml_attr(node, "card");

    for (const struct ss_xml_node *p = first; p != node; p = p->next) {
        const char *only = ss_xml_attr(p, "card");
        if (ss_prop_find(ss_xml_attr(p, "id"), SS_OF_STACK) == prop &&
            (card ? only && !strcmp(card, only) : !only))
            return ss_fail(err, SS_ERR_INPUT, file, node->line, "%s is given twice, first in line %d", id,
                           p->line);
    }
    return SS_OK;
}

/* A prop's card names a card or a family: "A100" is also "A100-80GB". */
static int card_matches(const char *only, const char *card)
{
    size_t n = strlen(only);
    return !strncmp(only, card, n) && (card[n] == 0 || card[n] == '-');
}

/* Checks every prop and sets those for all cards. */
static int read_props(const char *file, const struct ss_xml_node *root, struct ss_stack *s,
                      struct ss_error *err)
{
    const struct ss_xml_node *first[SS_PROP_COUNT] = {0};
    struct ss_stack scratch; /* a prop of a card is checked there */

    for (const struct ss_xml_node *n = root->first_child; n; n = n->next) {
        if (strcmp(n->tag, "prop"))
            return ss_fail(err, SS_ERR_INPUT, file, n->line,
                           "<%.60s> does not belong in a stack" SS_HINT
                           "a stack holds <prop id=\"ss...\" value=\"...\"/> only",
                           n->tag);
        int rc = check_attrs(file, n, "id value card", err);
        if (rc)
            return rc;
        const char *id = ss_xml_attr(n, "id"), *value = ss_xml_attr(n, "value");
        if (!id || !value)
            return ss_fail(err, SS_ERR_INPUT, file, n->line, "<prop> needs %s", id ? "a value" : "an id");
        int prop = ss_prop_find(id, SS_OF_STACK);
        if (prop >= 0 && first[prop])
            rc = check_repeated(file, first[prop], n, prop, err);
        else if (prop >= 0)
            first[prop] = n;
        SS_THEN(rc, set_prop(ss_xml_attr(n, "card") ? &scratch : s, file, n->line, id, value, err));
        if (rc)
            return rc;
    }
    return SS_OK;
}

/* Sets the props for this card, once read_props has checked them. */
static int read_card_props(const char *file, const struct ss_xml_node *root, const char *card,
                           struct ss_stack *s, struct ss_error *err)
{
    int rc = SS_OK;

    for (const struct ss_xml_node *n = root->first_child; n && !rc; n = n->next) {
        const char *only = ss_xml_attr(n, "card");
        if (only && card && card_matches(only, card))
            rc = set_prop(s, file, n->line, ss_xml_attr(n, "id"), ss_xml_attr(n, "value"), err);
    }
    return rc;
}

/* Bases on the way to this file, to find a cycle. */
struct trail {
    const char *path[MAX_BASES];
    int n;
    struct ss_files *files;
};

static int read_path(const char *path, const char *card, struct trail *trail, struct ss_stack *s,
                     struct ss_error *err);

static int read_base(const char *file, const struct ss_xml_node *root, const char *card, struct trail *trail,
                     struct ss_stack *s, struct ss_error *err)
{
    const char *base = ss_xml_attr(root, "base");
    char path[1024];
    struct ss_error why = {0};

    if (!base)
        return SS_OK;
    int rc = ss_data_find(FOLDER, base, ".xml", path, sizeof(path), &why);
    if (rc) {
        ss_fail(err, SS_ERR_INPUT, file, root->line, "base \"%.60s\": %.300s", base, why.message);
        return why.hint[0] ? ss_hint(err, SS_ERR_INPUT, "%s", why.hint) : SS_ERR_INPUT;
    }
    for (int i = 0; i < trail->n; i++)
        if (!strcmp(trail->path[i], path))
            return ss_fail(err, SS_ERR_INPUT, file, root->line, "base \"%.60s\" leads back to this stack",
                           base);
    if (trail->n == MAX_BASES)
        return ss_fail(err, SS_ERR_INPUT, file, root->line, "more than %d bases one on another", MAX_BASES);
    return read_path(path, card, trail, s, err);
}

/* Reads the family, whose predictions err alike: the stack's, or its base's; a stack without both is its own
 * family. */
static int read_family(const char *file, const struct ss_xml_node *root, const char *name, struct ss_stack *s,
                       struct ss_error *err)
{
    const char *family = ss_xml_attr(root, "family");

    if (family && (!family[0] || strlen(family) >= sizeof s->family))
        return ss_fail(err, SS_ERR_INPUT, file, root->line, "a family has a name of 1 to %d letters",
                       (int)sizeof s->family - 1);
    if (family || !s->family[0])
        ss_copy(s->family, sizeof s->family, family ? family : name);
    return SS_OK;
}

/* Reads the line that people see in a list; a base's line says nothing about stacks built on it. */
static int read_about(const char *file, const struct ss_xml_node *root, struct ss_stack *s,
                      struct ss_error *err)
{
    const char *about = ss_xml_attr(root, "about");

    if (about && strlen(about) >= sizeof s->about)
        return ss_fail(err, SS_ERR_INPUT, file, root->line, "what a stack is about has at most %d letters",
                       (int)sizeof s->about - 1);
    ss_copy(s->about, sizeof s->about, about ? about : "");
    return SS_OK;
}

static int read_doc(const struct ss_xml *doc, const char *file, const char *card, struct trail *trail,
                    struct ss_stack *s, struct ss_error *err)
{
    const struct ss_xml_node *root = ss_xml_root(doc);
    const char *name;
    int rc;

    if (strcmp(root->tag, "stack"))
        return ss_fail(err, SS_ERR_INPUT, file, root->line, "<%.60s> is not a <stack>", root->tag);
    SS_TRY(check_attrs(file, root, "name base family about", err));
    name = ss_xml_attr(root, "name");
    if (!name || !name[0] || strlen(name) >= sizeof(s->name))
        return ss_fail(err, SS_ERR_INPUT, file, root->line, "<stack> needs a name of 1 to %d letters",
                       (int)sizeof(s->name) - 1);
    rc = read_base(file, root, card, trail, s, err);
    SS_THEN(rc, read_family(file, root, name, s, err));
    SS_THEN(rc, read_about(file, root, s, err));
    SS_THEN(rc, read_props(file, root, s, err));
    SS_THEN(rc, read_card_props(file, root, card, s, err));
    if (!rc)
        ss_copy(s->name, sizeof(s->name), name);
    return rc;
}

static int read_path(const char *path, const char *card, struct trail *trail, struct ss_stack *s,
                     struct ss_error *err)
{
    struct ss_xml *doc;

    SS_TRY(ss_xml_load(path, &doc, err));
    trail->path[trail->n++] = path;
    int rc = ss_files_add(trail->files, path, err);
    SS_THEN(rc, read_doc(doc, path, card, trail, s, err));
    trail->n--;
    ss_xml_free(doc);
    return rc;
}

int ss_stack_load(const char *name_or_path, const char *card, struct ss_stack *out, struct ss_error *err)
{
    return ss_stack_load_with(name_or_path, card, NULL, out, err);
}

/* A release that has no file is taken to be like one that has, up to three years from it. */
#define MOST_MONTHS 36

static int too_far(const char *name, const char *near, struct ss_error *err)
{
    return ss_fail(
        err, SS_ERR_IO, NULL, 0,
        "no '%s' in %s" SS_HINT
        "did you mean %s? A release without a file is a number or a date within %d months of one that has",
        name, FOLDER, near, MOST_MONTHS);
}

/* File of a stack, or of the nearest release of the same framework; `asked` gets the name that has no file of its own. */
static int find_stack(const char *name, char path[1024], char asked[64], struct ss_error *err)
{
    char **names = NULL;
    size_t n = 0;
    bool found;
    int rc = ss_data_look(FOLDER, name, ".xml", path, 1024, &found, err);

    if (rc || found)
        return rc;
    if (!strchr(name, '/') && strlen(name) < 64 && !ss_data_list(FOLDER, ".xml", &names, &n, NULL)) {
        int months;
        const char *near = ss_release_nearest((const char *const *)names, n, name, &months);
        if (near && months > MOST_MONTHS)
            rc = too_far(name, near, err);
        else if (near && !ss_data_look(FOLDER, near, ".xml", path, 1024, &found, NULL) && found)
            ss_copy(asked, 64, name);
    }
    ss_names_free(names, n);
    return rc || asked[0] ? rc : ss_data_find(FOLDER, name, ".xml", path, 1024, err);
}

int ss_stack_load_with(const char *name_or_path, const char *card, struct ss_files *files,
                       struct ss_stack *out, struct ss_error *err)
{
    struct trail trail = {.files = files};
    struct ss_stack s;
    char path[1024], asked[64] = "";

    SS_TRY(find_stack(name_or_path, path, asked, err));
    stack_init(&s);
    SS_TRY(read_path(path, card, &trail, &s, err));
    ss_copy(s.asked, sizeof(s.asked), asked);
    *out = s;
    return SS_OK;
}

int ss_stack_parse(const char *text, size_t len, const char *file, const char *card, struct ss_stack *out,
                   struct ss_error *err)
{
    struct trail trail = {.path = {file}, .n = 1};
    struct ss_stack s;
    struct ss_xml *doc;

    SS_TRY(ss_xml_parse(text, len, file, &doc, err));
    stack_init(&s);
    int rc = read_doc(doc, file, card, &trail, &s, err);
    ss_xml_free(doc);
    if (!rc)
        *out = s;
    return rc;
}
