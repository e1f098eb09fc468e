/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: every `ss.` prop once, with what may change it, its unit, range, default and meaning.
 * A new prop is one row: of a card in card.h, of a stack in stack_props.h, of links and clusters here.
 * Who accepts a prop follows from its owner:
 *
 *   owner    platform file   stack file   --set and --vary set=   calibrate
 *   card     yes, and cards  no           yes                     numbers
 *   link     of a variant    no           yes                     yes
 *   cluster  template        no           yes                     no
 *   layout   yes             no           no                      no
 *   stack    no              yes          yes                     numbers
 *
 * (numbers: not whole numbers and not words.) "stepsim list props" prints the registry.
 */
#pragma once

#include "stepsim/card.h"
#include "stepsim/stack_props.h"
#include "stepsim/units.h"

SS_C_BEGIN

/* The value of ss.host.check where PyTorch checks collectives and nothing else is known: four messages of gloo between two processes of
 * one host take 145 us in the fastest hundredth of 1,000 checks (its release of May 2022 over loopback, two cores of a Xeon). */
#define SS_HOST_CHECK "36us"

/* Most GPUs of a platform, and of one node. */
#define SS_MAX_GPUS 1048576
#define SS_MAX_GPUS_PER_NODE 1024

/*
 * Props of all links of one kind; the kind is the word behind "ss.". In a file they are attributes of <link>.
 * X(symbol, prop id, unit, low, high, meaning)
 */
#define SS_LINK_PROPS(X)                                                                                     \
    X(FABRIC_BANDWIDTH, "ss.fabric.bandwidth", BANDWIDTH, 1e6, 1e15,                                         \
      "bandwidth of a GPU's link to the switch of its node, or of each link of a mesh, one direction")       \
    X(FABRIC_LATENCY, "ss.fabric.latency", TIME, 0, 1, "latency of such a link")                             \
    X(NIC_BANDWIDTH, "ss.nic.bandwidth", BANDWIDTH, 1e6, 1e15, "bandwidth of a NIC, one direction")          \
    X(NIC_LATENCY, "ss.nic.latency", TIME, 0, 1, "latency of a NIC")                                         \
    X(UPLINK_LATENCY, "ss.uplink.latency", TIME, 0, 1, "latency of a link between leaf and spine")

/* Props of the network of a template. X(symbol, prop id, unit, low, high, meaning) */
#define SS_CLUSTER_PROPS(X)                                                                                  \
    X(NODES_PER_LEAF, "ss.nodes_per_leaf", COUNT, 1, SS_MAX_GPUS, "nodes below one leaf switch")             \
    X(OVERSUBSCRIPTION, "ss.oversubscription", NONE, 0.01, 1000,                                             \
      "NIC bandwidth below a leaf over the bandwidth of its uplink")

/* Props that only a platform file gives. X(symbol, prop id, places, unit, low, high, meaning) */
#define SS_LAYOUT_PROPS(X)                                                                                   \
    X(NODES, "ss.nodes", SS_AT_ROOT, COUNT, 1, SS_MAX_GPUS,                                                  \
      "nodes of a template where --nodes does not say")                                                      \
    X(GPUS_PER_NODE, "ss.gpus_per_node", SS_AT_ROOT, COUNT, 1, SS_MAX_GPUS_PER_NODE, "GPUs of a node")       \
    X(NICS_PER_NODE, "ss.nics_per_node", SS_AT_ROOT, COUNT, 0, SS_MAX_GPUS_PER_NODE, "NICs of a node")       \
    X(FABRIC_NODES, "ss.fabric.nodes", SS_AT_ROOT, COUNT, 1, 1024,                                           \
      "nodes whose GPUs one switch of the fabric joins, as the trays of a rack")                             \
    X(NODE, "ss.node", SS_AT_ZONE | SS_AT_HOST, COUNT, 0, 1e9, "number of the node that the GPUs are in")

