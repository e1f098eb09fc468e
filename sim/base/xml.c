/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <strings.h>

#include "base/xml.h"

#define MAX_BYTES (256u << 20)
#define MAX_DEPTH 256
#define MAX_ELEMENTS (4 << 20)
#define MAX_ATTRIBUTES 256
#define MAX_OTHER_BYTES (64u << 10) /* limit in an encoding whose attributes cannot be counted as bytes */

/* libxml2 is opened when a text comes that the build has not read (base/xml.h): with ICU behind it, to load it at every start
 * costs as much as a prediction. */
#define SS_XML_FUNCTIONS(X)                                                                                  \
    X(xmlInitParser)                                                                                         \
    X(xmlCreateMemoryParserCtxt)                                                                             \
    X(xmlCtxtUseOptions)                                                                                     \
    X(xmlParseDocument)                                                                                      \
    X(xmlStopParser)                                                                                         \
    X(xmlFreeDoc)                                                                                            \
    X(xmlFreeParserCtxt)                                                                                     \
    X(xmlSetStructuredErrorFunc)                                                                             \
    X(__xmlStructuredError)                                                                                  \
    X(__xmlStructuredErrorContext)

struct libxml2 {
#define SS_XML_FUNCTION(name) __typeof__(&name) name;
    SS_XML_FUNCTIONS(SS_XML_FUNCTION)
#undef SS_XML_FUNCTION
};

struct ss_xml {
    char *file; /* NULL: nothing can be said of it any more */
    struct ss_arena arena;
    struct ss_xml_node *root;
    int is_known;
};

struct builder {
    struct ss_xml *doc;
    const struct libxml2 *library;
    xmlParserCtxtPtr parser;
    int depth, elements;
    struct ss_xml_node *open[MAX_DEPTH];     /* path from the root to the current element */
    struct ss_xml_node *last[MAX_DEPTH + 1]; /* last element at each depth, to append to */
    bool failed;
    struct ss_error *err;
    int code;
};

/* Copies the text [begin, end) and puts "ns:" before it where there is a prefix. */
static char *take_text(struct ss_xml *doc, const xmlChar *prefix, const xmlChar *begin, size_t len)
{
    size_t plen = prefix ? strlen((const char *)prefix) + 1 : 0;
    char *text = ss_arena_take(&doc->arena, plen + len + 1, 1);
    if (!text)
        return NULL;
    if (prefix) {
        memcpy(text, prefix, plen - 1);
        text[plen - 1] = ':';
    }
    memcpy(text + plen, begin, len);
    text[plen + len] = '\0';
    return text;
}

/* Keeps the first failure, which is the cause; later ones are its echo. */
static void stop(struct builder *b, int code, int line, const char *message, const char *hint)
{
    if (b->failed)
        return;
    b->failed = true;
    b->code = ss_fail(b->err, code, b->doc->file, line, "%s", message);
    ss_hint(b->err, code, "%s", hint);
    b->library->xmlStopParser(b->parser);
}

/* Returns the line where the start tag that ends here begins: libxml2 itself knows only the line of its
 * end. */
static int tag_line(const xmlParserInput *input)
{
    int line = input->line;
    for (const xmlChar *c = input->cur; c > input->base && *c != '<'; c--)
        if (*c == '\n')
            line--;
    return line > 0 ? line : 1;
}

static struct ss_xml_node *take_node(struct ss_xml *doc, const xmlChar *name, const xmlChar *prefix,
                                     int nattrs, const xmlChar **attrs)
{
    struct ss_xml_node *node = ss_arena_take(&doc->arena, sizeof *node, _Alignof(struct ss_xml_node));
    if (!node)
        return NULL;
    memset(node, 0, sizeof *node);
    node->nattrs = nattrs;
    node->tag = take_text(doc, prefix, name, strlen((const char *)name));
    node->attrs =
        ss_arena_take(&doc->arena, ((size_t)nattrs + 1) * sizeof *node->attrs, _Alignof(struct ss_xml_attr));
    if (!node->tag || !node->attrs)
        return NULL;
    for (int i = 0; i < nattrs; i++) {
        const xmlChar **a = attrs + 5 * i; /* local name, prefix, URI, value begin, value end */
        node->attrs[i].name = take_text(doc, a[1], a[0], strlen((const char *)a[0]));
        node->attrs[i].value = take_text(doc, NULL, a[3], (size_t)(a[4] - a[3]));
        if (!node->attrs[i].name || !node->attrs[i].value)
            return NULL;
    }
    return node;
}

