/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of one node, in plain values: what each reader hands on (that of hwloc from a child process). */
#pragma once

#include "platform/platform_internal.h"

struct ss_nvlink_matrix {
    int given;         /* 0: the file has none */
    int mesh;          /* GPU to GPU, not by way of a switch */
    int whole;         /* equal for all GPUs */
    int may_be_double; /* by an hwloc that gave NVLink 3 and 4 twice their bandwidth */
    int counted;       /* link, total and pair are numbers of NVLinks */
    /* not whole: a switch joins the GPUs that have links, each by as many as to any other GPU */
    int switched;
    double link, total; /* bytes/s per direction: of a pair (a mesh) or GPU; of a GPU */
    double to_host;     /* of a GPU to its processor, as POWER has it; 0: by PCIe */
    /* of each ordered pair, where the node has at most SS_MAX_MESH_GPUS GPUs */
    double pair[SS_MAX_MESH_GPUS * SS_MAX_MESH_GPUS];
};

struct ss_node_facts {
    int ngpus, nnics, nnumas;
    int listed_nics;      /* NICs of the file, of which nnics are near GPUs; 0: they are nnics */
    int hosts;            /* equal nodes that the file tells of, 0 = 1 */
    int sm;               /* compute capability x 10, 0 = not said */
    char model[128];      /* "" = not said */
    double memory;        /* bytes of one GPU, 0 = not said */
    double host_memory;   /* bytes of the node, 0 = not said */
    double nic_bandwidth; /* bytes/s, 0 = not said */
    struct ss_nvlink_matrix nvlink;
};

/* Reads an hwloc XML in a child process; one error for what cannot be read or has no GPU. */
int ss_node_facts_read(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                       struct ss_error *err);
/* Returns hwloc's API version, two numbers of 8 bits from bit 8 on; 0: this build has no hwloc. */
unsigned ss_node_facts_hwloc(void);
/* ---- nccl_import.c: NCCL's topology XML ---- */
int ss_node_facts_nccl(const struct ss_xml_node *root, const char *file, struct ss_node_facts *out,
                       struct ss_error *err);
/* ---- topo_import.c: "nvidia-smi topo -m", with or without "nvidia-smi -L" before it ---- */
/* Returns true when the text has a line that begins like such a matrix. */
bool ss_topo_is(const char *text);
int ss_node_facts_topo(const char *text, const char *file, struct ss_node_facts *out, struct ss_error *err);

/* ---- node_links.c ---- */
/* Sums m->pair up to mesh, whole, link and total. */
void ss_nvlink_sum(struct ss_nvlink_matrix *m, int ngpus);
/* Takes the memory from a model's name, "NVIDIA A100-SXM4-80GB"; 0: it has none. */
double ss_model_memory(const char *model);
/* Returns the most links of a GPU that a pair has: those to the switch, where one joins the GPUs. */
double ss_nvlink_most(const struct ss_node_facts *f, int gpu);
/* Bytes/s of one NVLink in one direction, by the GPU's model or card, or by its compute capability where that is not 0;
 * 0: not known. */
double ss_nvlink_rate(const char *model, int sm);

/* ---- node_write.c ---- */
/* Nodes that are no template, each with its own NVLinks and NICs, on one switch that never blocks. */
struct ss_own_node {
    const struct ss_node_facts *facts;
    int repeat;
};
/* `p` has the card and the values of links where facts have none; `card`: what ss.card.base names. */
int ss_own_nodes_write(const struct ss_platform *p, const char *card, const struct ss_own_node *nodes, int n,
                       FILE *out, struct ss_error *err);

/* ---- import.c ---- */
/* Reads facts from any of the kinds of file. */
int ss_import_facts(const char *text, size_t len, const char *file, struct ss_node_facts *out,
                    struct ss_error *err);

/* ---- node_import.c ---- */
struct ss_import {
    const char *file;
    const char *card; /* asked for, may be NULL */
    struct ss_node_facts facts;
    char *note;
    unsigned long note_size;
    struct ss_files *files;
};
/* The platform of one node that has the name of a card; else, *known = false, h100's with that card. */
int ss_platform_of_card(const char *name, struct ss_files *files, struct ss_platform **out, bool *known,
                        struct ss_error *err);
/* Adds a sentence to the note. */
void ss_import_note(struct ss_import *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Finds the card of the facts: *out is a platform of that card; *own: its NVLinks are no template's. */
int ss_import_build(struct ss_import *n, struct ss_platform **out, bool *own, struct ss_error *err);
