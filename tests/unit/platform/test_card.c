/* SPDX-License-Identifier: Apache-2.0 */
/* Cards: props of a card told once in a file, which platforms and other cards name. */
#include <unistd.h>

#include "platform/platform_internal.h"
#include "suite.h"

#define PROP(id, value) "<prop id=\"" id "\" value=\"" value "\"/>\n"
#define CARD(props) "<?xml version='1.0'?>\n<card>\n" props "</card>\n"
/* Zone 3 begins at line 4; two GPUs, so that a route has to be asked. */
#define PLATFORM(props, hosts)                                                                               \
    "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n" props hosts      \
    "<link id=\"nvlink-0\" bandwidth=\"100GBps\" latency=\"1us\"/>\n"                                        \
    "<route src=\"a\" dst=\"b\"><link_ctn id=\"nvlink-0\"/></route>\n</zone></platform>\n"
#define HOSTS "<host id=\"a\" speed=\"1f\"/>\n<host id=\"b\" speed=\"1f\"/>\n"

static char folder[] = "/tmp/stepsim-card-XXXXXX";

static int make_folder(void)
{
    return mkdtemp(folder) == NULL || chdir(folder) != 0;
}

static int remove_folder(void)
{
    unlink("mine.xml");
    unlink("other.xml");
    return chdir("/") != 0 || rmdir(folder) != 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

static int ask(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
               struct ss_error *err)
{
    (void)file, (void)hosts, (void)err;
    for (int i = 0; i < npairs; i++)
        if ((routes[i] = strdup("nvlink-0")) == NULL)
            return SS_ERR_NOMEM;
    return SS_OK;
}

static int parse(const char *text, struct ss_platform **p, struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ask};

    memset(err, 0, sizeof *err);
    *p = NULL;
    return ss_platform_parse(text, strlen(text), "dir/p.xml", &options, p, err);
}

/* Every card that comes with the program is complete, and differs in its name from the others. */
TEST(shipped)
{
    char **names = NULL, seen[2000] = " ";
    size_t n = 0;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("platforms/cards", ".xml", &names, &n, NULL), SS_OK);
    CU_ASSERT(n >= 9);
    for (size_t i = 0; i < n; i++) {
        struct ss_card card;
        char word[80];

        CU_ASSERT_EQUAL_FATAL(ss_card_load(names[i], &card, NULL), SS_OK);
        snprintf(word, sizeof word, " %s ", card.name);
        CU_ASSERT_PTR_NULL(strstr(seen, word));
        strcat(seen, word + 1);
    }
    ss_names_free(names, n);
}