/* Such props that are words. X(symbol, prop id, places, required, words it may be (NULL: any), meaning) */
#define SS_LAYOUT_WORDS(X)                                                                                   \
    X(CARD, "ss.card", SS_AT_GPU, 1, NULL, "name of the card, best as MODEL-MEMORY")                         \
    X(CARD_BASE, "ss.card.base", SS_AT_GPU, 0, NULL, "card whose props hold here where no other is given")   \
    X(LIBRARY, "ss.library", SS_AT_GPU, 0, NULL,                                                             \
      "library of collectives that the card is used with, of workloads/libraries; none: nccl")               \
    X(FABRIC_NAME, "ss.fabric.name", SS_AT_GPU, 0, NULL,                                                     \
      "what the links inside a node are called; none: NVLink")                                               \
    X(PRICE_BASIS, "ss.price.basis", SS_AT_GPU, 0, NULL,                                                     \
      "whose prices ss.price.example is of: source, date and kind of cloud")                                 \
    X(TEMPLATE, "ss.template", SS_AT_ROOT, 0, "nvswitch mesh", "how the GPUs of a node are connected")       \
    X(ASSUMED, "ss.assumed", SS_AT_ROOT | SS_AT_CARD, 0, NULL, "values that are not known but assumed")      \
    X(BASE, "ss.base", SS_AT_ROOT, 0, NULL, "platform that this one changes")                                \
    X(HOSTS, "ss.hosts", SS_AT_ROOT, 0, "gpus nodes", "what a host of a file without a template is")         \
    X(KIND, "ss.kind", SS_AT_LINK, 0, "fabric nvlink nic uplink other", "kind of a link")

/* Where a prop may stand: in the outermost zone of a platform file, an inner zone or cluster, a host, a link,
 * the file of a card; and in the zone of a variant (ss.base), beside what an outermost zone may have. */
enum { SS_AT_ROOT = 1, SS_AT_ZONE = 2, SS_AT_HOST = 4, SS_AT_LINK = 8, SS_AT_CARD = 16, SS_AT_VARIANT = 32 };
#define SS_AT_GPU (SS_AT_ROOT | SS_AT_ZONE | SS_AT_HOST | SS_AT_CARD)

/* Index of a prop in the registry, owner by owner; SS_PROP_ and the symbol or field of its row. */
enum ss_prop_index {
#define X(field, id, unit, required, def, lo, hi, doc) SS_PROP_##field,
    SS_CARD_PROPS(X)
#undef X
        SS_PROP_CARD_COUNT,
    SS_PROP_LAST_OF_CARD = SS_PROP_CARD_COUNT - 1,
#define X(sym, id, unit, lo, hi, doc) SS_PROP_##sym,
    SS_LINK_PROPS(X) SS_CLUSTER_PROPS(X)
#undef X
#define X(sym, id, where, unit, lo, hi, doc) SS_PROP_##sym,
        SS_LAYOUT_PROPS(X)
#undef X
#define X(sym, id, where, required, words, doc) SS_PROP_##sym,
            SS_LAYOUT_WORDS(X)
#undef X
                SS_PROP_PLATFORM_COUNT,
    SS_PROP_LAST_OF_PLATFORM = SS_PROP_PLATFORM_COUNT - 1,
#define X(field, id, unit, def, lo, hi, doc) SS_PROP_##field,
    SS_STACK_PROPS(X)
#undef X
#define X(field, id, words, def, doc) SS_PROP_##field,
        SS_STACK_WORDS(X)
#undef X
            SS_PROP_COUNT
};

/* Owners as bits, so that a call can take several. */
enum ss_owner { SS_OF_CARD = 1, SS_OF_LINK = 2, SS_OF_CLUSTER = 4, SS_OF_LAYOUT = 8, SS_OF_STACK = 16 };
#define SS_OF_PLATFORM (SS_OF_CARD | SS_OF_LINK | SS_OF_CLUSTER | SS_OF_LAYOUT)
#define SS_OF_ANY (SS_OF_PLATFORM | SS_OF_STACK)
/* Returns the name of an owner: "card", "link", "cluster", "layout" or "stack". */
const char *ss_owner_name(enum ss_owner owner);

