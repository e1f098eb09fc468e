/* SPDX-License-Identifier: Apache-2.0 */
/* The links inside a node are of a fabric that has a name; what was told of NVLink is an alias of what is told of a fabric. */

#include "platform/platform_internal.h"
#include "suite.h"

#define ROOT "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Dijkstra\">\n"
#define END "</zone></platform>\n"
#define PROP(id, value) "<prop id=\"" id "\" value=\"" value "\"/>\n"

static int parse(const char *text, struct ss_platform **p, struct ss_error *err)
{
    memset(err, 0, sizeof *err);
    *p = NULL;
    return ss_platform_parse(text, strlen(text), "dir/p.xml", NULL, p, err);
}

static struct ss_platform *read(const char *text)
{
    struct ss_platform *p;
    struct ss_error err;

    if (parse(text, &p, &err) != SS_OK)
        printf("\n  unexpected: %s:%d: %s\n", err.file, err.line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* Each alias is another id of a prop that exists, and the key of its answers. */
TEST(aliases)
{
    static const char *const aliases[] = {
#define X(sym, id) id,
        SS_PROP_ALIASES(X)
#undef X
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(aliases); i++) {
        int prop = ss_prop_find(aliases[i], SS_OF_ANY);

        CU_ASSERT_FATAL(prop >= 0);
        CU_ASSERT_STRING_EQUAL(ss_prop_key(prop), aliases[i]);
        CU_ASSERT_STRING_NOT_EQUAL(ss_prop_at(prop)->id, aliases[i]);
        CU_ASSERT_EQUAL(ss_prop_find(ss_prop_at(prop)->id, SS_OF_ANY), prop);
    }
    CU_ASSERT_EQUAL(ss_prop_find("ss.nvlink.bandwidth", SS_OF_STACK), -1);
    CU_ASSERT_EQUAL(ss_prop_find("ss.nvlink.name", SS_OF_ANY), -1);
    CU_ASSERT_STRING_EQUAL(ss_prop_key(SS_PROP_NIC_BANDWIDTH), "ss.nic.bandwidth");
}

/* A file of old words is the platform of the new ones. */
TEST(old_words)
{
    struct ss_platform *old = read(
        ROOT PROP("ss.base", "h100") PROP("ss.nvlink.bandwidth", "300GBps") PROP("ss.nvlink.latency", "2us")
            PROP("ss.nvlink.efficiency", "0.7") PROP("ss.nvlink.half_size", "3MB")
                PROP("ss.nvlink.step_latency", "4us") PROP("ss.nvlink.exchange_efficiency", "0.5")
                    PROP("ss.nvlink.nodes", "2") PROP("ss.assumed", "nvlink.latency") END);
    struct ss_platform *new = read(
        ROOT PROP("ss.base", "h100") PROP("ss.fabric.bandwidth", "300GBps") PROP("ss.fabric.latency", "2us")
            PROP("ss.fabric.efficiency", "0.7") PROP("ss.fabric.half_size", "3MB")
                PROP("ss.fabric.step_latency", "4us") PROP("ss.fabric.exchange_efficiency", "0.5")
                    PROP("ss.fabric.nodes", "2") PROP("ss.assumed", "fabric.latency") END);

    CU_ASSERT_EQUAL(ss_platform_hash(old), ss_platform_hash(new));
    CU_ASSERT_EQUAL(ss_platform_fabric_bandwidth(old), 300e9);
    CU_ASSERT_EQUAL(ss_platform_card(old)->fabric_efficiency, 0.7);
    CU_ASSERT_EQUAL(ss_platform_card(old)->fabric_half_size, 3e6);
    CU_ASSERT_EQUAL(ss_platform_card(old)->fabric_latency, 4e-6);
    CU_ASSERT_EQUAL(ss_platform_card(old)->fabric_exchange, 0.5);
    CU_ASSERT_EQUAL(ss_platform_joined_nodes(old), 2);
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(old), "nvlink.latency"); /* as answers had it */
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(new), "nvlink.latency");
    CU_ASSERT_STRING_EQUAL(ss_platform_fabric(old), "NVLink");
    ss_platform_free(old);
    ss_platform_free(new);
}

TEST(both)
{
    struct ss_platform *p;
    struct ss_error err;

    CU_ASSERT_EQUAL(parse(ROOT PROP("ss.base", "h100") PROP("ss.fabric.efficiency", "0.8")
                              PROP("ss.nvlink.efficiency", "0.8") END,
                          &p, &err),
                    SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.file, "dir/p.xml");
    CU_ASSERT_EQUAL(err.line, 6);
    CU_ASSERT_STRING_EQUAL(err.message, "prop \"ss.nvlink.efficiency\" is given twice (first in line 5)");
    CU_ASSERT_STRING_EQUAL(
        err.hint, "\"ss.fabric.efficiency\" and \"ss.nvlink.efficiency\" are one prop: keep one of them");
}

