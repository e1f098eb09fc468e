/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/xml.h"
#include "suite.h"

static struct ss_xml *parse(const char *text)
{
    struct ss_xml *doc = NULL;
    struct ss_error e = {0};
    int rc = ss_xml_parse(text, strlen(text), "t.xml", &doc, &e);
    if (rc)
        printf("\n  unexpected: %s:%d: %s\n", e.file, e.line, e.message);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return doc;
}

/* Checks that len bytes of text fail at `line` with `part` in the message. */
static void refuse(const char *text, size_t len, int line, const char *part)
{
    struct ss_xml *doc = NULL;
    struct ss_error e = {0};
    int rc = ss_xml_parse(text, len, "t.xml", &doc, &e);
    if (rc != SS_ERR_INPUT || e.line != line || !strstr(e.message, part))
        printf("\n  %d, line %d: '%s' instead of line %d: '%s'\n", rc, e.line, e.message, line, part);
    CU_ASSERT(rc == SS_ERR_INPUT && e.line == line && strstr(e.message, part) && !strchr(e.message, '\n'));
    CU_ASSERT(!strcmp(e.file, "t.xml") && e.hint[0] && doc == NULL);
    CU_ASSERT_EQUAL(ss_xml_parse(text, len, "t.xml", &doc, NULL), SS_ERR_INPUT);
}

/* "<a", then n attributes, each with a name of its own, then the end; to be freed. */
static char *tag_of(int n, const char *end)
{
    char *text = malloc((size_t)n * 16 + strlen(end) + 8), *at = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    at += sprintf(at, "\n<a");
    for (int i = 0; i < n; i++)
        at += sprintf(at, " a%d%s", i, i % 2 ? "=''" : " =\n\"\"");
    strcpy(at, end);
    return text;
}

TEST(attributes_are_counted)
{
    static const char *const codes[] = {"UTF-16", "UTF-7", "EBCDIC-US"};
    char *text = tag_of(257, "/>"), *wide = malloc(70000);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wide);
    refuse(text, strlen(text), 2, "more than 256 attributes");
    free(text);
    text = tag_of(256, "><b c='=\"\"=\"'/></a>");
    ss_xml_free(parse(text));
    free(text);
    for (size_t i = 0; i < SS_ARRAY_LEN(codes); i++) {
        int n = sprintf(wide, "<?xml version='1.0' encoding='%s'?><a/>", codes[i]);
        memset(wide + n, ' ', 70000 - (size_t)n);
        refuse(wide, 70000, 1, "not in UTF-8");
        memcpy(wide, "<?xml version='1.0' encoding='iso-8859-1'?><a/>", 47);
    }
    memcpy(wide, "\xff\xfe<\0a\0/\0>\0", 10);
    refuse(wide, 70000, 1, "not in UTF-8");
    free(wide);
}

TEST(tree)
{
    struct ss_xml *doc = parse("<?xml version='1.0'?>\n"
                               "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                               "<platform version=\"4.1\">\n"
                               "  text <!-- note --> <zone id='a' x=''>\n"
                               "    <host\n"
                               "       id=\"h &amp; &lt;1&gt; &#233;\"\n"
                               "       speed='1f'/><![CDATA[ <zone> ]]>\n"
                               "  </zone><?pi data?>\n"
                               "  <link id='l'/>\n"
                               "</platform>\n");
    const struct ss_xml_node *root = ss_xml_root(doc), *zone, *host, *link;
    CU_ASSERT_STRING_EQUAL(root->tag, "platform");
    CU_ASSERT(root->line == 3 && root->parent == NULL && root->next == NULL);
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(root, "version"), "4.1");
    CU_ASSERT_PTR_NULL(ss_xml_attr(root, "versio"));
    zone = root->first_child;
    CU_ASSERT_PTR_NOT_NULL_FATAL(zone);
    CU_ASSERT(zone->line == 4 && zone->parent == root && zone->nattrs == 2);
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(zone, "x"), "");
    host = zone->first_child;
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    CU_ASSERT_EQUAL(host->line, 5); /* where the tag begins, not where it ends */
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(host, "id"), "h & <1> \xc3\xa9");
    CU_ASSERT(host->next == NULL && host->first_child == NULL);
    link = zone->next;
    CU_ASSERT_PTR_NOT_NULL_FATAL(link);
    CU_ASSERT_STRING_EQUAL(link->tag, "link");
    CU_ASSERT(link->line == 9 && link->parent == root && link->next == NULL);
    ss_xml_free(doc);
    ss_xml_free(NULL);
}