static void start_element(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                          int nspaces, const xmlChar **spaces, int nattrs, int ndefaulted,
                          const xmlChar **attrs)
{
    xmlParserCtxtPtr parser = ctx;
    struct builder *b = parser->_private;
    (void)uri, (void)nspaces, (void)spaces, (void)ndefaulted;
    int line = tag_line(parser->input);
    if (b->failed)
        return;
    if (b->depth == MAX_DEPTH) {
        stop(b, SS_ERR_INPUT, line, "elements are nested deeper than 256", "is a tag left unclosed?");
        return;
    }
    if (++b->elements > MAX_ELEMENTS) {
        stop(b, SS_ERR_INPUT, line, "more than 4194304 elements", "is this the right file?");
        return;
    }
    struct ss_xml_node *node = take_node(b->doc, name, prefix, nattrs, attrs);
    if (!node) {
        stop(b, SS_ERR_NOMEM, line, "out of memory", "");
        return;
    }
    node->line = line;
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

static void end_element(void *ctx, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    struct builder *b = ((xmlParserCtxtPtr)ctx)->_private;
    (void)name, (void)prefix, (void)uri;
    if (!b->failed)
        b->depth--;
}

/* Entities could make a small file large, or read other files; no platform needs them. */
static void refuse_entity(void *ctx, const xmlChar *name, int type, const xmlChar *public_id,
                          const xmlChar *system_id, xmlChar *content)
{
    xmlParserCtxtPtr parser = ctx;
    (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
    stop(parser->_private, SS_ERR_INPUT, parser->input->line, "declares an entity",
         "write the text itself instead of <!ENTITY>");
}

static void refuse_unparsed(void *ctx, const xmlChar *name, const xmlChar *public_id,
                            const xmlChar *system_id, const xmlChar *notation)
{
    (void)notation;
    refuse_entity(ctx, name, 0, public_id, system_id, NULL);
}

static void on_error(void *ctx, xmlErrorPtr error)
{
    xmlParserCtxtPtr parser = ctx;
    char message[400];
    if (error->level < XML_ERR_ERROR && error->code != XML_WAR_UNDECLARED_ENTITY)
        return;
    ss_copy(message, sizeof message, error->message ? error->message : "not well-formed XML");
    size_t len = strlen(message);
    while (len && (message[len - 1] == '\n' || message[len - 1] == ' '))
        message[--len] = '\0';
    bool memory = error->code == XML_ERR_NO_MEMORY;
    stop(parser->_private, memory ? SS_ERR_NOMEM : SS_ERR_INPUT, error->line, message,
         memory ? "" : "the file must be well-formed XML; look at this line and the one before");
}

/* libxml2 reports failed conversions of an encoding without a parser, and to standard error where nobody else
 * takes them. */
static void drop_error(void *ctx, xmlErrorPtr error)
{
    (void)ctx, (void)error;
}

#ifdef SS_XML_LINKED
static int open_library(struct libxml2 *out, const char *file, struct ss_error *err)
{
    (void)file, (void)err;
    *out = (struct libxml2){
#define SS_XML_FUNCTION(name) .name = name,
        SS_XML_FUNCTIONS(SS_XML_FUNCTION)
#undef SS_XML_FUNCTION
    };
    out->xmlInitParser();
    return SS_OK;
}

long ss_xml_version(void)
{
    return strtol(xmlParserVersion, NULL, 10);
}
#else
/* Newer releases lay their structs out differently, under another name. */
#if LIBXML_VERSION < 21400
#define LIBRARY "libxml2.so.2"
#else
#define LIBRARY "libxml2.so.16"
#endif

static int open_library(struct libxml2 *out, const char *file, struct ss_error *err)
{
    static const char *const names[] = {
#define SS_XML_FUNCTION(name) #name,
        SS_XML_FUNCTIONS(SS_XML_FUNCTION)
#undef SS_XML_FUNCTION
    };
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), *symbol = handle;

    for (size_t i = 0; symbol && i < SS_ARRAY_LEN(names); i++) {
        symbol = dlsym(handle, names[i]);
        memcpy((char *)out + i * sizeof symbol, &symbol, sizeof symbol);
    }
    if (!symbol)
        return ss_fail(err, SS_ERR_UNSUPPORTED, file, 0,
                       "cannot be read: %s" SS_HINT
                       "install libxml2, which reads all XML but the shipped files",
                       dlerror());
    out->xmlInitParser(); /* takes a lock of its own */
    return SS_OK;
}

long ss_xml_version(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *const *version = handle ? dlsym(handle, "xmlParserVersion") : NULL;
    return version ? strtol(*version, NULL, 10) : 0;
}
#endif

static int run_parser(struct builder *b, const char *text, size_t len, struct ss_error *err)
{
    /* Only these callbacks: nothing loads the external DTD that platform files name, or any other file. */
    xmlSAXHandler callbacks = {
        .initialized = XML_SAX2_MAGIC,
        .startElementNs = start_element,
        .endElementNs = end_element,
        .entityDecl = refuse_entity,
        .unparsedEntityDecl = refuse_unparsed,
        .serror = on_error,
    };
    struct libxml2 library, *xml = &library;
    SS_TRY(open_library(xml, b->doc->file, err));
    b->library = xml;
    b->parser = xml->xmlCreateMemoryParserCtxt(text, (int)len);
    SS_NEED(b->parser, err);
    /* NOENT: no entity can be declared, so it only makes &amp; and its kind plain characters. */
    xml->xmlCtxtUseOptions(b->parser, XML_PARSE_NONET | XML_PARSE_BIG_LINES | XML_PARSE_NOENT);
    *b->parser->sax = callbacks;
    b->parser->_private = b;
    xmlStructuredErrorFunc before = *xml->__xmlStructuredError();
    void *context = *xml->__xmlStructuredErrorContext();
    xml->xmlSetStructuredErrorFunc(NULL, drop_error);
    int rc = xml->xmlParseDocument(b->parser);
    xml->xmlSetStructuredErrorFunc(context, before);
    bool good = !rc && b->parser->wellFormed && b->doc->root;
    if (b->parser->myDoc) /* libxml2 makes a document for an internal DTD, whatever the callbacks */
        xml->xmlFreeDoc(b->parser->myDoc);
    xml->xmlFreeParserCtxt(b->parser);
    if (b->failed)
        return b->code;
    if (!good)
        return ss_fail(err, SS_ERR_INPUT, b->doc->file, 1, "not well-formed XML");
    return SS_OK;
}

/* libxml2 calls this "Document is empty", at line 1 or 0 as it happens. */
static bool is_blank(const char *text, size_t len)
{
    while (len && strchr(" \t\r\n", text[len - 1]) && text[len - 1])
        len--;
    return !len;
}

/* Returns whether '<', '=' and quotes are the bytes of ASCII, as far as the start of the document tells. */
static bool is_ascii_superset(const char *text, size_t len)
{
    static const char *const known[] = {"utf-8", "us-ascii", "ascii", "iso-8859-", "windows-125"};
    size_t mark = ss_byte_order_mark(text, len), n = len - mark < 200 ? len - mark : 200;
    char start[201];

    memcpy(start, text + mark, n);
    start[n] = '\0';
    if (strlen(start) < n || !strchr("< \t\r\n", start[0]))
        return false;
    char *end = strstr(start, "?>"), *at = strstr(start, "encoding");
    if (strncmp(start, "<?xml", 5) != 0 || (end && (!at || at > end)))
        return true; /* XML without a declaration is UTF-8 */
    at = at ? strpbrk(at, "\"'") : NULL;
    for (size_t i = 0; at && i < SS_ARRAY_LEN(known); i++)
        if (!strncasecmp(at + 1, known[i], strlen(known[i])))
            return true;
    return false;
}

/* Counts the attributes of each tag before libxml2 sees them. libxml2 compares each attribute of a tag with
 * all others before it calls back, so a file of 1 MiB could take minutes. A quoted value may hold '=', but no
 * '<'. */
static int check_tags(const char *text, size_t len, const char *name, struct ss_error *err)
{
    int line = 1, attributes = 0, begin = 1;

    if (len > MAX_OTHER_BYTES && !is_ascii_superset(text, len))
        return ss_fail(err, SS_ERR_INPUT, name, 1,
                       "larger than 64 KiB, and not in UTF-8" SS_HINT
                       "is this the right file? iconv makes UTF-8 of it");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\n')
            line++;
        if (text[i] == '<') {
            attributes = 0;
            begin = line;
        }
        if (text[i] != '=')
            continue;
        size_t next = i + 1;
        while (next < len && text[next] && strchr(" \t\r\n", text[next]))
            next++;
        if (next < len && (text[next] == '"' || text[next] == '\'') && ++attributes > MAX_ATTRIBUTES)
            return ss_fail(err, SS_ERR_INPUT, name, begin,
                           "a tag with more than 256 attributes" SS_HINT "is this the right file?");
    }
    return SS_OK;
}

