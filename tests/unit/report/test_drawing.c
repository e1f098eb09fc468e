/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of platforms: which switches, links and nodes are found and drawn. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/drawing.h"
#include "stepsim/pictures.h"
#include "suite.h"

static struct ss_platform *load(const char *name, int nodes)
{
    struct ss_platform_options options = {.nodes = nodes, .asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;
    struct ss_error e = {0};

    if (ss_platform_load(name, &options, &p, &e) != SS_OK)
        printf("\n  unexpected: %s:%d: %s\n", e.file, e.line, e.message);
    CU_ASSERT_FATAL(p != NULL);
    return p;
}

static int drawn(const struct ss_drawing *d, int level, int outside)
{
    int n = 0;

    for (int v = 0; v < d->nvertices; v++)
        n += d->vertices[v].shows == v && d->vertices[v].level == level &&
             (d->vertices[v].node < 0) == outside;
    return n;
}

static int edges(const struct ss_drawing *d, int kind, double bandwidth)
{
    int n = 0;

    for (size_t e = 0; e < d->nedges; e++)
        n += d->edges[e].kind == kind && d->edges[e].bandwidth == bandwidth;
    return n;
}

static void check_picture(const struct ss_platform *p, const char *const *parts)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    CU_ASSERT_EQUAL(ss_platform_svg(p, 0, out, NULL), SS_OK);
    fclose(out);
    for (; *parts; parts++) {
        if (!strstr(text, *parts))
            printf("\n  no \"%s\"\n", *parts);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, *parts));
    }
    free(text);
}

/* Two nodes on rails: a NVLink switch each, eight leaves, and no spine, which no route takes. */
TEST(rails)
{
    static const char *const parts[] = {">node 1<", ">NIC 400 Gb/s (50 GB/s)<", ">NVLink 450 GB/s<", NULL};
    struct ss_platform *p = load("h100", 2);
    struct ss_drawing d;

    CU_ASSERT_EQUAL(ss_drawing_make(&d, p), SS_OK);
    CU_ASSERT_EQUAL(d.nvertices, 16 + 2 + 8);
    CU_ASSERT_EQUAL(d.nedges, 32);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_FABRIC, 450e9), 16);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_NIC, 50e9), 16);
    CU_ASSERT_EQUAL(drawn(&d, 0, 0), 16);
    CU_ASSERT_EQUAL(drawn(&d, 1, 0), 2);
    CU_ASSERT_EQUAL(drawn(&d, 1, 1), 8);
    ss_drawing_free(&d);
    check_picture(p, parts);
    ss_platform_free(p);
}

/* 70 nodes, 32 a leaf: two whole groups and one of 6; of 3 x 8 leaves those of two nodes are drawn. */
TEST(many)
{
    static const char *const parts[] = {">64 nodes of 8 GPUs<",          ">6 nodes of 8 GPUs<",
                                        ">leaf: 16 of 24 drawn<",        ">spine<",
                                        ">uplink 12.8 Tb/s (1.6 TB/s)<", NULL};
    static const char *const racks[] = {">40 NVLink domains of 18 nodes<", ">72 GPUs<", ">2880 leaves<",
                                        NULL};
    struct ss_platform *p = load("h800", 70);
    struct ss_drawing d;

    CU_ASSERT_EQUAL(ss_drawing_make(&d, p), SS_OK);
    CU_ASSERT_EQUAL(drawn(&d, 0, 0), 16);
    CU_ASSERT_EQUAL(drawn(&d, 1, 1), 16);
    CU_ASSERT_EQUAL(drawn(&d, 2, 1), 1);
    ss_drawing_free(&d);
    check_picture(p, parts);
    ss_platform_free(p);
    p = load("gb200", 720);
    check_picture(p, racks);
    ss_platform_free(p);
    p = load("h100", 131072);
    check_picture(p, (const char *const[]){">131072 nodes of 8 GPUs<", NULL});
    ss_platform_free(p);
}

TEST(mesh)
{
    struct ss_platform *p = load("v100", 2);
    struct ss_drawing d;

    CU_ASSERT_EQUAL(ss_drawing_make(&d, p), SS_OK);
    CU_ASSERT_EQUAL(d.nvertices, 8 + 4);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_FABRIC, 50e9), 2 * 6);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_NIC, 12.5e9), 8);
    ss_drawing_free(&d);
    ss_platform_free(p);
}

static void put(FILE *out, const char *name, const char *bandwidth)
{
    fprintf(out, "<link id=\"%s\" bandwidth=\"%s\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n", name,
            bandwidth);
}