TEST(details)
{
    struct ss_xml *doc = parse("<a xmlns:n='u'><n:b n:c='1' c='2'/></a>");
    const struct ss_xml_node *b = ss_xml_root(doc)->first_child;
    CU_ASSERT_STRING_EQUAL(b->tag, "n:b");
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(b, "n:c"), "1");
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(b, "c"), "2");
    ss_xml_free(doc);
    doc = parse("\xef\xbb\xbf<a/>"); /* a byte order mark, as some editors write */
    ss_xml_free(doc);
    doc = parse("<?xml version='1.0' encoding='ISO-8859-1'?><a b='\xe9'/>");
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(ss_xml_root(doc), "b"), "\xc3\xa9");
    ss_xml_free(doc);
    /* An attribute's default from an internal DTD is a value like any other. */
    doc = parse("<!DOCTYPE a [<!ATTLIST a b CDATA 'd'>]><a/>");
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(ss_xml_root(doc), "b"), "d");
    ss_xml_free(doc);
}

TEST(refused)
{
    static const struct {
        const char *text, *part;
        int line;
    } cases[] = {
        {"", "empty", 1},
        {" \n\t", "empty", 1},
        {"hello", "Start tag expected", 1},
        {"<a>\n<b>\n</a>\n", "mismatch", 3},
        {"<a>\n<b/>\n", "end of data", 3},
        {"<a>\n<b c='1", "", 2},
        {"<a/>\n<b/>", "Extra content", 2},
        {"<a b='1'\nb='2'/>", "redefined", 2},
        {"<a>\n&foo;</a>", "foo", 2},
        {"<a b='&foo;'/>", "foo", 1},
        {"<!DOCTYPE a SYSTEM 'http://x.invalid/d'>\n<a>\n&foo;</a>", "foo", 3},
        {"<!DOCTYPE a SYSTEM 'http://x.invalid/d'>\n<a b='&foo;'/>", "foo", 2},
        {"<!DOCTYPE a [\n<!ENTITY foo 'bar'>]>\n<a>&foo;</a>", "declares an entity", 2},
        {"<!DOCTYPE a [<!ENTITY foo SYSTEM 'file:///etc/passwd'>]><a>&foo;</a>", "declares an entity", 1},
        {"<!DOCTYPE a [<!ENTITY % p SYSTEM 'file:///etc/passwd'> %p;]><a/>", "declares an entity", 1},
        {"<a n:b='1'/>", "prefix n", 1},
        {"<a>\n\x01</a>", "invalid Char", 2},
        {"<a>\n\xff\xfe</a>", "UTF-8", 2},
        {"<?xml version='1.0' encoding='no-such'?>\n<a/>", "encoding", 1},
        {"\x7f"
         "ELF\x02\x01\x01",
         "", 1},
        {"{ \"a\": 1 }", "Start tag expected", 1},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++)
        refuse(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].part);
    refuse("<a>\n\0</a>", 9, 2, "");
    refuse("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8, 1, "");
}

TEST(truncated)
{
    const char *text = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"d.dtd\">\n<platform>\n"
                       "<!-- c --><zone id=\"z&amp;\"><host id='h'>t</host></zone>\n</platform>";
    struct ss_xml *doc;
    struct ss_error e;
    for (size_t n = 0; n < strlen(text); n++) {
        char *cut = malloc(n ? n : 1); /* exact size: a read past the end shows under ASan */
        CU_ASSERT_PTR_NOT_NULL_FATAL(cut);
        memcpy(cut, text, n);
        CU_ASSERT_EQUAL(ss_xml_parse(cut, n, "t", &doc, &e), SS_ERR_INPUT);
        CU_ASSERT(e.line >= 1);
        free(cut);
    }
    doc = parse(text);
    ss_xml_free(doc);
}

static char *nested(int depth)
{
    char *text = malloc((size_t)depth * 7 + 1), *at = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < depth; i++)
        at += sprintf(at, "<a>");
    for (int i = 0; i < depth; i++)
        at += sprintf(at, "</a>");
    return text;
}

TEST(depth)
{
    char *text = nested(256);
    struct ss_xml *doc = parse(text);
    int depth = 0;
    for (const struct ss_xml_node *n = ss_xml_root(doc); n; n = n->first_child)
        depth++;
    CU_ASSERT_EQUAL(depth, 256);
    ss_xml_free(doc);
    free(text);
    text = nested(257);
    refuse(text, strlen(text), 1, "deeper than 256");
    free(text);
    text = nested(100000);
    refuse(text, strlen(text), 1, "deeper than 256");
    free(text);
}

TEST(large)
{
    /* More lines than the 65535 of an unsigned short, and more bytes than a block. */
    size_t cap = 4 << 20, n = 0;
    char *text = malloc(cap);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    n += (size_t)sprintf(text, "<a>\n");
    for (int i = 2; i <= 100001; i++)
        n += (size_t)sprintf(text + n, "<b i='%d'/>\n", i);
    sprintf(text + n, "</a>");
    struct ss_xml *doc = parse(text);
    int wrong = 0, count = 0;
    for (const struct ss_xml_node *b = ss_xml_root(doc)->first_child; b; b = b->next, count++)
        wrong += b->line != atoi(ss_xml_attr(b, "i"));
    CU_ASSERT(count == 100000 && !wrong);
    ss_xml_free(doc);
    strcpy(text + n, "</b>");
    refuse(text, strlen(text), 100002, "mismatch");
    n = (size_t)sprintf(text, "<a v='");
    memset(text + n, 'x', 1 << 20);
    strcpy(text + n + (1 << 20), "'/>");
    doc = parse(text);
    CU_ASSERT_EQUAL(strlen(ss_xml_attr(ss_xml_root(doc), "v")), 1 << 20);
    ss_xml_free(doc);
    free(text);
}

