/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <jansson.h>

#include "base/base.h"

static void fail(const char *what, const char *text)
{
    fprintf(stderr, "broken: %s\n%.2000s\n", what, text ? text : "");
    abort();
}

void fuzz_text_begin(struct fuzz_text *t)
{
    memset(t, 0, sizeof *t);
    t->out = open_memstream(&t->text, &t->size);
    if (!t->out)
        abort();
}

void fuzz_text_end(struct fuzz_text *t, struct fuzz_digest *d)
{
    if (!t->out || fclose(t->out))
        fail("a stream in memory", NULL);
    t->out = NULL;
    if (d && d->n < (int)(sizeof d->hash / sizeof d->hash[0]))
        d->hash[d->n++] = ss_hash(SS_HASH_INIT, t->text, t->size);
}

void fuzz_text_free(struct fuzz_text *t)
{
    free(t->text);
    t->text = NULL;
}

void fuzz_check_json(const struct fuzz_text *t)
{
    json_error_t err;
    json_t *root = json_loadb(t->text, t->size, JSON_REJECT_DUPLICATES, &err);

    if (!root) {
        fprintf(stderr, "line %d: %s\n", err.line, err.text);
        fail("JSON", t->size < 2000 ? t->text : t->text + (err.position > 200 ? err.position - 200 : 0));
    }
    json_decref(root);
}

/* A number that is none, in what is drawn. */
static int is_none(const char *value)
{
    for (const char *p = value; *p; p++)
        if ((!strncmp(p, "nan", 3) || !strncmp(p, "inf", 3)) && (p == value || strchr(" ,(-", p[-1]) != NULL))
            return 1;
    return 0;
}

static void check_node(const struct ss_xml_node *node)
{
    static const char *const drawn[] = {"x",  "y",  "width", "height", "d",  "points", "transform", "x1",
                                        "y1", "x2", "y2",    "cx",     "cy", "r",      "viewBox"};

    for (size_t i = 0; i < SS_ARRAY_LEN(drawn); i++) {
        const char *value = ss_xml_attr(node, drawn[i]);
        if (value && is_none(value))
            fail("a number of a picture", value);
    }
    for (const struct ss_xml_node *c = node->first_child; c; c = c->next)
        check_node(c);
}

void fuzz_check_svg(const struct fuzz_text *t)
{
    struct ss_xml *doc = NULL;
    struct ss_error err = {0};

    if (ss_xml_parse(t->text, t->size, "svg", &doc, &err))
        fail(err.message, t->text);
    if (strcmp(ss_xml_root(doc)->tag, "svg"))
        fail("SVG", t->text);
    check_node(ss_xml_root(doc));
    ss_xml_free(doc);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
        n++;
    return n;
}

void fuzz_check_html(const struct fuzz_text *t, int scripts)
{
    static const char begin[] = "<!doctype html>\n", end[] = "</html>\n";

    fuzz_check_plain(t);
    if (t->size < sizeof begin + sizeof end || strncmp(t->text, begin, sizeof begin - 1) ||
        strcmp(t->text + t->size - (sizeof end - 1), end))
        fail("page", t->text);
    if (count(t->text, "<script") != scripts || count(t->text, "</script>") != scripts)
        fail("scripts of a page", t->text);
}

void fuzz_check_plain(const struct fuzz_text *t)
{
    if (strlen(t->text) != t->size)
        fail("a zero byte in a text", t->text);
}

int fuzz_check_status(int rc, const struct ss_error *err)
{
    if (rc > 0 || (rc && (!err->message[0] || err->code != rc)) || (!rc && err->code)) {
        fprintf(stderr, "status %d, error %d: %s\n", rc, err->code, err->message);
        fail("a status and its error", NULL);
    }
    return rc;
}

void fuzz_check_amount(double value, double scale)
{
    if (!isfinite(value) || value < -1e-9 * scale) {
        fprintf(stderr, "%g of %g\n", value, scale);
        fail("an amount", NULL);
    }
}