struct ss_prop {
    const char *id; /* "ss.nic.efficiency" */
    enum ss_owner owner;
    int is_word;       /* 1: a word or a name; unit, range and default have no meaning */
    enum ss_unit unit; /* values are in SI */
    double def, low, high;
    /* of a word: the allowed words, space separated, NULL: any; a stack stores the index among them */
    const char *words;
    int where;     /* in a platform file: bits SS_AT_ */
    int required;  /* 1: a platform that lacks it is refused */
    size_t offset; /* in struct ss_card or struct ss_stack: a double, or the int of a word */
    const char *doc;
};

/*
 * Another id by which a prop may be given, with the same meaning: files of earlier releases say nvlink for the
 * fabric. Answers in JSON keep this id as their key, so that their readers need no change. X(symbol or field, other id)
 */
#define SS_PROP_ALIASES(X)                                                                                   \
    X(FABRIC_BANDWIDTH, "ss.nvlink.bandwidth")                                                               \
    X(FABRIC_LATENCY, "ss.nvlink.latency")                                                                   \
    X(FABRIC_NODES, "ss.nvlink.nodes")                                                                       \
    X(fabric_efficiency, "ss.nvlink.efficiency")                                                             \
    X(fabric_exchange, "ss.nvlink.exchange_efficiency")                                                      \
    X(fabric_half_size, "ss.nvlink.half_size")                                                               \
    X(fabric_latency, "ss.nvlink.step_latency")                                                              \
    X(comm_sms_fabric, "ss.comm.sms.nvlink")

/* Returns the row of a prop, a constant; NULL for an index outside 0..SS_PROP_COUNT-1, which all other
 * functions need. */
const struct ss_prop *ss_prop_at(int index);
/* Returns the key of a prop in answers: its alias where it has one, else its id. */
const char *ss_prop_key(int index);
/* Returns the index of the prop "ss.nic.bandwidth", by its id or an alias, among those of `owners` (SS_OF_ bits), or -1: there is none. */
int ss_prop_find(const char *id, int owners);
/* Returns 1 when --set and --vary set= may change the prop. */
int ss_prop_is_settable(int index);
/* Returns 1 when calibrate may fit the prop. */
int ss_prop_is_fittable(int index);
/* Returns 1 when --scale may multiply the prop: --set may change it, and it is neither a word nor a whole
 * number. */
int ss_prop_is_scalable(int index);
/* Returns 1 for a number of kernels alone on a card that no prediction of a run reads (SS_BENCH_CURVE_PROPS). */
int ss_prop_is_of_bench(int index);
/* Returns the id nearest to a mistyped one among the props for which `may` returns 1; NULL: none is near
 * (ss_nearest). */
const char *ss_prop_nearest(const char *id, int (*may)(int index));
/* Reads the value of a prop that is a number from a text with its unit, and checks its range; *out is in SI. The error names
 * `file`, which may be NULL, and `line`. Error: SS_ERR_INPUT. */
int ss_prop_parse(int index, const char *text, const char *file, int line, double *out, struct ss_error *err);
/* Checks that a number, in SI, is in the range of a prop. Error: SS_ERR_INPUT. */
int ss_prop_check(int index, double value, struct ss_error *err);
/* Returns the word of a number for a stack's prop that is a word; NULL past the last one. */
const char *ss_prop_word(int index, int value);
/* Checks that a prop that is a word may have this value. Error: SS_ERR_INPUT, as of ss_prop_parse. */
int ss_prop_check_word(int index, const char *text, const char *file, int line, struct ss_error *err);
/* Returns the value, in SI, of a number of a card or a stack; `of` points to the struct ss_card or struct ss_stack. */
double ss_prop_get(int index, const void *of);
/* Sets that value without a check of its range. */
void ss_prop_put(int index, void *of, double value);

SS_C_END
