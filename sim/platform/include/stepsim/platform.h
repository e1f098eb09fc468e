/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Platforms: clusters of one kind of card and nodes of equal size, with links and routes. A platform is read from a SimGrid
 * platform XML in which every GPU is a <host>; what SimGrid has no tag for is a <prop id="ss.…">
 * (docs/reference/formats-platform.md). GPUs count from 0: GPU g is GPU g % gpus_per_node of node g / gpus_per_node. plan.h
 * places ranks on GPUs.
 *
 * ss_platform_load comes first and ss_platform_free last. Between them any number of threads may read the platform; while a
 * thread calls ss_platform_set no other may use it.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "stepsim/card.h"
#include "stepsim/library.h"
#include "stepsim/network.h"

SS_C_BEGIN

/* The links that a message crosses from one GPU to another. */
struct ss_route {
    int nlinks;
    int link[SS_ROUTE_MAX]; /* link indices, source first */
    double latency;         /* s, sum over the links */
};

struct ss_platform;

/* Answers for routes that only the SimGrid kernel can work out: it sets routes[i] to the names of the links between the hosts
 * of pair i, separated by spaces, in memory that the caller frees. Behind a name may stand SS_ROUTE_VALUES, its bandwidth in
 * bytes/s, SS_ROUTE_VALUES and its latency in s: a link that the file does not declare has them from there.
 * ss_simgrid_ask_routes (replay.h) is one. */
typedef int (*ss_route_asker)(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
                              struct ss_error *err);

struct ss_platform_options {
    int nodes;            /* nodes to take; 0: as many as the file has */
    ss_route_asker asker; /* NULL: a file whose routes only SimGrid can work out is refused */
    int gpus_per_node; /* GPUs to take of each node of a template; of another file that does not say how many GPUs a node
                               has, that number; 0: all, or as the file says */
    struct ss_files *files; /* gets the files that are read; may be NULL */
    const char *
        card; /* name or path of the card of a file that names none; of another it must be the card; may be NULL */
};

/* Loads a card by name (platforms/cards/NAME.xml of the data) or by path into *out. Errors: SS_ERR_IO (no such file),
 * SS_ERR_INPUT. */
int ss_card_load(const char *name_or_path, struct ss_card *out, struct ss_error *err);
/* Returns 1 when the model of a GPU, "NVIDIA H100 80GB HBM3", names the card "H100-80GB": it holds the card's name up to the
 * dash as a word of its own, and no word that makes it another card (PCIe, NVL and the like). */
int ss_card_is_named(const char *model, const char *card);
/* Loads a platform by name (platforms/NAME.xml of the data) or by path; `options` may be NULL: all zero. The caller frees *out
 * with ss_platform_free. A file whose zone has <prop id="ss.template"> is a template: options->nodes may be any number as
 * long as there are at most 1,048,576 GPUs. The first options->nodes nodes of any other file are taken. Errors: SS_ERR_IO (no
 * such file), SS_ERR_INPUT (a damaged or incomplete file, of which all missing props of the card are named at once; more
 * nodes or GPUs than there are), SS_ERR_USAGE (options->nodes outside 0..1,048,576), SS_ERR_UNSUPPORTED (what SimGrid knows and
 * stepsim does not), and those of the asker. */
int ss_platform_load(const char *name_or_path, const struct ss_platform_options *options,
                     struct ss_platform **out, struct ss_error *err);
/* What a file's <config> says of SimGrid's own kernel, which no prediction takes: "network/model=SMPI, ...", or "". */
const char *ss_platform_untaken(const struct ss_platform *p);
/* Returns 1 for a template: its links follow from values of the file, where other files write each of them. */
int ss_platform_is_template(const struct ss_platform *p);
/* A copy of a template, with its values of now; the caller frees *out with ss_platform_free. Other files, whose routes are many,
 * have no copy: *out is NULL. Error: SS_ERR_NOMEM. */
int ss_platform_copy(const struct ss_platform *p, struct ss_platform **out, struct ss_error *err);
/* Frees a platform, and with it all texts and the card that the functions below returned. NULL is allowed. */
void ss_platform_free(struct ss_platform *p);

