/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters that "platform new" writes, and SimGrid's own in users' files: SimGrid loads them, and routes as we do. */
#include <unistd.h>

#include "platform/platform_internal.h"
#include "stepsim/replay.h"
#include "suite.h"

#define NAMES 1000

/* Writes the text to a file and loads it; the file stays for SimGrid's own answers. */
static struct ss_platform *load(const char *text, size_t len, char path[64], struct ss_error *e)
{
    struct ss_platform_options ask = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;
    int fd;

    strcpy(path, "/tmp/stepsim-new-XXXXXX.xml");
    fd = mkstemps(path, 4);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    close(fd);
    memset(e, 0, sizeof(*e));
    ss_platform_load(path, &ask, &p, e);
    return p;
}

static struct ss_platform *made(const struct ss_new_cluster *c, char path[64])
{
    struct ss_platform *p = NULL;
    struct ss_error e = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(ss_platform_new(c, out, &e), SS_OK);
    fclose(out);
    p = load(text, len, path, &e);
    if (p == NULL)
        printf("\n  %s:%d: %s\n", e.file, e.line, e.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ss_simgrid_probe(path, &e), SS_OK);
    free(text);
    return p;
}

static void route_names(const struct ss_platform *p, int src, int dst, char out[NAMES])
{
    struct ss_route r;
    struct ss_link link;
    size_t used = 0;

    ss_platform_route(p, src, dst, &r);
    out[0] = 0;
    for (int i = 0; i < r.nlinks; i++) {
        ss_platform_link(p, r.link[i], &link);
        used += (size_t)snprintf(out + used, NAMES - used, "%s%s", i > 0 ? " " : "", link.name);
    }
}

/* SimGrid's answer for one pair of hosts, names alone. */
static void asked(const char *path, const char *from, const char *to, char out[NAMES])
{
    const char *pair[1][2] = {{from, to}};
    char *route = NULL, *state = NULL;
    struct ss_error e = {0};

    out[0] = 0;
    CU_ASSERT_EQUAL_FATAL(ss_simgrid_ask_routes(path, 1, (const char *const(*)[2])pair, &route, &e), SS_OK);
    for (char *word = strtok_r(route, " ", &state); word != NULL; word = strtok_r(NULL, " ", &state)) {
        strcat(out, out[0] != 0 ? " " : "");
        strncat(out, word, strcspn(word, "\037"));
    }
    free(route);
}

/* GPU a of node n to GPU b of node m: its NIC, SimGrid's route between the hosts, the other's NIC. */
static void check_nodes(const struct ss_platform *p, const char *path, int n, int m, int a, int b)
{
    int gpus = ss_platform_gpus_per_node(p), share = gpus / ss_platform_nics_per_node(p);
    char ours[NAMES], theirs[NAMES], want[2 * NAMES], from[32], to[32];

    snprintf(from, sizeof(from), "node-%d", n);
    snprintf(to, sizeof(to), "node-%d", m);
    asked(path, from, to, theirs);
    snprintf(want, sizeof(want), "nic-node-%d-%d_UP %s nic-node-%d-%d_DOWN", n, a / share, theirs, m,
             b / share);
    route_names(p, n * gpus + a, m * gpus + b, ours);
    CU_ASSERT_STRING_EQUAL(ours, want);
}

static int links_between(const struct ss_platform *p, int n, int m)
{
    struct ss_route r;

    ss_platform_route(p, n * ss_platform_gpus_per_node(p), m * ss_platform_gpus_per_node(p), &r);
    return r.nlinks;
}

