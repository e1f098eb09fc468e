/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that the build has read: texts that are shipped, with their trees as numbers. */
#pragma once

#include "base/arena.h"
#include "base/base.h"

/* A tag in document order: its depth, from 0 of the root, line, tag, number of attributes, then name and value of each. Texts are
 * places in `strings`. */
enum { SS_XML_DEPTH, SS_XML_LINE, SS_XML_TAG, SS_XML_NATTRS, SS_XML_HEAD };
struct ss_xml_made {
    size_t bytes;
    const char *text, *strings;
    const uint32_t *tags;
    int ntags, nattrs; /* in all */
};

/* Made by cmake/xml.c of platforms/ and workloads/; ends with .text NULL. */
extern const struct ss_xml_made ss_xml_made[];

/* xml_made.c. Builds the tree of a text that the build has read, byte for byte; *root stays NULL where there is none. Error:
 * SS_ERR_NOMEM. */
int ss_xml_look(const char *text, size_t len, struct ss_arena *arena, struct ss_xml_node **root);

/* xml.c. Reads any text by libxml2, as ss_xml_parse. */
int ss_xml_read(const char *text, size_t len, const char *name, struct ss_xml **out, struct ss_error *err);