TEST(load)
{
    char path[] = "/tmp/stepsim-xml-XXXXXX";
    struct ss_xml *doc;
    struct ss_error e = {0};
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL(write(fd, "<a>\n</b>", 8), 8);
    CU_ASSERT_EQUAL(ss_xml_load(path, &doc, &e), SS_ERR_INPUT);
    CU_ASSERT(!strcmp(e.file, path) && e.line == 2);
    CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
    CU_ASSERT_EQUAL(pwrite(fd, "<a b='c'/>", 10, 0), 10);
    CU_ASSERT_EQUAL_FATAL(ss_xml_load(path, &doc, &e), 0);
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(ss_xml_root(doc), "b"), "c");
    ss_xml_free(doc);
    /* A sparse file just above the limit. */
    CU_ASSERT_EQUAL(ftruncate(fd, (256 << 20) + 1), 0);
    CU_ASSERT_EQUAL(ss_xml_load(path, &doc, &e), SS_ERR_INPUT);
    CU_ASSERT(strstr(e.message, "larger than") != NULL);
    close(fd);
    unlink(path);
    CU_ASSERT_EQUAL(ss_xml_load(path, &doc, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_xml_load("/", &doc, &e), SS_ERR_IO);
}

TEST(escape)
{
    char *out = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&out, &size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("<a b=\"", f);
    ss_xml_escape(f, "x & <y> \"z\" 'q'\n\t\r \xc3\xa9");
    fputs("\"/>", f);
    fclose(f);
    struct ss_xml *doc = parse(out);
    CU_ASSERT_STRING_EQUAL(ss_xml_attr(ss_xml_root(doc), "b"), "x & <y> \"z\" 'q'\n\t\r \xc3\xa9");
    ss_xml_free(doc);
    free(out);
    f = open_memstream(&out, &size);
    ss_xml_escape(f, "a\x01"
                     "b");
    fclose(f);
    CU_ASSERT_STRING_EQUAL(out, "a?b");
    free(out);
}

/* ---- shipped documents, which the build has read ---- */

static int same_attrs(const struct ss_xml_node *a, const struct ss_xml_node *b)
{
    for (int i = 0; i < a->nattrs && i < b->nattrs; i++)
        if (strcmp(a->attrs[i].name, b->attrs[i].name) != 0 ||
            strcmp(a->attrs[i].value, b->attrs[i].value) != 0)
            return 0;
    return a->nattrs == b->nattrs;
}

/* Whether two trees are equal; *n counts their tags. */
static int same_trees(const struct ss_xml_node *a, const struct ss_xml_node *b, int *n)
{
    for (; a && b; a = a->next, b = b->next, ++*n)
        if (strcmp(a->tag, b->tag) != 0 || a->line != b->line || !same_attrs(a, b) ||
            !a->parent != !b->parent || (a->first_child && a->first_child->parent != a) ||
            !same_trees(a->first_child, b->first_child, n))
            return 0;
    return !a && !b;
}

/* A text of the build gives the tree of libxml2; with one byte more it is libxml2's. */
static int check_made(const char *path)
{
    struct ss_xml_node *made = NULL, *other = NULL;
    struct ss_arena arena = {0};
    struct ss_xml *read = NULL;
    char *text, *longer;
    size_t len;
    int n = 0;
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 1 << 20, &text, &len, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_xml_look(text, len, &arena, &made), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_xml_read(text, len, path, &read, NULL), SS_OK);
    CU_ASSERT(made && same_trees(made, ss_xml_root(read), &n));
    longer = malloc(len + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(longer);
    memcpy(longer, text, len);
    longer[len] = '\n';
    CU_ASSERT(!ss_xml_look(longer, len + 1, &arena, &other) && !other);
    longer[len / 2] ^= 1;
    CU_ASSERT(!ss_xml_look(longer, len, &arena, &other) && !other);
    ss_arena_free(&arena);
    ss_xml_free(read);
    free(text);
    free(longer);
    return n;
}

TEST(shipped)
{
    static const char *const kinds[] = {"platforms", "platforms/cards", "workloads/stacks",
                                        "workloads/libraries"};
    for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++) {
        char **names, path[4096];
        size_t n;
        int tags = 0;
        CU_ASSERT_EQUAL_FATAL(ss_data_list(kinds[k], ".xml", &names, &n, NULL), SS_OK);
        for (size_t i = 0; i < n; i++) {
            CU_ASSERT_EQUAL_FATAL(ss_data_find(kinds[k], names[i], ".xml", path, sizeof path, NULL), SS_OK);
            tags += check_made(path);
        }
        CU_ASSERT(n > 1 && tags > (int)n);
        ss_names_free(names, n);
    }
}