/* 16 nodes, 4 a leaf, 2 spines: a node's way is up and down, by way of a spine to another leaf; with NICs two links more. */
TEST(fat_tree)
{
    struct ss_new_cluster c = {.name = "x/mine.xml",
                               .card = "h100",
                               .nodes = 16,
                               .nics_per_node = 4,
                               .nic_bandwidth = 25e9,
                               .price = 2,
                               .network = SS_NETWORK_FAT_TREE,
                               .nodes_per_leaf = 4,
                               .oversubscription = 2};
    char path[64], names[NAMES];
    struct ss_platform *p = made(&c, path);
    struct ss_route r;
    struct ss_link link;

    CU_ASSERT_EQUAL(ss_platform_nodes(p), 16);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), 8);
    CU_ASSERT_EQUAL(ss_platform_nics_per_node(p), 4);
    CU_ASSERT_EQUAL(ss_platform_card(p)->price, 2);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 450e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_nic_bandwidth(p), 25e9, 1);
    CU_ASSERT_EQUAL(links_between(p, 0, 3), 2 + 2);
    CU_ASSERT_EQUAL(links_between(p, 0, 4), 2 + 4);
    /* nodes 16 x (NVLinks 8 + NICs 4), 16 ways to a leaf, 4 leaves x 2 spines, two directions each */
    CU_ASSERT_EQUAL(ss_platform_link_count(p), 2 * (16 * 12 + 16 + 4 * 2));
    ss_platform_route(p, 0, 40, &r);
    ss_platform_link(p, r.link[1], &link);
    CU_ASSERT_DOUBLE_EQUAL(link.bandwidth, 4 * 25e9, 1);
    CU_ASSERT_DOUBLE_EQUAL(r.latency, 2 * 1e-6 + 4 * 0.5e-6, 1e-12);
    for (int m = 1; m < 16; m++) {
        check_nodes(p, path, 0, m, 0, 7);
        check_nodes(p, path, m, m / 2, 5, 2);
    }
    route_names(p, 3, 6, names);
    CU_ASSERT_STRING_EQUAL(names, "nvlink-node-0-3_UP nvlink-node-0-6_DOWN");
    unlink(path);
    ss_platform_free(p);
}

/* 4 groups of 4 routers of 2 nodes. Router j of a group leads to group j: 3 hops between routers at most. */
TEST(dragonfly)
{
    struct ss_new_cluster c = {
        .name = "d", .card = "h100", .nodes = 32, .nics_per_node = -1, .network = SS_NETWORK_DRAGONFLY};
    char path[64];
    struct ss_platform *p = made(&c, path);

    CU_ASSERT_EQUAL(ss_platform_nodes(p), 32);
    CU_ASSERT_EQUAL(links_between(p, 0, 1), 2 + 2);  /* one router */
    CU_ASSERT_EQUAL(links_between(p, 0, 2), 2 + 3);  /* the next router of the group */
    CU_ASSERT_EQUAL(links_between(p, 2, 8), 2 + 3);  /* router 1 of group 0, and router 0 of group 1 */
    CU_ASSERT_EQUAL(links_between(p, 0, 15), 2 + 5); /* by routers 1 and 0 to router 3 of group 1 */
    for (int m = 1; m < 32; m++)
        check_nodes(p, path, 0, m, 1, 6);
    check_nodes(p, path, 31, 4, 0, 0);
    unlink(path);
    ss_platform_free(p);
}

