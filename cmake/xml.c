/* SPDX-License-Identifier: Apache-2.0 */
/* usage: xml FILE... Writes texts and trees of XML files as C (base/xml.h), as libxml2 reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xml.h"

const struct ss_xml_made ss_xml_made[] = {{0}}; /* this program reads all itself */

static struct {
    char *text[65536];
    uint32_t at[65536], n, end;
} strings;

/* Returns the place of a text, the same for equal ones. */
static uint32_t place(const char *text)
{
    for (uint32_t i = 0; i < strings.n; i++)
        if (!strcmp(strings.text[i], text))
            return strings.at[i];
    if (strings.n == SS_ARRAY_LEN(strings.at) || !(strings.text[strings.n] = strdup(text))) {
        fprintf(stderr, "too many texts\n");
        exit(1);
    }
    strings.at[strings.n++] = strings.end;
    strings.end += (uint32_t)strlen(text) + 1;
    return strings.at[strings.n - 1];
}

static void write_bytes(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (i % 80 == 0)
            printf("%s\"", i ? "\"\n" : "");
        printf(text[i] >= ' ' && text[i] <= '~' && !strchr("\"\\?", text[i]) ? "%c" : "\\%03o",
               (unsigned char)text[i]);
    }
    printf(len ? "\"" : "\"\"");
}

static void write_tags(const struct ss_xml_node *node, int depth, int *ntags, int *nattrs)
{
    for (; node; node = node->next) {
        printf("%d,%d,%u,%d,", depth, node->line, place(node->tag), node->nattrs);
        for (int i = 0; i < node->nattrs; i++)
            printf("%u,%u,", place(node->attrs[i].name), place(node->attrs[i].value));
        printf("\n");
        ++*ntags;
        *nattrs += node->nattrs;
        write_tags(node->first_child, depth + 1, ntags, nattrs);
    }
}

int main(int argc, char **argv)
{
    int(*counts)[2] = ss_calloc((size_t)argc, sizeof *counts);
    size_t *bytes = ss_calloc((size_t)argc, sizeof *bytes);

    if (!counts || !bytes)
        return 1;
    printf("/* Made by cmake/xml.c. */\n#include \"base/xml.h\"\n");
    for (int i = 1; i < argc; i++) {
        struct ss_xml *doc;
        struct ss_error err;
        char *text;
        if (ss_file_read(argv[i], (size_t)64 << 20, &text, &bytes[i], &err) ||
            ss_xml_read(text, bytes[i], argv[i], &doc, &err)) {
            fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
            return 1;
        }
        printf("static const uint32_t tags_%d[] = {\n", i);
        write_tags(ss_xml_root(doc), 0, &counts[i][0], &counts[i][1]);
        printf("};\nstatic const char text_%d[] =\n", i);
        write_bytes(text, bytes[i]);
        printf(";\n");
        ss_xml_free(doc);
        free(text);
    }
    printf("static const char strings[] = \n");
    for (uint32_t i = 0; i < strings.n; i++) {
        write_bytes(strings.text[i], strlen(strings.text[i]));
        printf("\"\\0\"\n");
        free(strings.text[i]);
    }
    printf(";\nconst struct ss_xml_made ss_xml_made[] = {\n");
    for (int i = 1; i < argc; i++)
        printf("{%zu,text_%d,strings,tags_%d,%d,%d},\n", bytes[i], i, i, counts[i][0], counts[i][1]);
    printf("{0}};\n");
    free(counts);
    free(bytes);
    return 0;
}