int ss_xml_read(const char *text, size_t len, const char *name, struct ss_xml **out, struct ss_error *err)
{
    if (len > MAX_BYTES)
        return ss_fail(err, SS_ERR_INPUT, name, 0, "larger than 256 MiB" SS_HINT "is this the right file?");
    if (is_blank(text, len))
        return ss_fail(err, SS_ERR_INPUT, name, 1,
                       "the file is empty" SS_HINT "an XML document was expected");
    int rc = check_tags(text, len, name, err);
    if (rc)
        return rc;
    struct ss_xml *doc = ss_calloc(1, sizeof *doc);
    struct builder *b = ss_calloc(1, sizeof *b);
    if (!doc || !b || !(doc->file = strdup(name)))
        rc = ss_nomem(err);
    else {
        b->doc = doc;
        b->err = err;
        rc = run_parser(b, text, len, err);
    }
    free(b);
    SS_HAND(rc, doc, out, ss_xml_free);
}

int ss_xml_parse(const char *text, size_t len, const char *name, struct ss_xml **out, struct ss_error *err)
{
    struct ss_arena arena = {0};
    struct ss_xml_node *root = NULL;
    int rc = ss_xml_look(text, len, &arena, &root);
    if (!rc && !root)
        return ss_xml_read(text, len, name, out, err);
    struct ss_xml *doc = rc ? NULL : ss_calloc(1, sizeof *doc);
    if (!doc) {
        ss_arena_free(&arena);
        return ss_nomem(err);
    }
    *doc = (struct ss_xml){.arena = arena, .root = root, .is_known = 1};
    *out = doc;
    return SS_OK;
}

int ss_xml_load(const char *path, struct ss_xml **out, struct ss_error *err)
{
    char *text;
    size_t len;
    SS_TRY(ss_file_read(path, MAX_BYTES, &text, &len, err));
    int rc = ss_xml_parse(text, len, strcmp(path, "-") ? path : "stdin", out, err);
    free(text);
    return rc;
}

const struct ss_xml_node *ss_xml_root(const struct ss_xml *doc)
{
    return doc->root;
}

int ss_xml_is_known(const struct ss_xml *doc)
{
    return doc->is_known;
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
    SS_FREE(doc->file, doc);
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