/* Rails: the written file is a template; every route is SimGrid's on the same cluster in full. */
TEST(rails)
{
    struct ss_new_cluster c = {.name = "r",
                               .card = "a100",
                               .nodes = 4,
                               .gpus_per_node = 4,
                               .nics_per_node = 2,
                               .nodes_per_leaf = 2,
                               .oversubscription = 4};
    char path[64], full[] = "/tmp/stepsim-rails-XXXXXX.xml", ours[NAMES], theirs[NAMES], from[32], to[32];
    struct ss_platform *p = made(&c, path);
    struct ss_link link;
    int fd = mkstemps(full, 4);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(ss_platform_write(p, out, NULL), SS_OK);
    fclose(out);
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 4);
    /* 2 nodes x 25 GB/s below a leaf, a quarter of it up */
    ss_platform_link(p, ss_platform_link_count(p) - 1, &link);
    CU_ASSERT_DOUBLE_EQUAL(link.bandwidth, 2 * 25e9 / 4, 1);
    for (int g = 1; g < 16; g++) {
        snprintf(from, sizeof(from), "gpu-%d-%d", g / 8, g % 4);
        snprintf(to, sizeof(to), "gpu-%d-%d", g / 4, (g + 1) % 4);
        asked(full, from, to, theirs);
        route_names(p, g / 8 * 4 + g % 4, g / 4 * 4 + (g + 1) % 4, ours);
        for (char *dot = ours; (dot = strchr(dot, '.')) != NULL;) { /* .up is _UP */
            *dot++ = '_';
            for (; *dot != 0 && *dot != ' '; dot++)
                *dot = (char)(*dot - 'a' + 'A');
        }
        CU_ASSERT_STRING_EQUAL(ours, theirs);
    }
    unlink(path);
    unlink(full);
    ss_platform_free(p);
}

static void refuse_new(struct ss_new_cluster c, int code, const char *part)
{
    struct ss_error e = {0};
    FILE *out = tmpfile();

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    c.name = c.name ? c.name : "x";
    CU_ASSERT_EQUAL(ss_platform_new(&c, out, &e), code);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.message, part));
    fclose(out);
}

TEST(refused)
{
    struct ss_new_cluster c = {.card = "h100", .nodes = 10, .nics_per_node = -1, .nodes_per_leaf = 4};

    c.network = SS_NETWORK_FAT_TREE;
    refuse_new(c, SS_ERR_USAGE, "do not fill leaf switches of 4");
    c.nodes = 16;
    c.oversubscription = 3;
    refuse_new(c, SS_ERR_USAGE, "make 1.33333 uplinks");
    c.nodes = 1000;
    refuse_new(c, SS_ERR_USAGE, "8000 GPUs in a fat-tree; at most 1024");
    c.network = SS_NETWORK_DRAGONFLY;
    c.nodes = 30;
    c.groups = 4;
    refuse_new(c, SS_ERR_USAGE, "no dragonfly of 4 groups");
    c.card = "h1000";
    refuse_new(c, SS_ERR_IO, "h1000");
    c.network = 9;
    refuse_new(c, SS_ERR_USAGE, "fabric 9");
    refuse_new((struct ss_new_cluster){.nodes = 4}, SS_ERR_USAGE, "without name or card");
}

/* A node of the MI300X is eight GPUs with links of 64 GB/s between each two: a new cluster of the card is one, too. --nvlink is what a
 * GPU has in all: 192 GB/s to three others are 64 to each. */
TEST(mesh)
{
    struct ss_new_cluster c = {.card = "mi300x", .nodes = 2, .nics_per_node = -1, .name = "m"};
    char path[64];
    struct ss_platform *p = made(&c, path);

    CU_ASSERT(ss_platform_is_mesh(p));
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 7 * 64e9, 1);
    CU_ASSERT_STRING_EQUAL(ss_platform_fabric(p), "xGMI");
    CU_ASSERT_STRING_EQUAL(ss_platform_library(p)->name, "RCCL");
    unlink(path);
    ss_platform_free(p);
    c.gpus_per_node = 4;
    c.fabric_bandwidth = 192e9;
    p = made(&c, path);
    CU_ASSERT(ss_platform_is_mesh(p) && p->bandwidth[SS_LINK_FABRIC] == 64e9);
    unlink(path);
    ss_platform_free(p);
    c.gpus_per_node = 1;
    p = made(&c, path);
    CU_ASSERT(!ss_platform_is_mesh(p));
    unlink(path);
    ss_platform_free(p);
    c.gpus_per_node = 16;
    refuse_new(c, SS_ERR_USAGE, "a mesh of 8 GPUs, which says nothing of 16");
    c.gpus_per_node = 0;
    c.fabric_nodes = 2;
    refuse_new(c, SS_ERR_USAGE, "with --nvlink-nodes are on one switch");
    c.fabric_nodes = 0;
    c.network = SS_NETWORK_FAT_TREE;
    refuse_new(c, SS_ERR_USAGE, "a node of mi300x is a mesh");
}