/* Text of a platform as XML, and that platform read from it again. */
static struct ss_platform *written(const struct ss_platform *p)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_EQUAL_FATAL(ss_platform_write(p, out, NULL), SS_OK);
    fclose(out);
    struct ss_platform *again = read(text);
    free(text);
    return again;
}

/* A fabric of another name has links of the word "fabric"; name and library go with the platform as it is written. */
TEST(name)
{
    struct ss_platform *p = read(ROOT PROP("ss.base", "v100") PROP("ss.fabric.name", "ICI 3") PROP(
        "ss.library", "rccl") PROP("ss.assumed", "nvlink.bandwidth fabric.latency") END);
    struct ss_link link;

    for (int pass = 0; pass < 2; pass++) {
        CU_ASSERT_STRING_EQUAL(ss_platform_fabric(p), "ICI 3");
        CU_ASSERT_STRING_EQUAL(ss_platform_library_file(p), "rccl");
        CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "fabric.bandwidth fabric.latency");
        ss_platform_link(p, 0, &link);
        CU_ASSERT_STRING_EQUAL(link.name, "fabric-0-0-1.up");
        CU_ASSERT_EQUAL(link.kind, SS_LINK_FABRIC);
        struct ss_platform *again = written(p);
        CU_ASSERT_EQUAL(ss_platform_hash(again), ss_platform_hash(p));
        ss_platform_free(p);
        p = again;
    }
    ss_platform_free(p);
    /* a card changed in a base takes its fabric along, and leaves that of the card before */
    p = read(ROOT PROP("ss.base", "mi300x") PROP("ss.card.base", "h100") END);
    CU_ASSERT_STRING_EQUAL(ss_platform_fabric(p), "NVLink");
    CU_ASSERT_PTR_NULL(ss_platform_library_file(p));
    CU_ASSERT_PTR_NULL(strstr(ss_platform_assumed(p), "attention")); /* said of the other card */
    ss_platform_free(p);
}

TEST(bad_names)
{
    static const char *const bad[] = {"",       " ",       " xGMI", "a name of more than 23 letters",
                                      "x&lt;y", "\xc3\xa4"};

    for (size_t i = 0; i < SS_ARRAY_LEN(bad); i++) {
        char text[400];
        struct ss_platform *p;
        struct ss_error err;

        snprintf(text, sizeof text, ROOT PROP("ss.base", "h100") PROP("ss.fabric.name", "%s") END, bad[i]);
        CU_ASSERT_EQUAL(parse(text, &p, &err), SS_ERR_INPUT);
        CU_ASSERT_EQUAL(err.line, 5);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "ss.fabric.name needs a name of 1 to 23"));
    }
}

/* "fabric-" begins the name of a link of the fabric only where the fabric is not NVLink: old files may have such links outside. */
TEST(kinds)
{
    CU_ASSERT_EQUAL(ss_link_kind_of("fabric-0-1", NULL, "nvlink"), SS_LINK_OTHER);
    CU_ASSERT_EQUAL(ss_link_kind_of("fabric-0-1", NULL, "fabric"), SS_LINK_FABRIC);
    CU_ASSERT_EQUAL(ss_link_kind_of("fabric_link_0", NULL, "fabric"),
                    SS_LINK_OTHER); /* SimGrid's, of a cluster "fabric" */
    CU_ASSERT_EQUAL(ss_link_kind_of("nvlink-0-1", NULL, "fabric"), SS_LINK_FABRIC);
    CU_ASSERT_EQUAL(ss_link_kind_of("x", "fabric", "nvlink"), SS_LINK_FABRIC);
    CU_ASSERT_EQUAL(ss_link_kind_of("x", "nvlink", "fabric"), SS_LINK_FABRIC);
    CU_ASSERT_EQUAL(ss_link_kind_of("fabric-0", "nic", "fabric"), SS_LINK_NIC);
}

