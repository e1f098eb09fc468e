/* SPDX-License-Identifier: Apache-2.0 */
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/base.h"

#define MAX_BYTES (256u << 20)
#define MAX_DEPTH 256
#define MAX_ELEMENTS (4 << 20)
#define MAX_ATTRIBUTES 256

struct ss_xml {
    char *file;
    struct ss_arena arena;
    struct ss_xml_node *root;
};

struct builder {
    struct ss_xml *doc;
    XML_Parser parser;
    const char *text, *end;
    const char *counted; /* lines up to here are counted */
    int line;
    int depth, elements;
    struct ss_xml_node *open[MAX_DEPTH];     /* path from the root to the current element */
    struct ss_xml_node *last[MAX_DEPTH + 1]; /* last element at each depth, to append to */
    struct ss_error *err;
    int code; /* 0 until something is wrong */
};

static char *take_text(struct ss_xml *doc, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = ss_arena_take(&doc->arena, size, 1);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* Returns the line of the event at hand; expat itself counts byte by byte. */
static int line_of(struct builder *b)
{
    const char *at = b->text + XML_GetCurrentByteIndex(b->parser);
    for (; at > b->counted && (b->counted = memchr(b->counted, '\n', (size_t)(at - b->counted)));
         b->counted++)
        b->line++;
    b->counted = at;
    return b->line;
}

/* Keeps the first failure, which is the cause; later ones are its echo. */
static void stop(struct builder *b, int code, const char *message, const char *hint)
{
    if (b->code)
        return;
    b->code = ss_fail(b->err, code, b->doc->file, line_of(b), "%s", message);
    ss_hint(b->err, code, "%s", hint);
    XML_StopParser(b->parser, XML_FALSE);
}

static void refuse_reference(void *ctx, const char *name, int is_parameter)
{
    (void)name, (void)is_parameter;
    stop(ctx, SS_ERR_INPUT, "undefined entity", "write the text itself in place of it");
}

/* expat drops what an undefined entity stands for in an attribute of a file that names a DTD, for the DTD might
 * define it. */
static void check_references(struct builder *b, const char *at, const char *end)
{
    static const char *const known[] = {"&#", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    while ((at = memchr(at, '&', (size_t)(end - at)))) {
        size_t i = 0;
        while (i < SS_ARRAY_LEN(known) && strncmp(at, known[i], strlen(known[i])) != 0)
            i++;
        if (i == SS_ARRAY_LEN(known))
            refuse_reference(b, NULL, 0);
        at++;
    }
}

/* A default of an attribute in the file's own DTD; the event begins with its literal. */
static void check_default(void *ctx, const char *element, const char *name, const char *type,
                          const char *value, int is_required)
{
    const struct builder *b = ctx;
    const char *at = b->text + XML_GetCurrentByteIndex(b->parser);
    (void)element, (void)name, (void)type, (void)is_required;
    if (value) /* it ends with the quote that it begins with */
        check_references(ctx, at, memchr(at + 1, *at, (size_t)(b->end - at - 1)));
}

/* attrs: names and values in turn, then NULL. Namespaces are left out: nothing here has one. */
static struct ss_xml_node *take_node(struct ss_xml *doc, const char *name, int nattrs, const char **attrs)
{
    struct ss_xml_node *node = ss_arena_take(&doc->arena, sizeof *node, _Alignof(struct ss_xml_node));
    if (!node)
        return NULL;
    memset(node, 0, sizeof *node);
    node->tag = take_text(doc, name);
    node->attrs =
        ss_arena_take(&doc->arena, ((size_t)nattrs + 1) * sizeof *node->attrs, _Alignof(struct ss_xml_attr));
    if (!node->tag || !node->attrs)
        return NULL;
    for (int i = 0; i < nattrs; i++) {
        struct ss_xml_attr *a = &node->attrs[node->nattrs];
        if (!strncmp(attrs[2 * i], "xmlns", 5) && strchr(":", attrs[2 * i][5]))
            continue;
        if (!(a->name = take_text(doc, attrs[2 * i])) || !(a->value = take_text(doc, attrs[2 * i + 1])))
            return NULL;
        node->nattrs++;
    }
    return node;
}

static void append(struct builder *b, struct ss_xml_node *node)
{
    node->line = line_of(b);
    if (b->depth)
        node->parent = b->open[b->depth - 1];
    else
        b->doc->root = node;
    if (b->last[b->depth])
        b->last[b->depth]->next = node;
    else if (node->parent)
        node->parent->first_child = node;
    b->last[b->depth] = node;
    b->open[b->depth++] = node;
    b->last[b->depth] = NULL;
}

static void start_element(void *ctx, const char *name, const char **attrs)
{
    struct builder *b = ctx;
    const char *tag = b->text + XML_GetCurrentByteIndex(b->parser);
    int nattrs = 0;
    while (attrs[2 * nattrs])
        nattrs++;
    if (b->depth == MAX_DEPTH)
        stop(b, SS_ERR_INPUT, "elements are nested deeper than 256", "is a tag left unclosed?");
    else if (++b->elements > MAX_ELEMENTS)
        stop(b, SS_ERR_INPUT, "more than 4194304 elements", "is this the right file?");
    else if (nattrs > MAX_ATTRIBUTES)
        stop(b, SS_ERR_INPUT, "a tag with more than 256 attributes", "is this the right file?");
    check_references(b, tag, tag + XML_GetCurrentByteCount(b->parser));
    if (b->code)
        return;
    struct ss_xml_node *node = take_node(b->doc, name, nattrs, attrs);
    if (node)
        append(b, node);
    else
        stop(b, SS_ERR_NOMEM, "out of memory", "");
}

static void end_element(void *ctx, const char *name)
{
    struct builder *b = ctx;
    (void)name;
    if (!b->code)
        b->depth--;
}

/* Entities could make a small file large, or read other files; no platform needs them. */
static void refuse_entity(void *ctx, const char *name, int is_parameter, const char *value, int length,
                          const char *base, const char *system_id, const char *public_id,
                          const char *notation)
{
    (void)name, (void)is_parameter, (void)value, (void)length, (void)base, (void)system_id, (void)public_id,
        (void)notation;
    stop(ctx, SS_ERR_INPUT, "declares an entity", "write the text itself instead of <!ENTITY>");
}

/* Says what expat found wrong, and which tag is open where that is it. */
static void say_error(struct builder *b)
{
    enum XML_Error error = XML_GetErrorCode(b->parser);
    char message[200];

    if (error == XML_ERROR_NO_MEMORY) {
        stop(b, SS_ERR_NOMEM, "out of memory", "");
        return;
    }
    const struct ss_xml_node *open = b->depth ? b->open[b->depth - 1] : NULL;
    if (open && error == XML_ERROR_NO_ELEMENTS)
        snprintf(message, sizeof message, "the file ends inside <%.80s> of line %d", open->tag, open->line);
    else
        snprintf(message, sizeof message, "%s", XML_ErrorString(error));
    if (open && error == XML_ERROR_TAG_MISMATCH)
        ss_append(message, sizeof message, ": <%.80s> of line %d is open", open->tag, open->line);
    stop(b, SS_ERR_INPUT, message,
         error == XML_ERROR_UNKNOWN_ENCODING || error == XML_ERROR_INCORRECT_ENCODING
             ? "iconv makes UTF-8 of it"
             : "the file must be well-formed XML; look at this line and the one before");
}

static int run_parser(struct builder *b)
{
    b->parser = XML_ParserCreate(NULL);
    if (!b->parser)
        return ss_nomem(b->err);
    /* Nothing loads the external DTD that platform files name, or any other file. */
    XML_SetUserData(b->parser, b);
    XML_SetElementHandler(b->parser, start_element, end_element);
    XML_SetAttlistDeclHandler(b->parser, check_default);
    XML_SetEntityDeclHandler(b->parser, refuse_entity);
    XML_SetSkippedEntityHandler(b->parser, refuse_reference);
    if (XML_Parse(b->parser, b->text, (int)(b->end - b->text), 1) != XML_STATUS_OK)
        say_error(b);
    XML_ParserFree(b->parser);
    return b->code;
}

/* expat calls this "no element found". */
static bool is_blank(const char *text, size_t len)
{
    while (len && strchr(" \t\r\n", text[len - 1]) && text[len - 1])
        len--;
    return !len;
}

/* Codes of two bytes have zero bytes beside '<', and a mark may be before. */
static bool is_wide(const char *text, size_t len)
{
    return len > 1 && (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2) || !text[0] || !text[1]);
}

int ss_xml_parse(const char *text, size_t len, const char *name, struct ss_xml **out, struct ss_error *err)
{
    if (len > MAX_BYTES) {
        ss_fail(err, SS_ERR_INPUT, name, 0, "larger than 256 MiB");
        return ss_hint(err, SS_ERR_INPUT, "is this the right file?");
    }
    if (is_blank(text, len)) {
        ss_fail(err, SS_ERR_INPUT, name, 1, "the file is empty");
        return ss_hint(err, SS_ERR_INPUT, "an XML document was expected");
    }
    if (is_wide(text, len)) {
        ss_fail(err, SS_ERR_INPUT, name, 1, "not in UTF-8");
        return ss_hint(err, SS_ERR_INPUT, "is this the right file? iconv makes UTF-8 of it");
    }
    int rc;
    struct ss_xml *doc = ss_calloc(1, sizeof *doc);
    struct builder *b = ss_calloc(1, sizeof *b);
    if (!doc || !b || !(doc->file = strdup(name)))
        rc = ss_nomem(err);
    else {
        b->doc = doc;
        b->text = text;
        b->end = text + len;
        b->counted = text;
        b->line = 1;
        b->err = err;
        rc = run_parser(b);
    }
    free(b);
    if (rc)
        ss_xml_free(doc);
    else
        *out = doc;
    return rc;
}

int ss_xml_load(const char *path, struct ss_xml **out, struct ss_error *err)
{
    char *text;
    size_t len;
    int rc = ss_file_read(path, MAX_BYTES, &text, &len, err);
    if (rc)
        return rc;
    rc = ss_xml_parse(text, len, strcmp(path, "-") ? path : "stdin", out, err);
    free(text);
    return rc;
}

const struct ss_xml_node *ss_xml_root(const struct ss_xml *doc)
{
    return doc->root;
}

const char *ss_xml_attr(const struct ss_xml_node *node, const char *name)
{
    for (int i = 0; i < node->nattrs; i++)
        if (!strcmp(node->attrs[i].name, name))
            return node->attrs[i].value;
    return NULL;
}

void ss_xml_free(struct ss_xml *doc)
{
    if (!doc)
        return;
    ss_arena_free(&doc->arena);
    free(doc->file);
    free(doc);
}

void ss_xml_escape(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        size_t length = ss_utf8_length(c);
        if (length != 1) {
            fwrite(length ? c : "?", 1, length ? length : 1, out);
            c += length ? length - 1 : 0;
            continue;
        }
        switch (*c) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\t': fputs("&#9;", out); break;
        case '\n': fputs("&#10;", out); break;
        case '\r': fputs("&#13;", out); break;
        default: /* XML has no other control characters, not even escaped */
            putc((unsigned char)*c < ' ' ? '?' : *c, out);
        }
    }
}
