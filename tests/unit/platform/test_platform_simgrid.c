/* SPDX-License-Identifier: Apache-2.0 */
/* What the SimGrid kernel says of platforms: it loads ours, and its routes are our arithmetic. */
#include <unistd.h>

#include "platform/platform_internal.h"
#include "stepsim/replay.h"
#include "suite.h"

static const char *const shipped[] = {"a100", "h100", "h20", "h800", "v100", "v100-32g"};

TEST(probe)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(shipped); i++) {
        struct ss_error e = {0};
        char path[512];

        snprintf(path, sizeof(path), "%s/platforms/%s.xml", SS_SOURCE_DIR, shipped[i]);
        if (ss_simgrid_probe(path, &e) != SS_OK)
            printf("\n  %s: %s\n", shipped[i], e.message);
        CU_ASSERT_EQUAL(e.code, 0);
    }
}

/* Writes p without the props of a template, so that its routes must be asked. */
static void write_plain(const struct ss_platform *p, const char *path)
{
    char *text = NULL, *state = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size), *out = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL(ss_platform_write(p, memory, NULL), SS_OK);
    fclose(memory);
    for (char *line = strtok_r(text, "\n", &state); line != NULL; line = strtok_r(NULL, "\n", &state))
        if (strstr(line, "ss.template") == NULL && strstr(line, "ss.nodes_per_leaf") == NULL &&
            strstr(line, "ss.oversubscription") == NULL)
            fprintf(out, "%s\n", line);
    fclose(out);
    free(text);
}

static void route_names(const struct ss_platform *p, int src, int dst, char *out, size_t size)
{
    struct ss_route r;
    size_t used = 0;

    ss_platform_route(p, src, dst, &r);
    out[0] = 0;
    for (int i = 0; i < r.nlinks; i++) {
        struct ss_link link;
        char *dot;

        ss_platform_link(p, r.link[i], &link);
        if ((dot = strchr(link.name, '.')) != NULL)
            strcpy(dot, strcmp(dot, ".up") == 0 ? "_UP" : "_DOWN");
        used += (size_t)snprintf(out + used, size - used, "%s ", link.name);
    }
    snprintf(out + used, size - used, "%.12g s", r.latency);
}

/* Every pair, link by link. */
static void compare(const struct ss_platform *p)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *asked = NULL;
    struct ss_error e = {0};
    char path[] = "/tmp/stepsim-platform-XXXXXX.xml", ours[1000], theirs[1000];
    int fd = mkstemps(path, 4), n = ss_platform_nodes(p) * ss_platform_gpus_per_node(p), wrong = 0;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    write_plain(p, path);
    if (ss_platform_load(path, &options, &asked, &e) != SS_OK)
        printf("\n  %s:%d: %s\n", e.file, e.line, e.message);
    unlink(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(asked);
    CU_ASSERT_EQUAL_FATAL(ss_platform_nodes(asked), ss_platform_nodes(p));
    for (int s = 0; s < n; s++)
        for (int d = 0; d < n; d++) {
            if (s == d)
                continue;
            route_names(p, s, d, ours, sizeof(ours));
            route_names(asked, s, d, theirs, sizeof(theirs));
            if (strcmp(ours, theirs) != 0 && wrong++ == 0)
                printf("\n  %s, %d nodes, %d to %d: %s instead of %s\n", ss_platform_name(p),
                       ss_platform_nodes(p), s, d, ours, theirs);
        }
    CU_ASSERT_EQUAL(wrong, 0);
    if (ss_platform_nodes(p) > 1) {
        CU_ASSERT_DOUBLE_EQUAL(ss_platform_nic_bandwidth(asked), ss_platform_nic_bandwidth(p), 1);
        CU_ASSERT_EQUAL(ss_platform_nics_per_node(asked), ss_platform_nics_per_node(p));
    }
    ss_platform_free(asked);
}

TEST(templates)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(shipped); i++)
        for (int nodes = 1; nodes <= 4; nodes++) {
            struct ss_platform_options options = {.nodes = nodes};
            struct ss_platform *p = NULL;

            CU_ASSERT_EQUAL_FATAL(ss_platform_load(shipped[i], &options, &p, NULL), SS_OK);
            compare(p);
            if (nodes > 2) { /* over two groups of leaves */
                CU_ASSERT_EQUAL(ss_platform_set(p, "ss.nodes_per_leaf", "2", NULL), SS_OK);
                compare(p);
            }
            if (nodes == 3) { /* GPUs that share a NIC */
                p->nics_per_node /= 2;
                compare(p);
            }
            ss_platform_free(p);
        }
}