/* Returns the name of the platform, that of its file without folder and suffix. It belongs to `p`. */
const char *ss_platform_name(const struct ss_platform *p);
/* Returns the path of the file that the platform was read from. It belongs to `p`. */
const char *ss_platform_file(const struct ss_platform *p);
/* Returns the FNV-1a hash of all values of the platform that a prediction reads, the same on every machine. */
uint64_t ss_platform_hash(const struct ss_platform *p);
/* Returns the card of all GPUs. It belongs to `p` and shows what ss_platform_set changes. */
const struct ss_card *ss_platform_card(const struct ss_platform *p);
/* Returns the library of collectives that the card is used with. It belongs to `p`. */
const struct ss_library *ss_platform_library(const struct ss_platform *p);
/* Returns the name or path by which the card, or the file, names that library; NULL: neither does, and it is nccl. */
const char *ss_platform_library_file(const struct ss_platform *p);
/* Returns what the links inside a node are called, "NVLink" or "xGMI". Never NULL. */
const char *ss_platform_fabric(const struct ss_platform *p);
/* Returns the word with which the names of these links begin: "nvlink", or "fabric". Never NULL. */
const char *ss_platform_fabric_word(const struct ss_platform *p);
/* Returns the number of nodes, >= 1. */
int ss_platform_nodes(const struct ss_platform *p);
/* Returns the number of GPUs of a node, >= 1. */
int ss_platform_gpus_per_node(const struct ss_platform *p);
/* Returns how many nodes of the file a switch of the fabric joins to each node of this platform (ss.fabric.nodes), >= 1: --nodes and
 * --gpus-per-node speak of those of the file, all functions here of what they are joined to. */
int ss_platform_joined_nodes(const struct ss_platform *p);
/* Returns how many nodes of the file a switch of the fabric may join, as many as it has room for; 0: there is no such switch. */
int ss_platform_most_joined(const struct ss_platform *p);
/* Returns how many nodes of the file it would join to each if the cluster had so many, which are domains of equal size; 0: these do not
 * divide into such. */
int ss_platform_joins(const struct ss_platform *p, int nodes);
/* Returns the number of nodes as --nodes counts them: those of the file, joined or not, >= 1. */
int ss_platform_file_nodes(const struct ss_platform *p);
/* Returns the number of GPUs of a node of the file, >= 1. GPU g of ss_platform_route is the (g % this)-th of node g / this. */
int ss_platform_file_gpus(const struct ss_platform *p);
/* Returns the number of NICs of a node, >= 0. */
int ss_platform_nics_per_node(const struct ss_platform *p);
/* Returns the bandwidth of one NIC in bytes/s, one direction; 0: there is none. */
double ss_platform_nic_bandwidth(const struct ss_platform *p);
/* Returns 1 for a template in which each pair of GPUs of a node has a link of its own (ss.template = "mesh"). */
int ss_platform_is_mesh(const struct ss_platform *p);
/* Returns the bandwidth of one GPU's fabric (NVLink, xGMI) in bytes/s, one direction, in a mesh to all its neighbours together; 0: there is
 * none. */
double ss_platform_fabric_bandwidth(const struct ss_platform *p);
/* Returns the props that the file marks as assumed, "nic.bandwidth nic.latency"; "" where it marks none. The text
 * belongs to `p`. */
const char *ss_platform_assumed(const struct ss_platform *p);

/* Returns whose prices the card's example of a price is of (ss.price.basis), "" where the file does not say it. It belongs to `p`. */
const char *ss_platform_price_basis(const struct ss_platform *p);

/* Returns how many nodes of a template share leaf switches; 0 where there are none, and of a file that is no template. In a template
 * the links of node n are numbered behind those of node n - 1, as many for each, and those of the leaves likewise behind all
 * nodes'. */
int ss_platform_leaf_nodes(const struct ss_platform *p);
/* Returns the number of links, each direction counted. */
int ss_platform_link_count(const struct ss_platform *p);
/* Fills *out with link `index`, 0 <= index < ss_platform_link_count. */
void ss_platform_link(const struct ss_platform *p, int index, struct ss_link *out);
/* Sets *kind (enum ss_link_kind) and *bandwidth (bytes/s) of link `index`: ss_platform_link without the name, which takes
 * most of its time. */
void ss_platform_link_facts(const struct ss_platform *p, int index, int *kind, double *bandwidth);
/* Fills *out with the route from GPU src to GPU dst, which must differ. */
void ss_platform_route(const struct ss_platform *p, int src, int dst, struct ss_route *out);

/* Sets a prop of the card, the links or the cluster (params.h) from a text with a unit: ss_platform_set(p,
 * "ss.nic.bandwidth", "25GBps", &err). A prop of links changes all links of that kind. Errors: SS_ERR_INPUT (no such prop,
 * no value of it, or a prop that this platform does not have). */
int ss_platform_set(struct ss_platform *p, const char *id, const char *value, struct ss_error *err);
/* Multiplies a prop by its index in the registry, one of the card, the links or the cluster; of links each one of the kind. Error:
 * SS_ERR_INPUT (no such prop, the product is outside of its range, or a prop that this platform does not have). */
