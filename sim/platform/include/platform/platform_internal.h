/* SPDX-License-Identifier: Apache-2.0 */
/* Layer 1, private: what the files of this room share. */
#pragma once

#include "base/base.h"
#include "stepsim/params.h"
#include "stepsim/platform.h"

#define SS_MAX_MESH_GPUS 64
/* Most hosts that a file may name one by one; a template needs one node. */
#define SS_MAX_HOSTS 65536
/* Routes of a file that is not ours are kept pair by pair: 4096 GPUs are 17 million pairs, 1 GB. They are asked for in pieces. */
#define SS_MAX_FOREIGN_GPUS 4096
#define SS_ASKED_PAIRS (1 << 20)
/* GPUs that stepsim writes one by one */
#define SS_MAX_WRITTEN_GPUS 1024
#define SS_MAX_UNCACHED_GPUS 256

enum ss_template_kind { SS_TEMPLATE_NONE, SS_TEMPLATE_NVSWITCH, SS_TEMPLATE_MESH };

/* A file that is not a template: links by index, routes by ordered pair. */
struct ss_foreign_link {
    char *name;
    int kind;
    double bandwidth, latency;
};
struct ss_foreign_route {
    int first, nlinks; /* into pool */
    double latency;
};
struct ss_foreign {
    int ngpus;
    char **gpus; /* host names, node by node */
    int nlinks;
    struct ss_foreign_link *links;
    struct ss_foreign_route *routes; /* [src * ngpus + dst] */
    size_t npool, pool_cap;
    int *pool;
};

struct ss_platform {
    char name[64];
    char file[256];
    struct ss_card card;
    struct ss_library library; /* of collectives */
    char library_file[256];    /* as the card, or the file, names it; "": neither does */
    char fabric[24];           /* ss.fabric.name */
    char price_basis[160];     /* ss.price.basis */
    const char *fabric_word;   /* with which names of its links begin: "nvlink", or "fabric" of any other */
    char *assumed;             /* words of ss.assumed, separated by one space */
    char *untaken; /* what of SimGrid's <config> is not taken, "network/model=SMPI, ..."; NULL: nothing */
    bool has_card; /* the file names its card itself */
    int nodes, gpus_per_node, nics_per_node;
    /* nodes that one fabric switch may join, 0: none; for templates only, like the next four */
    int fabric_nodes;
    int joined; /* nodes that were joined to each node of this platform, 0: none */
    int template_kind;
    int nodes_per_leaf;
    double oversubscription;              /* NIC bandwidth below a leaf over the leaf's uplink */
    double bandwidth[SS_LINK_KIND_COUNT]; /* of the uplink: derived */
    double latency[SS_LINK_KIND_COUNT];
    struct ss_foreign *foreign; /* NULL for a template */
};

/* ---- platform.c ---- */
/* Parses a platform from memory; `name` stands for the file in messages and for the asker. */
int ss_platform_parse(const char *text, size_t len, const char *name,
                      const struct ss_platform_options *options, struct ss_platform **out,
                      struct ss_error *err);
/* depth: how many files lead here by ss.base. */
int ss_platform_from_document(const struct ss_xml *doc, const char *name,
                              const struct ss_platform_options *options, int depth, struct ss_platform **out,
                              struct ss_error *err);
/* Sets a prop of a card, link or cluster that has been read. */
int ss_platform_put(struct ss_platform *p, int prop, double value, struct ss_error *err);
/* "dir/h800.xml" -> "h800" */
void ss_platform_base_name(const char *path, char *out, size_t size);

/* ---- props.c: the ss. props of a platform file and of the cards that it names ---- */
struct ss_prop_value {
    double number;
    const char *text; /* NULL: not given */
    const char *file;
    int line, step; /* step: a later step overrides an earlier one */
};
struct ss_props {
    struct ss_prop_value value[SS_PROP_PLATFORM_COUNT];
    struct ss_prop_value card_assumed; /* ss.assumed of the card that ss.card.base names */
    int steps, depth;                  /* depth: cards that stand on one another */
    int outside;                       /* the last step of a card that is given beside the file, 0: none is */
    struct ss_card_files *files;       /* of the cards: hold the texts above. Not owned, not NULL */
};
/* Returns the number of a prop; `missing` where it is not given. */
static inline double ss_props_number(const struct ss_props *props, int prop, double missing)
{
    return props->value[prop].text != NULL ? props->value[prop].number : missing;
}
/* Error for an unknown id, with the nearest one as hint. */
int ss_prop_unknown(const char *id, const char *file, int line, struct ss_error *err);
/* The <prop> of that index among node's first children; NULL: there is none. */
const struct ss_xml_node *ss_props_find(const struct ss_xml_node *node, int prop);
/* Adds the ss. props among node's children to the inherited ones, after those of the card that they name.
 * Other props are left alone. */