/* Three groups of two routers, a node of two GPUs at each: a zone a group, whose routes SimGrid tells out of order. */
static void write_dragonfly(FILE *out)
{
    char name[64];

    fputs("<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
          "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">"
          "<zone id=\"d\" routing=\"Full\"><prop id=\"ss.card.base\" value=\"h100\"/><prop "
          "id=\"ss.gpus_per_node\" value=\"2\"/>\n",
          out);
    for (int g = 0; g < 3; g++) {
        fprintf(out, "<zone id=\"g%d\" routing=\"Dijkstra\">\n", g);
        for (int i = 0; i < 4; i++)
            fprintf(out, "<host id=\"h-%d-%d\" speed=\"1Tf\"/>\n", g, i);
        fprintf(out,
                "<router id=\"nvs-%d-0\"/><router id=\"nvs-%d-1\"/><router id=\"r-%d-0\"/><router "
                "id=\"r-%d-1\"/>\n",
                g, g, g, g);
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "nvlink-%d-%d", g, i);
            put(out, name, "450GBps");
            snprintf(name, sizeof name, "nic-%d-%d", g, i);
            put(out, name, "50GBps");
        }
        snprintf(name, sizeof name, "uplink-%d", g);
        put(out, name, "100GBps");
        for (int i = 0; i < 4; i++)
            fprintf(out,
                    "<route src=\"h-%d-%d\" dst=\"nvs-%d-%d\"><link_ctn id=\"nvlink-%d-%d\" "
                    "direction=\"UP\"/></route>\n",
                    g, i, g, i / 2, g, i);
        for (int i = 0; i < 4; i++)
            fprintf(out,
                    "<route src=\"h-%d-%d\" dst=\"r-%d-%d\"><link_ctn id=\"nic-%d-%d\" "
                    "direction=\"UP\"/></route>\n",
                    g, i, g, i / 2, g, i);
        fprintf(out,
                "<route src=\"r-%d-0\" dst=\"r-%d-1\"><link_ctn id=\"uplink-%d\" "
                "direction=\"UP\"/></route></zone>\n",
                g, g, g);
    }
    put(out, "uplink-01", "75GBps");
    put(out, "uplink-02", "75GBps");
    put(out, "uplink-12", "75GBps");
    for (int g = 0; g < 3; g++)
        for (int h = g + 1; h < 3; h++)
            fprintf(out,
                    "<zoneRoute src=\"g%d\" dst=\"g%d\" gw_src=\"r-%d-%d\" gw_dst=\"r-%d-%d\"><link_ctn "
                    "id=\"uplink-%d%d\" direction=\"UP\"/></zoneRoute>\n",
                    g, h, g, (h - 1) % 2, h, g % 2, g, h);
    fputs("</zone></platform>\n", out);
}

TEST(dragonfly)
{
    char path[] = "/tmp/stepsim-drawing-XXXXXX.xml";
    int fd = mkstemps(path, 4);
    FILE *out = fdopen(fd, "w");
    struct ss_platform *p;
    struct ss_drawing d;

    write_dragonfly(out);
    fclose(out);
    p = load(path, 0);
    CU_ASSERT_EQUAL(ss_drawing_make(&d, p), SS_OK);
    CU_ASSERT_EQUAL(d.nvertices, 12 + 6 + 6); /* GPUs, NVLink switches, routers */
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_FABRIC, 450e9), 12);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_NIC, 50e9), 12);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_UPLINK, 100e9), 3);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_UPLINK, 75e9), 3);
    CU_ASSERT_EQUAL(d.nedges, 30);
    for (int v = 18; v < d.nvertices; v++)
        CU_ASSERT(d.vertices[v].level == 1);
    ss_drawing_free(&d);
    ss_platform_free(p);
    unlink(path);
}

/* What ss_platform_new writes, as SimGrid routes it. */
static void draw_new(const struct ss_new_cluster *cluster, struct ss_drawing *d, struct ss_platform **p)
{
    char path[] = "/tmp/stepsim-drawing-XXXXXX.xml";
    FILE *out = fdopen(mkstemps(path, 4), "w");
    struct ss_error e = {0};

    CU_ASSERT_EQUAL(ss_platform_new(cluster, out, &e), SS_OK);
    fclose(out);
    *p = load(path, 0);
    CU_ASSERT_EQUAL(ss_drawing_make(d, *p), SS_OK);
    unlink(path);
}

/* 16 nodes, four a leaf, half of the way up: a port a node, four leaves, each joined to two spines. */
TEST(new_fat_tree)
{
    const struct ss_new_cluster cluster = {.name = "t",
                                           .card = "h100",
                                           .nodes = 16,
                                           .nics_per_node = -1,
                                           .network = SS_NETWORK_FAT_TREE,
                                           .nodes_per_leaf = 4,
                                           .oversubscription = 2};
    struct ss_platform *p;
    struct ss_drawing d;

    draw_new(&cluster, &d, &p);
    CU_ASSERT_EQUAL(d.nvertices, 16 * 8 + 16 + 16 + 4 + 2);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_FABRIC, 450e9), 128);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_NIC, 50e9), 128);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_OTHER, 8 * 50e9), 16 + 4 * 2);
    CU_ASSERT_EQUAL(d.levels, 3);
    ss_drawing_free(&d);
    ss_platform_free(p);
}

/* Three groups of three routers with two nodes each: a router has two links to each other one of its group, three join two groups. */
TEST(new_dragonfly)
{
    const struct ss_new_cluster cluster = {.name = "d",
                                           .card = "h100",
                                           .nodes = 18,
                                           .gpus_per_node = 4,
                                           .nics_per_node = -1,
                                           .network = SS_NETWORK_DRAGONFLY,
                                           .groups = 3,
                                           .routers = 3};
    struct ss_platform *p;
    struct ss_drawing d;

    draw_new(&cluster, &d, &p);
    CU_ASSERT_EQUAL(d.nvertices, 18 * 4 + 18 + 18 + 9);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_NIC, 50e9), 72);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_OTHER, 200e9), 18);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_OTHER, 2 * 200e9), 3 * 3);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_OTHER, 3 * 200e9), 3);
    ss_drawing_free(&d);
    ss_platform_free(p);
}

/* Rails of 40 nodes, 32 a leaf, at half the rate above: an uplink is 32 x 50 / 2 GB/s. */
TEST(new_rails)
{
    const struct ss_new_cluster cluster = {
        .name = "r", .card = "h100", .nodes = 40, .nics_per_node = -1, .oversubscription = 2};
    struct ss_platform *p;
    struct ss_drawing d;

    draw_new(&cluster, &d, &p);
    CU_ASSERT_EQUAL(drawn(&d, 1, 1), 16);
    CU_ASSERT_EQUAL(drawn(&d, 2, 1), 1);
    CU_ASSERT_EQUAL(edges(&d, SS_LINK_UPLINK, 32 * 50e9 / 2), 16);
    ss_drawing_free(&d);
    ss_platform_free(p);
}