#define HEAD                                                                                                 \
    "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"                \
    "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">\n<prop id=\"ss.card.base\" "                 \
    "value=\"h100\"/>\n"                                                                                     \
    "<prop id=\"ss.gpus_per_node\" value=\"4\"/>\n"
#define CLUSTER                                                                                              \
    "<cluster id=\"c\" prefix=\"g\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" bw=\"10GBps\" lat=\"1us\" "

/* Hosts that are GPUs: SimGrid's routes as they are. */
TEST(users_files)
{
    static const char *const kinds[] = {"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\"",
                                        "DRAGONFLY\" topo_parameters=\"2,1;2,1;2,3;2\"",
                                        "TORUS\" topo_parameters=\"4,2,2\"", "FLAT\""};
    char text[1000], path[64], ours[NAMES], theirs[NAMES], from[16], to[16];
    struct ss_error e;

    for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++) {
        struct ss_platform *p;

        snprintf(text, sizeof(text), HEAD CLUSTER "topology=\"%s/>\n</zone></platform>\n", kinds[k]);
        p = load(text, strlen(text), path, &e);
        if (p == NULL)
            printf("\n  %s:%d: %s\n", e.file, e.line, e.message);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p);
        CU_ASSERT(ss_platform_nodes(p) == 4 && ss_platform_gpus_per_node(p) == 4);
        for (int d = 1; d < 16; d++) {
            int s = (5 * d + 3) % 16;

            if (s == d)
                continue;
            snprintf(from, sizeof(from), "g%d", s);
            snprintf(to, sizeof(to), "g%d", d);
            asked(path, from, to, theirs);
            route_names(p, s, d, ours);
            CU_ASSERT_STRING_EQUAL(ours, theirs);
        }
        unlink(path);
        ss_platform_free(p);
    }
}

static void refuse_file(const char *body, int line, const char *part)
{
    char text[1500], path[64];
    struct ss_error e;
    struct ss_platform *p;

    snprintf(text, sizeof(text), HEAD "%s\n</zone></platform>\n", body);
    p = load(text, strlen(text), path, &e);
    unlink(path);
    if (p != NULL || e.line != line || strstr(e.message, part) == NULL)
        printf("\n  line %d: %s (%s)\n", e.line, e.message, e.hint);
    CU_ASSERT(p == NULL && e.line == line && strstr(e.message, part) != NULL && e.hint[0] != 0);
    ss_platform_free(p);
}

TEST(bad_files)
{
    refuse_file(CLUSTER "topology=\"TORUS\"/>", 6, "topo_parameters=\"\" of a TORUS");
    refuse_file(CLUSTER "topology=\"TORUS\" topo_parameters=\"4,3\"/>", 6, "make 12 hosts");
    refuse_file(CLUSTER "topology=\"TORUS\" topo_parameters=\"4;4\"/>", 6, "of a TORUS");
    refuse_file(CLUSTER "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2\"/>", 6, "of a FAT_TREE");
    /* four groups of two routers: SimGrid breaks down on the route */
    refuse_file(CLUSTER "topology=\"DRAGONFLY\" topo_parameters=\"4,1;2,1;2,1;1\"/>", 6, "of a DRAGONFLY");
    refuse_file("<prop id=\"ss.hosts\" value=\"nodes\"/>" CLUSTER
                "topology=\"TORUS\" topo_parameters=\"4,4\"/>",
                6, "missing prop \"ss.fabric.bandwidth\"");
    refuse_file("<prop id=\"ss.hosts\" value=\"racks\"/>" CLUSTER "/>", 6, "racks");
}
