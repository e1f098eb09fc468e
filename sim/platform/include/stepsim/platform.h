/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster: one kind of card, nodes of equal size, links and routes.
 * Read from a SimGrid platform XML in which every GPU is a <host>; what SimGrid has no tag for
 * is a <prop id="ss.…"> (docs/reference/formats.md). Ranks are placed on GPUs elsewhere (plan.h).
 */
#ifndef STEPSIM_PLATFORM_H
#define STEPSIM_PLATFORM_H

#include <stdint.h>
#include <stdio.h>

#include "stepsim/card.h"
#include "stepsim/error.h"
#include "stepsim/files.h"
#include "stepsim/network.h"
#include "stepsim/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_route {
    int nlinks;
    int link[SS_ROUTE_MAX]; /* link indices, source first */
    double latency;         /* s, sum over the links */
};

struct ss_platform;

/* Asks the SimGrid kernel for the routes of a file: fills routes[i] with the link NAMES of
 * pair i, space separated, malloc'ed. Given by replay.h's ss_simgrid_ask_routes; NULL where
 * foreign files are refused. */
typedef int (*ss_route_asker)(const char *file, int npairs, const char *const (*hosts)[2],
                              char **routes, struct ss_error *err);

struct ss_platform_options {
    int nodes;            /* 0: as many as the file has */
    ss_route_asker asker; /* may be NULL */
    int gpus_per_node;    /* 0: all; a template may be used in part */
    struct ss_files *files; /* gets the files that are read; may be NULL */
};

/* Loads a card by name (platforms/cards/NAME.xml) or path. */
int ss_card_load(const char *name_or_path, struct ss_card *out, struct ss_error *err);
/* Does a GPU's model, "NVIDIA H100 80GB HBM3", speak of the card "H100-80GB"? The card's name up to its dash stands there
 * as a word of its own; a variant for PCIe, an NVL and the like are other cards. */
int ss_card_is_named(const char *model, const char *card);
/* Loads a platform by name (platforms/NAME.xml) or path. A file whose zone carries
 * <prop id="ss.template"> is a template: `nodes` may be any number of at most 65536 GPUs and routes are
 * arithmetic. Of any other file the first `nodes` nodes are taken. */
int ss_platform_load(const char *name_or_path, const struct ss_platform_options *options,
                     struct ss_platform **out, struct ss_error *err);
void ss_platform_free(struct ss_platform *p);

const char *ss_platform_name(const struct ss_platform *p);
const char *ss_platform_file(const struct ss_platform *p);
/* FNV-1a of everything that the prediction reads, the same on every machine. */
uint64_t ss_platform_hash(const struct ss_platform *p);
const struct ss_card *ss_platform_card(const struct ss_platform *p);
int ss_platform_nodes(const struct ss_platform *p);
int ss_platform_gpus_per_node(const struct ss_platform *p);
/* NICs of a node, and bytes/s per direction of one NIC and of one GPU's NVLink (0: none). */
int ss_platform_nics_per_node(const struct ss_platform *p);
double ss_platform_nic_bandwidth(const struct ss_platform *p);
double ss_platform_nvlink_bandwidth(const struct ss_platform *p);
/* Values that the file marks as assumed: <prop id="ss.assumed" value="nic.bandwidth ...">; "" if none. */
const char *ss_platform_assumed(const struct ss_platform *p);

int ss_platform_link_count(const struct ss_platform *p);
/* Fills *out; index from 0 to link_count - 1. */
void ss_platform_link(const struct ss_platform *p, int index, struct ss_link *out);
/* The same without the name, which takes most of the time. */
void ss_platform_link_facts(const struct ss_platform *p, int index, int *kind, double *bandwidth);
/* Route between two GPUs (node * gpus_per_node + local index), src != dst. */
void ss_platform_route(const struct ss_platform *p, int src, int dst, struct ss_route *out);

/* Sets one prop (params.h: of a card, links or cluster) from a text with unit; for what-ifs and calibration.
 * ss.nic.bandwidth, ss.nic.latency, ss.nvlink.bandwidth and ss.nvlink.latency set all links of that kind. */
int ss_platform_set(struct ss_platform *p, const char *id, const char *value, struct ss_error *err);
/* The number of a prop of a card, links, cluster or node's size by its index in the registry; of links: one direction. */
double ss_platform_get(const struct ss_platform *p, int prop);

/* Writes the platform, with its current values and number of nodes, as XML that SimGrid loads. */
int ss_platform_write(const struct ss_platform *p, FILE *out, struct ss_error *err);

/* One node from an hwloc XML (lstopo file.xml) as a platform template; the only way into hwloc.
 * NVLink bandwidth from the file's matrix, else from the card table, said in `note` (may be NULL). `files`, may be NULL,
 * gets the files that are read: this one, and as the card table every platform that is known by name. */
int ss_platform_import_hwloc(const char *lstopo_xml, struct ss_files *files, struct ss_platform **out, char *note,
                             unsigned long note_size, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