/* Two <cluster>s with a wire between them: the links that SimGrid makes up are found by their names. */
TEST(clusters)
{
    struct ss_platform_options options = {.nodes = 1}, ask = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *card = NULL, *p = NULL;
    struct ss_error e = {0};
    struct ss_route r;
    char path[] = "/tmp/stepsim-cluster-XXXXXX.xml", names[1000], value[64];
    int fd = mkstemps(path, 4);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h100", &options, &card, NULL), SS_OK);
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><prop id=\"ss.card\" value=\"H100\"/>\n",
          out);
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        fprintf(out, "<prop id=\"%s\" value=\"%s\"/>\n", ss_prop_at(i)->id,
                ss_unit_format(ss_prop_get(i, ss_platform_card(card)), ss_prop_at(i)->unit, value,
                               sizeof(value)));
    for (int n = 0; n < 2; n++)
        fprintf(out,
                "<cluster id=\"c%d\" prefix=\"g%d-\" suffix=\"\" radical=\"0-3\" speed=\"1Tf\" bw=\"10GBps\" "
                "lat=\"1us\" "
                "bb_bw=\"40GBps\" bb_lat=\"2us\"><prop id=\"ss.node\" value=\"%d\"/></cluster>\n",
                n, n, n);
    fputs("<link id=\"nic-wire\" bandwidth=\"20GBps\" latency=\"5us\"/>\n"
          "<zoneRoute src=\"c0\" dst=\"c1\" gw_src=\"g0-c0_router\" gw_dst=\"g1-c1_router\"><link_ctn "
          "id=\"nic-wire\"/></zoneRoute>\n"
          "</zone></platform>\n",
          out);
    fclose(out);
    if (ss_platform_load(path, &ask, &p, &e) != SS_OK)
        printf("\n  %s:%d: %s\n", e.file, e.line, e.message);
    unlink(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 2);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), 4);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_nic_bandwidth(p), 20e9, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 10e9, 0);
    ss_platform_route(p, 1, 6, &r);
    CU_ASSERT_DOUBLE_EQUAL(r.latency, 11e-6, 1e-15);
    route_names(p, 1, 6, names, sizeof(names));
    CU_ASSERT_STRING_EQUAL(names, "c0_link_1_UP c0_backbone nic-wire c1_backbone c1_link_2_DOWN 1.1e-05 s");
    ss_platform_free(p);
    ss_platform_free(card);
}

static int load_text(const char *text, const struct ss_platform_options *options, struct ss_platform **p,
                     struct ss_error *e)
{
    char path[] = "/tmp/stepsim-plain-XXXXXX.xml";
    int fd = mkstemps(path, 4), rc;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(out, "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n%s",
            text);
    fclose(out);
    rc = ss_platform_load(path, options, p, e);
    unlink(path);
    return rc;
}

/* A file that was written for SimGrid alone: cabinets below a backbone, older names, settings of the kernel, a route that
 * passes the zones' own, and two hosts that only the third reaches. */
TEST(plain)
{
    static const char text[] =
        "<platform version=\"4.1\"><config id=\"c\"><prop id=\"network/model\" value=\"CM02\"/></config>\n"
        "<AS id=\"w\" routing=\"Full\">\n"
        "<zone id=\"a\" routing=\"Cluster\"><cabinet id=\"k\" prefix=\"h\" suffix=\"\" radical=\"0-1\" "
        "speed=\"1Gf\" "
        "bw=\"10GBps\" lat=\"1us\"/><cabinet id=\"k\" prefix=\"h\" suffix=\"\" radical=\"2\" speed=\"1Gf\" "
        "bw=\"5GBps\" "
        "lat=\"1us\"/><router id=\"ra\"/><backbone id=\"bb\" bandwidth=\"20GBps\" latency=\"3us\"/></zone>\n"
        "<zone id=\"b\" routing=\"Full\"><host id=\"x\" speed=\"1Gf\"/><host id=\"y\" speed=\"1Gf\"/><host "
        "id=\"z\" "
        "speed=\"1Gf\"/><link id=\"l\" bandwidth=\"2GBps\" latency=\"7us\"/><route src=\"x\" "
        "dst=\"y\"><link_ctn "
        "id=\"l\"/></route></zone>\n"
        "<link id=\"wire\" bandwidth=\"1GBps\" latency=\"5us\"/><link id=\"short\" bandwidth=\"3GBps\" "
        "latency=\"2us\"/>\n"
        "<ASroute src=\"a\" dst=\"b\" gw_src=\"ra\" gw_dst=\"x\"><link_ctn id=\"wire\"/></ASroute>\n"
        "<bypassASroute src=\"b\" dst=\"a\" gw_src=\"x\" gw_dst=\"ra\"><link_ctn "
        "id=\"short\"/></bypassASroute>\n"
        "</AS></platform>\n";
    struct ss_platform_options o = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;
    struct ss_error e = {0};
    struct ss_route r;
    char names[1000];

    CU_ASSERT_EQUAL(load_text(text, &o, &p, &e), SS_ERR_INPUT);
    CU_ASSERT(strstr(e.message, "card and of how many hosts") &&
              strstr(e.hint, "--card NAME and --gpus-per-node N"));
    o.card = "a100";
    CU_ASSERT_EQUAL(load_text(text, &o, &p, &e), SS_ERR_INPUT);
    CU_ASSERT(strstr(e.message, "ss.gpus_per_node") != NULL);
    o.gpus_per_node = 1;
    if (load_text(text, &o, &p, &e) != SS_OK)
        printf("\n  %s:%d: %s\n", e.file, e.line, e.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "A100-80GB");
    CU_ASSERT_STRING_EQUAL(ss_platform_untaken(p), "network/model=CM02");
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 6);
    route_names(p, 0, 2, names, sizeof names);
    CU_ASSERT_STRING_EQUAL(names, "link_h0_UP bb link_h2_DOWN 5e-06 s");
    route_names(p, 0, 4, names, sizeof names);
    CU_ASSERT_STRING_EQUAL(names, "link_h0_UP bb wire l 1.6e-05 s");
    route_names(p, 3, 0, names, sizeof names);
    CU_ASSERT_STRING_EQUAL(names, "short bb link_h0_DOWN 6e-06 s");
    ss_platform_route(p, 3, 5, &r);
    CU_ASSERT_EQUAL(r.nlinks, 0);
    ss_platform_free(p);
    o.card = "h200"; /* another than the file's own */
    CU_ASSERT_EQUAL(ss_platform_load("h100", &o, &p, &e), SS_ERR_CONFIG);
    o.card = "h100";
    CU_ASSERT_EQUAL(ss_platform_load("h100", &o, &p, &e), SS_OK);
    ss_platform_free(p);
}