int ss_props_read(struct ss_props *props, const struct ss_xml_node *node, int where, const char *file,
                  struct ss_error *err);
/* Begins with a card that is given beside the file; card may be NULL. */
int ss_props_begin(struct ss_props *props, const char *card, struct ss_error *err);
/* Does so without the card that the node names. */
int ss_props_read_own(struct ss_props *props, const struct ss_xml_node *node, int where, const char *file,
                      struct ss_error *err);
/* Fills the card; one error at `line` that names all required props that are missing. */
int ss_props_card(const struct ss_props *props, const char *file, int line, struct ss_card *card,
                  struct ss_error *err);
/* Notes whose prices the card's example is of. */
int ss_props_basis(const struct ss_props *props, struct ss_platform *p, struct ss_error *err);
/* Loads the library that the card, or the file, names, NCCL where neither does. The error is at that line. */
int ss_props_library(const struct ss_props *props, struct ss_platform *p, struct ss_error *err);
/* Returns whether a name of a fabric or library has letters, digits and -_.+ alone, and blanks behind the first. */
bool ss_name_is_plain(const char *name);
/* Takes the name of the fabric, NVLink where neither has one, and the word of its links. */
int ss_props_fabric(const struct ss_props *props, struct ss_platform *p, struct ss_error *err);
/* Checks the words of ss.assumed, of the file and of its card; *out (malloc'ed): the file's words, then the
 * card's for props that the file does not give itself. */
int ss_props_assumed(const struct ss_props *props, const char *fabric_word, char **out, struct ss_error *err);

/* ---- card.c: platforms/cards/NAME.xml ---- */
struct ss_card_file {
    char *name, *path;
    struct ss_xml *doc;
    struct ss_card_file *next;
};
/* The card files that a platform names, each once; starts as {.read = list of files read, or NULL}. */
struct ss_card_files {
    struct ss_card_file *first;
    struct ss_files *read;
};
void ss_card_files_free(struct ss_card_files *files);
/* From the prop ss.kind (may be NULL), else from the name's prefix. */
int ss_link_kind_of(const char *name, const char *kind, const char *fabric_word);

/* ---- quantity.c: values of SimGrid's own attributes ---- */
enum ss_quantity { SS_QUANTITY_BANDWIDTH, SS_QUANTITY_TIME, SS_QUANTITY_SPEED };
/* Number with SimGrid's units; of a list of speeds the first. 0 or SS_ERR_INPUT with *why. */
int ss_quantity_parse(const char *text, int quantity, double *out, const char **why);
/* Returns the value of an attribute that the schema has checked; 0: it is missing or empty. */
double ss_quantity_of(const struct ss_xml_node *node, const char *attr, int quantity);

/* ---- schema.c: tags, attributes, order and values of a SimGrid platform ---- */
/* is_known 1: a shipped text (ss_xml_is_known), of which the root alone is looked at, for it may be a card. */
int ss_schema_check(const struct ss_xml_node *root, int is_known, const char *file, struct ss_error *err);
/* Checks the root and the zone of a file with ss.base. */
int ss_schema_check_variant(const struct ss_xml_node *root, const char *file, struct ss_error *err);
/* Is it this tag, or SimGrid's older name of it? */
bool ss_tag_is(const struct ss_xml_node *node, const char *tag);
/* The outermost zone, behind <config>; NULL: there is none. */
const struct ss_xml_node *ss_zone_of(const struct ss_xml_node *root);
/* Is it one of these, " route zoneRoute "? */
bool ss_tag_in(const struct ss_xml_node *node, const char *tags_spaced);