/* A file with links of its own names a card and changes some props of it; the innermost place wins. */
TEST(named)
{
    static const char text[] =
        PLATFORM(PROP("ss.power", "600W") PROP("ss.card.base", "h100") PROP("ss.gpus_per_node", "2")
                     PROP("ss.hbm.efficiency", "0.9") PROP("ss.assumed", "nic.bandwidth"),
                 HOSTS);
    struct ss_platform *p;
    struct ss_card h100;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(ss_card_load("h100", &h100, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(parse(text, &p, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "H100-80GB");
    CU_ASSERT_EQUAL(ss_platform_card(p)->power, 600);
    CU_ASSERT_EQUAL(ss_platform_card(p)->hbm_efficiency, 0.9);
    h100.power = 600;
    h100.hbm_efficiency = 0.9;
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        CU_ASSERT_EQUAL(ss_prop_get(i, &h100), ss_prop_get(i, ss_platform_card(p)));
    /* hbm.efficiency is no longer the card's, so no longer assumed */
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "nic.bandwidth gemm.k_prologue.fp8");
    ss_platform_free(p);
}

/* The card that a host names replaces what its zone said. */
TEST(inner)
{
    static const char text[] = PLATFORM(
        PROP("ss.power", "600W") PROP("ss.gpus_per_node", "2"),
        "<host id=\"a\" speed=\"1f\">" PROP("ss.card.base", "h200") "</host>\n"
                                                                    "<host id=\"b\" speed=\"1f\">" PROP(
                                                                        "ss.card.base", "h200") "</host>\n");
    static const char two[] = PLATFORM(
        PROP("ss.gpus_per_node", "2"),
        "<host id=\"a\" speed=\"1f\">" PROP("ss.card.base", "h100") "</host>\n"
                                                                    "<host id=\"b\" speed=\"1f\">" PROP(
                                                                        "ss.card.base", "h200") "</host>\n");
    struct ss_platform *p;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(parse(text, &p, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "H200-141GB");
    CU_ASSERT_EQUAL(ss_platform_card(p)->power, 700);
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "hbm.efficiency gemm.k_prologue.fp8");
    ss_platform_free(p);
    CU_ASSERT_EQUAL(parse(two, &p, &err), SS_ERR_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "ss.card of host \"b\" differs"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.file, "cards/h200.xml"));
}

/* A card on a card: its own list of assumed values, or what is left of the other's. */
TEST(base)
{
    static const char text[] =
        PLATFORM(PROP("ss.card.base", "./mine.xml") PROP("ss.gpus_per_node", "2"), HOSTS);
    struct ss_platform *p;
    struct ss_error err;

    write_file("mine.xml",
               CARD(PROP("ss.card.base", "h100") PROP("ss.card", "Mine") PROP("ss.hbm.efficiency", "0.8")));
    CU_ASSERT_EQUAL_FATAL(parse(text, &p, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "Mine");
    CU_ASSERT_EQUAL(ss_platform_card(p)->hbm_efficiency, 0.8);
    CU_ASSERT_EQUAL(ss_platform_card(p)->sm_count, 132);
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "gemm.k_prologue.fp8");
    ss_platform_free(p);

    write_file("mine.xml",
               CARD(PROP("ss.card.base", "h100") PROP("ss.assumed", "power  price") PROP("ss.power", "1kW")));
    CU_ASSERT_EQUAL_FATAL(parse(text, &p, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "power price");
    ss_platform_free(p);
}

/* A variant takes another card; words of its base about the old card go with it. */
TEST(variant)
{
#define ZONE(props)                                                                                          \
    "<platform version=\"4.1\">\n<zone id=\"v\" routing=\"Dijkstra\">\n" props "</zone>\n</platform>\n"
    struct ss_platform *p;
    struct ss_error err;

    CU_ASSERT_EQUAL_FATAL(parse(ZONE(PROP("ss.base", "h800") PROP("ss.card.base", "a100")
                                         PROP("ss.power", "500W") PROP("ss.nodes", "7")),
                                &p, &err),
                          SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "A100-80GB");
    CU_ASSERT_EQUAL(ss_platform_card(p)->power, 500);
    CU_ASSERT_EQUAL(ss_platform_card(p)->nvls_efficiency, 0); /* not h800's */
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 7);
    CU_ASSERT_STRING_EQUAL(
        ss_platform_assumed(p),
        "nic.bandwidth nvlink.latency nic.latency uplink.latency nodes_per_leaf oversubscription "
        "hbm.efficiency gemm.efficiency.fp16 gemm.efficiency.bf16 gemm.k_prologue "
        "gemm.k_prologue.fp8 gemm.small_tile kernel_latency gemm.efficiency.fp32 pcie.bandwidth");
    ss_platform_free(p);
    CU_ASSERT_EQUAL_FATAL(
        parse(ZONE(PROP("ss.base", "h800") PROP("ss.card.base", "h100") PROP("ss.assumed", "price")), &p,
              &err),
        SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_assumed(p), "price hbm.efficiency gemm.k_prologue.fp8");
    ss_platform_free(p);
}

/* Without a card every prop that is missing is named at once. */
TEST(missing)
{
    static const char none[] = PLATFORM(PROP("ss.gpus_per_node", "2"), HOSTS);
    static const char two[] =
        PLATFORM(PROP("ss.card.base", "./mine.xml") PROP("ss.gpus_per_node", "2"), HOSTS);
    struct ss_platform *p;
    struct ss_error err;
    int n = 0;

    CU_ASSERT_EQUAL(parse(none, &p, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 3);
    for (int i = 0; i < SS_PROP_PLATFORM_COUNT; i++) {
        char word[64];

        snprintf(word, sizeof word, " %s", ss_prop_at(i)->id + 3);
        n += ss_prop_at(i)->required;
        CU_ASSERT(!ss_prop_at(i)->required || strstr(err.message, word) != NULL);
    }
    CU_ASSERT_EQUAL(atoi(err.message), n);
    CU_ASSERT(strstr(err.hint, "ss.card.base") != NULL);
    write_file("mine.xml", CARD(PROP("ss.card", "Mine")));
    CU_ASSERT_EQUAL(parse(two, &p, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(atoi(err.message), n - 1);
}

TEST(mistakes)
{
    static const char names_mine[] =
        PLATFORM(PROP("ss.card.base", "./mine.xml") PROP("ss.gpus_per_node", "2"), HOSTS);
    static const struct {
        const char *card; /* mine.xml; NULL: the platform itself is wrong */
        const char *platform;
        const char *file, *part, *hint;
        int line;
    } bad[] = {
        {NULL, PLATFORM(PROP("ss.card.base", "h10"), HOSTS), "dir/p.xml", "no 'h10'", "did you mean h100", 4},
        {NULL, PLATFORM(PROP("ss.card.base", "blackwell"), HOSTS), "dir/p.xml", "no 'blackwell'", "h800", 4},
        {NULL, PLATFORM(PROP("ss.card.base", "./none.xml"), HOSTS), "dir/p.xml", "no such file",
         "give a file", 4},
        {NULL, PLATFORM(PROP("ss.card.base", "h100") PROP("ss.card.base", "h100"), HOSTS), "dir/p.xml",
         "given twice", "keep", 5},
        {NULL,
         PLATFORM("", "<host id=\"a\" speed=\"1f\"/>\n<host id=\"b\" speed=\"1f\">" PROP(
                          "ss.assumed", "power") "</host>\n"),
         "dir/p.xml", "", "", 0},
        {CARD(PROP("ss.card.base", "./mine.xml")), names_mine, "./mine.xml", "more than 8 cards", "lead back",
         3},
        {CARD(PROP("ss.sm_cuont", "5")), names_mine, "./mine.xml", "unknown prop", "ss.sm_count", 3},
        {CARD(PROP("ss.sm_count", "5.5")), names_mine, "./mine.xml", "whole number", "whole number", 3},
        {CARD(PROP("ss.gpus_per_node", "5")), names_mine, "./mine.xml", "does not belong in <card>",
         "outermost zone", 3},
        {CARD(PROP("ss.nic.bandwidth", "5GBps")), names_mine, "./mine.xml", "unknown prop", "<link>", 3},
        {CARD(PROP("ss.card.base", "h100") PROP("ss.assumed", "nic.bandwidth")), names_mine, "./mine.xml",
         "no value of a card", "", 4},
        {CARD("<host id=\"a\"/>"), names_mine, "./mine.xml", "<host> in a card", "only", 3},
        {CARD("<prop id=\"ss.power\"/>"), names_mine, "./mine.xml", "needs a value", "", 3},
        {CARD("<prop value=\"1\"/>"), names_mine, "./mine.xml", "needs an id", "", 3},
        {"<platform version=\"4.1\"/>\n", names_mine, "./mine.xml", "<platform>, not <card>", "ss.base", 1},
        {"<crad/>\n", names_mine, "./mine.xml", "<crad>, not <card>", "a card is", 1},
        {"<card>", names_mine, "./mine.xml", "", "", 1},
        {"", names_mine, "./mine.xml", "empty", "", 1},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(bad); i++) {
        struct ss_platform *p;
        struct ss_error err;
        int rc, right;

        if (bad[i].card != NULL)
            write_file("mine.xml", bad[i].card);
        rc = parse(bad[i].platform, &p, &err);
        right = rc != SS_OK && p == NULL && strcmp(err.file, bad[i].file) == 0 &&
                (bad[i].line == 0 || err.line == bad[i].line) && strstr(err.message, bad[i].part) != NULL &&
                strstr(err.hint, bad[i].hint) != NULL;
        CU_ASSERT(right);
        if (!right)
            printf("\n  %zu: %s:%d: %s: %s\n", i, err.file, err.line, err.message, err.hint);
    }
}

/* NVIDIA's data sheets of HGX B200 and B300 and GB200 and GB300 NVL72, a GPU's share of each total, sparse figures halved; of Vera Rubin
 * NVL72 the dense ones, of training. */
TEST(blackwell)
{
    static const struct {
        const char *name;
        int sms;
        double bf16, fp8, fp4, hbm, device_mib, watt;
    } sheets[] = {
        {"b200", 148, 36e15 / 8 / 2, 72e15 / 8 / 2, 144e15 / 8 / 2, 62e12 / 8, 183359, 1000},
        {"b300", 148, 36e15 / 8 / 2, 72e15 / 8 / 2, 108e15 / 8, 62e12 / 8, 275040, 1100},
        {"gb200", 152, 360e15 / 72 / 2, 720e15 / 72 / 2, 1440e15 / 72 / 2, 576e12 / 72, 189471, 1200},
        {"gb300", 152, 360e15 / 72 / 2, 720e15 / 72 / 2, 1080e15 / 72, 576e12 / 72, 284208, 1400},
        {"vr200", 224, 288e15 / 72, 1260e15 / 72, 2520e15 / 72, 1580e12 / 72, 293376, 1800}};

    for (size_t i = 0; i < SS_ARRAY_LEN(sheets); i++) {
        struct ss_card c;

        CU_ASSERT_EQUAL_FATAL(ss_card_load(sheets[i].name, &c, NULL), 0);
        CU_ASSERT_EQUAL(c.sm_count, sheets[i].sms);
        CU_ASSERT_DOUBLE_EQUAL(c.peak_bf16, sheets[i].bf16, 1);
        CU_ASSERT_DOUBLE_EQUAL(c.peak_fp8, sheets[i].fp8, 1);
        CU_ASSERT_DOUBLE_EQUAL(c.peak_fp4, sheets[i].fp4, 1);
        CU_ASSERT_DOUBLE_EQUAL(c.hbm_bandwidth, sheets[i].hbm, 0.01 * sheets[i].hbm);
        CU_ASSERT_EQUAL(c.device_memory, sheets[i].device_mib * 1048576);
        CU_ASSERT_EQUAL(c.power, sheets[i].watt);
        CU_ASSERT_EQUAL(c.sheet, strcmp(sheets[i].name, "vr200") == 0);
    }
}

SUITE(card)
{
    return suite_file(argv[0], make_folder, remove_folder);
}