int ss_platform_scale(struct ss_platform *p, int prop, double factor, struct ss_error *err);
/* Returns the number, in SI, of a prop of the platform by its index in the registry: SS_PROP_NIC_BANDWIDTH. The prop is one of
 * the card, the links or the cluster, SS_PROP_GPUS_PER_NODE or SS_PROP_NICS_PER_NODE; the value of links is that of one link
 * in one direction. */
double ss_platform_get(const struct ss_platform *p, int prop);

/* Writes the platform, with its values and number of nodes of now, as XML that ss_platform_load and SimGrid read. Error:
 * SS_ERR_IO. */
int ss_platform_write(const struct ss_platform *p, FILE *out, struct ss_error *err);

/*
 * Makes a template of one node from the XML of hwloc ("lstopo file.xml"). The caller frees *out with ss_platform_free. The
 * bandwidth of NVLink is the one in the file's matrix, or else that of a known platform of the same card; `note`, which may
 * be NULL, gets a text about what was assumed, cut to note_size bytes. `files`, which may be NULL, gets the files that are
 * read: the XML, and every platform that is known by name. Errors: SS_ERR_IO, SS_ERR_INPUT, SS_ERR_UNSUPPORTED (no GPU, GPUs
 * of several kinds, a card that is not known).
 */
int ss_platform_import_hwloc(const char *lstopo_xml, struct ss_files *files, struct ss_platform **out,
                             char *note, unsigned long note_size, struct ss_error *err);

struct ss_import_options {
    const char *card;       /* name or path of the card, NULL: the files name it */
    int nodes;              /* nodes that the platform has, 0: as many as there are files */
    struct ss_files *files; /* gets the files that are read; may be NULL */
};

/*
 * Writes a platform to `out` from files that nodes wrote of themselves, each of them the XML of hwloc, the text of
 * "nvidia-smi topo -m" (with the lines of "nvidia-smi -L" before it or without) or NCCL's topology XML. Equal nodes whose NVLinks are
 * a full mesh or go by a switch make a template; any others are written one by one, up to 1024 GPUs, their NICs on one switch. `options` may be
 * NULL; `note` is that of ss_platform_import_hwloc. Errors: SS_ERR_IO, SS_ERR_INPUT, SS_ERR_UNSUPPORTED (cards or numbers of GPUs
 * that differ, a card that is not known), SS_ERR_USAGE (options->nodes of unlike files).
 */
int ss_platform_import(const char *const *paths, int npaths, const struct ss_import_options *options,
                       FILE *out, char *note, unsigned long note_size, struct ss_error *err);

/* How nodes are joined: rails of leaf switches below a spine, any number of nodes; SimGrid's FAT_TREE and DRAGONFLY, whose hosts are
 * the nodes, up to 1024 GPUs. */
enum ss_network { SS_NETWORK_RAIL, SS_NETWORK_FAT_TREE, SS_NETWORK_DRAGONFLY };
/* Returns the word for the network of a cluster, "fat-tree"; NULL: there is none. */
const char *ss_network_name(int network);

/* A cluster to write. What is 0 is that of the platform that has the card's name, but for NICs, of which there are none then. */
struct ss_new_cluster {
    const char *name;         /* of the zone, or the path of the file: without folder and suffix */
    const char *card;         /* name or path */
    int nodes, gpus_per_node; /* nodes >= 1 */
    int nics_per_node;        /* -1: one a GPU; 0: none, which one node alone may have */
    double nic_bandwidth;     /* bytes/s of one NIC, one direction */
    double fabric_bandwidth;  /* bytes/s of a GPU, one direction */
    double price;             /* USD an hour and GPU; 0: none */
    int fabric_nodes;         /* nodes that one switch of the fabric joins (rails only) */
    int network;              /* enum ss_network */
    int nodes_per_leaf;       /* rails, fat tree */
    double oversubscription;  /* bandwidth below over bandwidth to the spines, or between groups; 0 = 1 */
    int groups, routers;      /* dragonfly: groups, and routers of each */
    struct ss_files *files;   /* gets the files that are read; may be NULL */
};

/* Writes a cluster as a platform that a person can edit: it names its card. Errors: SS_ERR_USAGE (sizes that make no such network),
 * SS_ERR_INPUT, SS_ERR_IO (no such card, or it cannot be written). */
int ss_platform_new(const struct ss_new_cluster *cluster, FILE *out, struct ss_error *err);

SS_C_END