/* ---- index.c: names of a file ---- */
enum ss_entry_kind { SS_ENTRY_HOST, SS_ENTRY_ROUTER, SS_ENTRY_ZONE, SS_ENTRY_LINK };
struct ss_entry {
    const char *name; /* in the document or in the index's own strings */
    int kind;
    int zone;  /* entry of the zone it stands in, -1 at the top */
    int order; /* document order */
    const struct ss_xml_node *node;
    double bandwidth, latency; /* links, one direction */
    int fatpipe;
    const char *base; /* SPLITDUPLEX: the link's id without _UP or _DOWN, else NULL */
};
struct ss_index {
    struct ss_entry *points, *links; /* document order */
    size_t npoints, points_cap, nlinks, links_cap;
    int *point_by_name, *link_by_name;
    char **strings; /* names made up for clusters and directions */
    size_t nstrings, strings_cap;
    int nhosts;
};
int ss_index_build(struct ss_index *ix, const struct ss_xml_node *root, const char *file,
                   struct ss_error *err);
void ss_index_free(struct ss_index *ix);
/* Index of the entry, -1 if none. */
int ss_index_point(const struct ss_index *ix, const char *name);
int ss_index_link(const struct ss_index *ix, const char *name);

/* ---- refs.c: routes name what exists, and every host can be reached ---- */
int ss_refs_check(const struct ss_index *ix, const struct ss_xml_node *root, const char *file,
                  struct ss_error *err);

/* ---- template.c: our clusters, by arithmetic ---- */
/* One element of a template's XML, in the order of the file. */
struct ss_item {
    int section; /* changes where a comment is due: enum ss_section */
    const char *tag;
    char id[48];         /* host, router, link; a route's src */
    char dst[48];        /* route */
    char link[48];       /* route */
    double value, delay; /* host: speed; link: bandwidth and latency */
};
enum ss_section {
    SS_SECTION_NODE,
    SS_SECTION_NETWORK,
    SS_SECTION_FABRIC_ROUTES,
    SS_SECTION_NIC_ROUTES,
    SS_SECTION_UPLINK_ROUTES
};
typedef int (*ss_item_visitor)(void *ctx, const struct ss_item *item);
/* Visits every element of the body for p->nodes nodes; stops at the first nonzero result. */
int ss_template_walk(const struct ss_platform *p, ss_item_visitor visit, void *ctx);
/* Fills p from a zone that carries ss.template, checks that the body is what the template says,
 * then sets `nodes` (0: as in the file). */
int ss_template_read(struct ss_platform *p, const struct ss_xml_node *zone, const struct ss_props *props,
                     int nodes, struct ss_error *err);
/* Checks sizes that any way of making a template must keep. */
int ss_template_check_size(const struct ss_platform *p, int line, struct ss_error *err);
void ss_template_derive(struct ss_platform *p); /* uplink bandwidth */
double ss_template_speed(const struct ss_platform *p);
int ss_template_link_count(const struct ss_platform *p);
void ss_template_link(const struct ss_platform *p, int index, struct ss_link *out);
int ss_template_link_kind(const struct ss_platform *p, int index);
/* topology.c: parts of a platform's XML. The beginning is open for elements of its outermost zone; the end tells whether all is written. */
void ss_topology_begin(FILE *out, const char *name, const char *routing, const char *comment);
void ss_topology_word(FILE *out, int prop, const char *text);
void ss_topology_prop(FILE *out, int prop, double value);
/* kind: of ss.kind, and policy: each may be NULL. */
void ss_topology_link(FILE *out, const char *name, const char *kind, const char *policy, double bandwidth,
                      double latency);
void ss_topology_route(FILE *out, const char *src, const char *dst, const char *link);
int ss_topology_end(FILE *out, struct ss_error *err);
/* Writes p with its own nodes; nodes: what ss.nodes says, 0: nothing. card: what ss.card.base names, NULL: all props of the
 * card. topology.c */
int ss_template_write(const struct ss_platform *p, int nodes, const char *card, FILE *out,
                      struct ss_error *err);
void ss_template_route(const struct ss_platform *p, int src, int dst, struct ss_route *out);

/* ---- foreign.c: any other SimGrid platform ---- */
/* props: of the root's zone; gets the GPUs of a node from the options where the file does not say them. */
int ss_foreign_read(struct ss_platform *p, const struct ss_xml_node *root, const struct ss_index *ix,
                    struct ss_props *props, const struct ss_platform_options *options, struct ss_error *err);
void ss_foreign_free(struct ss_foreign *f);
double ss_foreign_bandwidth(const struct ss_platform *p, int kind);

/* ---- node_import.c ---- */
int ss_platform_import_text(const char *text, size_t len, const char *name, struct ss_platform **out,
                            char *note, unsigned long note_size, struct ss_error *err);
