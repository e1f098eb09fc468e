/* SPDX-License-Identifier: Apache-2.0 */
/* Interpolations of OmegaConf: texts that stand for other values of the tree. */
#include "base/base.h"
#include "import/hydra.h"

#define MAX_DEPTH 16
#define MAX_STEPS 1000      /* of a value */
#define MAX_ALL (200 << 10) /* of a tree */
#define MAX_TEXT 4096       /* of a value */

struct resolver {
    struct ss_tree *tree;
    int steps, all;
};
struct text {
    char buf[MAX_TEXT];
    size_t n;
};
static bool expand(struct resolver *r, const struct ss_tree_node *at, const char *text, size_t len, int depth,
                   struct text *out);

static bool put(struct text *out, const char *text, size_t len)
{
    if (len >= MAX_TEXT - out->n)
        return false;
    memcpy(out->buf + out->n, text, len);
    out->n += len;
    out->buf[out->n] = '\0';
    return true;
}

/* Returns the node that "${body}" names: "a.b" from the root, ".a" in the map around it, "..a" in the next;
 * "a[0]" is "a.0". */
static struct ss_tree_node *target(const struct resolver *r, const struct ss_tree_node *at, const char *body)
{
    const struct ss_tree_node *from = ss_tree_root(r->tree);
    char path[256];

    if (*body == '.') {
        for (from = at; from && *body == '.'; body++)
            from = from->parent;
    }
    if (!from || !ss_copy(path, sizeof path, body))
        return NULL;
    char *to = path;
    for (const char *p = path; *p; p++)
        if (*p == '[')
            *to++ = '.';
        else if (*p != ']')
            *to++ = *p;
    *to = '\0';
    return ss_tree_find(from, path);
}

static bool number(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out);
}

/* Computes a function of two numbers by its name; false: no such resolver. */
static bool compute(const char *name, double a, double b, double *out)
{
    if (!strcmp(name, "multiply") || !strcmp(name, "mul"))
        *out = a * b;
    else if (!strcmp(name, "sum") || !strcmp(name, "add"))
        *out = a + b;
    else if (b == 0)
        return false;
    else if (!strcmp(name, "div") || !strcmp(name, "divide"))
        *out = a / b;
    else if (!strcmp(name, "int_div") || !strcmp(name, "divide_floor"))
        *out = floor(a / b);
    else if (!strcmp(name, "divide_ceil"))
        *out = ceil(a / b);
    else
        return false;
    return isfinite(*out);
}

/* "name: a, b", in which all inner ones are resolved. */
static bool call(struct resolver *r, const struct ss_tree_node *at, char *body, int depth, struct text *out)
{
    char *colon = strchr(body, ':'), *a = colon + 1, *b = strchr(a, ','), text[48];
    double x, y, z;

    *colon = '\0';
    if (b)
        *b++ = '\0';
    a += strspn(a, " ");
    b = b ? b + strspn(b, " ") : NULL;
    for (char *end = a + strlen(a); end > a && end[-1] == ' ';)
        *--end = '\0';
    if (!strcmp(body, "oc.select")) {
        const struct ss_tree_node *node = target(r, at, a);
        return node && node->text ? expand(r, node, node->text, strlen(node->text), depth + 1, out)
                                  : b && put(out, b, strlen(b));
    }
    if (!strcmp(body, "oc.env")) /* the environment is not the job's */
        return b && put(out, b, strlen(b));
    if (!b || !number(a, &x) || !number(b, &y) || !compute(body, x, y, &z))
        return false;
    int n = z == floor(z) && fabs(z) < 1e15 ? snprintf(text, sizeof text, "%.0f", z)
                                            : snprintf(text, sizeof text, "%.15g", z);
    return put(out, text, (size_t)n);
}

/* Returns the place behind the "}" that closes a "${" whose text begins at p; NULL: there is none. */
static const char *end_of(const char *p, const char *end)
{
    for (int open = 1; p < end; p++) {
        open += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        if (open == 0)
            return p + 1;
    }
    return NULL;
}

static bool expand(struct resolver *r, const struct ss_tree_node *at, const char *text, size_t len, int depth,
                   struct text *out)
{
    const char *p = text, *end = text + len;

    if (depth > MAX_DEPTH || r->steps++ > MAX_STEPS || r->all++ > MAX_ALL)
        return false;
    while (p < end) {
        const char *next = memmem(p, (size_t)(end - p), "${", 2), *behind;
        if (!put(out, p, (size_t)((next ? next : end) - p)))
            return false;
        if (!next)
            return true;
        behind = end_of(next + 2, end);
        struct text *body = behind ? calloc(1, sizeof *body) : NULL;
        bool good = body && expand(r, at, next + 2, (size_t)(behind - next - 3), depth + 1, body);
        if (good && strchr(body->buf, ':'))
            good = call(r, at, body->buf, depth, out);
        else if (good) {
            const struct ss_tree_node *node = target(r, at, body->buf);
            good = node && node->text && expand(r, node, node->text, strlen(node->text), depth + 1, out);
        }
        free(body);
        if (!good)
            return false;
        p = behind;
    }
    return true;
}

static int resolve_text(struct resolver *r, struct ss_tree_node *node, struct ss_error *err)
{
    struct text *out = calloc(1, sizeof *out);

    r->steps = 0;
    SS_NEED(out, err);
    if (expand(r, node, node->text, strlen(node->text), 0, out)) {
        node->text = ss_tree_text(r->tree, out->buf);
        node->quoted = false;
    }
    free(out);
    return node->text ? SS_OK : ss_nomem(err);
}

/* "${a.b}" alone may be a list or a map. */
static struct ss_tree_node *structure(const struct resolver *r, const struct ss_tree_node *node)
{
    char body[256];
    size_t len = strlen(node->text);

    if (len < 4 || len > sizeof body || strncmp(node->text, "${", 2) != 0 || node->text[len - 1] != '}')
        return NULL;
    snprintf(body, sizeof body, "%.*s", (int)(len - 3), node->text + 2);
    struct ss_tree_node *to = strpbrk(body, "{}:") ? NULL : target(r, node, body);
    for (const struct ss_tree_node *p = node; to && p; p = p->parent)
        if (p == to)
            return NULL;
    return to && to->kind != SS_TREE_SCALAR ? to : NULL;
}

static int resolve(struct resolver *r, struct ss_tree_node *node, struct ss_error *err)
{
    int rc = SS_OK;

    if (node->kind == SS_TREE_SCALAR && strstr(node->text, "${")) {
        struct ss_tree_node *to = r->all++ < MAX_ALL ? structure(r, node) : NULL;
        const char *file = node->file;
        int line = node->line;
        if (!to)
            return resolve_text(r, node, err);
        rc = ss_tree_assign(r->tree, node, to, err);
        node->file = file;
        node->line = line;
    }
    for (struct ss_tree_node *child = node->first; child && !rc; child = child->next)
        rc = resolve(r, child, err);
    return rc;
}

int ss_hydra_resolve(struct ss_tree *tree, struct ss_error *err)
{
    struct resolver r = {.tree = tree};

    return resolve(&r, ss_tree_root(tree), err);
}