/* AMD's data sheet: eight cards, a link of 128 GB/s, both directions together, between each two; 5.3 TB/s, 1307.4 and 2614.9 TFLOP/s. */
TEST(mi300x)
{
    const struct ss_platform_options options = {.nodes = 2};
    struct ss_platform *p = NULL;
    struct ss_route way;
    struct ss_link link;

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("mi300x", &options, &p, NULL), SS_OK);
    const struct ss_card *c = ss_platform_card(p);
    CU_ASSERT_EQUAL(c->sm_count, 304);
    CU_ASSERT_DOUBLE_EQUAL(c->peak_bf16, 1307.4e12, 1);
    CU_ASSERT_DOUBLE_EQUAL(c->peak_fp8, 2614.9e12, 1);
    CU_ASSERT_EQUAL(c->hbm_bandwidth, 5.3e12);
    CU_ASSERT_EQUAL(c->power, 750);
    CU_ASSERT_STRING_EQUAL(ss_platform_fabric(p), "xGMI");
    CU_ASSERT_STRING_EQUAL(ss_platform_library(p)->name, "RCCL");
    CU_ASSERT(ss_platform_is_mesh(p));
    CU_ASSERT_EQUAL(ss_platform_fabric_bandwidth(p), 7 * 64e9);
    ss_platform_route(p, 8 + 5, 8 + 2, &way);
    CU_ASSERT_EQUAL_FATAL(way.nlinks, 1);
    ss_platform_link(p, way.link[0], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "fabric-1-2-5.down");
    CU_ASSERT_EQUAL(link.bandwidth, 64e9);
    /* what no data sheet tells is assumed: no efficiency is left out */
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        if (ss_prop_at(i)->required && strstr(ss_prop_at(i)->id, "efficiency"))
            CU_ASSERT(ss_has_word(ss_platform_assumed(p), ss_prop_at(i)->id + 3));
    ss_platform_free(p);
}

/* Levels that are measured. NCCL's rings over three racks of GB200 (NVIDIA/nccl#1801): 12 GPUs on 4 NICs of 50 GB/s a rack reach 196.7 GB/s, 24
 * on 8 NICs 393.7. GEMMs of 10 ms and more on H200 (curves.md): 0.712 and 0.704 of 989.4 and 1,978.9 TFLOP/s, less than an H100's. */
TEST(levels)
{
    const struct ss_platform_options options = {.nodes = 1};
    struct ss_platform *rack = NULL, *h100 = NULL, *h200 = NULL;
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("gb200", &options, &rack, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h100", &options, &h100, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h200", &options, &h200, NULL), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(4 * 50 * ss_platform_card(rack)->nic_efficiency, 196.7, 1.5);
    CU_ASSERT_DOUBLE_EQUAL(8 * 50 * ss_platform_card(rack)->nic_efficiency, 393.7, 3);
    CU_ASSERT(!ss_has_word(ss_platform_assumed(rack), "nic.efficiency"));
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_card(h200)->gemm_eff_bf16 * 989.4, 704.5, 0.5);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_card(h200)->gemm_eff_fp8 * 1978.9, 1393.1, 0.5);
    CU_ASSERT(ss_platform_card(h200)->gemm_eff_bf16 < ss_platform_card(h100)->gemm_eff_bf16);
    CU_ASSERT_EQUAL(ss_platform_card(rack)->attention_least, 85);
    CU_ASSERT_EQUAL(ss_platform_card(h200)->attention_least, 78);
    ss_platform_free(rack);
    ss_platform_free(h100);
    ss_platform_free(h200);
}

/* 576 trays of 4 GPUs: racks of 18 make 32 domains of 72 GPUs, parts of 16 make 36 of 64. Ranks fill domains in order, so that group g of 32
 * ranks in a row, 32g to 32g + 31, lies in one domain where both ends have one quotient: of 72 the first that does not is 2 (64 to 95). */
TEST(segments)
{
    static const struct {
        const char *prop;
        int joined, nodes, gpus, first;
    } rows[] = {{"", 18, 32, 72, 2}, {PROP("ss.fabric.nodes", "16"), 16, 36, 64, 72}};
    const struct ss_platform_options options = {.nodes = 576};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_platform *p;
        char text[512];
        int group = 0;
        snprintf(text, sizeof text, ROOT PROP("ss.base", "gb200") "%s" END, rows[i].prop);
        CU_ASSERT_EQUAL_FATAL(ss_platform_parse(text, strlen(text), "dir/p.xml", &options, &p, NULL), SS_OK);
        CU_ASSERT_EQUAL(ss_platform_joined_nodes(p), rows[i].joined);
        CU_ASSERT_EQUAL(ss_platform_nodes(p), rows[i].nodes);
        CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), rows[i].gpus);
        while (group < 72 &&
               32 * group / ss_platform_gpus_per_node(p) == (32 * group + 31) / ss_platform_gpus_per_node(p))
            group++;
        CU_ASSERT_EQUAL(group, rows[i].first);
        ss_platform_free(p);
    }
}
