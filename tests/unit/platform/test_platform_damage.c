/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged platform files: each kind is one error with its code, file and line, and says what to do. */

#include "platform/foreign.h"
#include "suite.h"

/* A valid file of somebody else's: two zones with two GPUs each. Card props go where @ is. */
static const char *const good_file =
    "<?xml version='1.0'?>\n"
    "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
    "<platform version=\"4.1\">\n"
    "  <zone id=\"world\" routing=\"Full\">\n"
    "@"
    "    <prop id=\"owner\" value=\"somebody\"/>\n"
    "    <zone id=\"n0\" routing=\"Full\">\n"
    "      <prop id=\"ss.node\" value=\"0\"/>\n"
    "      <host id=\"a0\" speed=\"1Tf,500Gf\" core=\"2\"/>\n"
    "      <host id=\"a1\" speed=\"1Tf\"><prop id=\"mine\" value=\"2\"/></host>\n"
    "      <router id=\"ra\"/>\n"
    "      <link id=\"nvlink-a\" bandwidth=\"200GBps\" latency=\"1us\"/>\n"
    "      <link id=\"wire-a\" bandwidth=\"25000MBps\" latency=\"2us\"><prop id=\"ss.kind\" "
    "value=\"nic\"/></link>\n"
    "      <route src=\"a0\" dst=\"a1\"><link_ctn id=\"nvlink-a\"/></route>\n"
    "      <route src=\"a0\" dst=\"ra\"><link_ctn id=\"wire-a\"/></route>\n"
    "      <route src=\"a1\" dst=\"ra\"><link_ctn id=\"wire-a\"/></route>\n"
    "    </zone>\n"
    "    <zone id=\"n1\" routing=\"Dijkstra\">\n"
    "      <prop id=\"ss.node\" value=\"1\"/>\n"
    "      <host id=\"b0\" speed=\"1Tf\"/>\n"
    "      <host id=\"b1\" speed=\"1Tf\"/>\n"
    "      <router id=\"rb\"/>\n"
    "      <link id=\"nvlink-b\" bandwidth=\"200GBps\" latency=\"1us\"/>\n"
    "      <link id=\"wire-b\" bandwidth=\"200Gbps\" latency=\"2us\"/>\n"
    "      <route src=\"b0\" dst=\"b1\"><link_ctn id=\"nvlink-b\"/></route>\n"
    "      <route src=\"b0\" dst=\"rb\"><link_ctn id=\"wire-b\"/></route>\n"
    "      <route src=\"b1\" dst=\"rb\"><link_ctn id=\"wire-b\"/></route>\n"
    "    </zone>\n"
    "    <link id=\"cable\" bandwidth=\"100GBps\" latency=\"3us\" sharing_policy=\"SPLITDUPLEX\"/>\n"
    "    <link id=\"air\" bandwidth=\"1TBps\" latency=\"0.5us\" sharing_policy=\"FATPIPE\"/>\n"
    "    <zoneRoute src=\"n0\" dst=\"n1\" gw_src=\"ra\" gw_dst=\"rb\">\n"
    "      <link_ctn id=\"cable\" direction=\"UP\"/>\n"
    "      <link_ctn id=\"air\"/>\n"
    "    </zoneRoute>\n"
    "  </zone>\n"
    "</platform>\n";

/* The routes that SimGrid would give. */
static int ask(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
               struct ss_error *err)
{
    (void)file, (void)err;
    for (int i = 0; i < npairs; i++) {
        char from = hosts[i][0][0], to = hosts[i][1][0];

        if (from == to) {
            if (asprintf(&routes[i], "nvlink-%c", from) < 0)
                return SS_ERR_NOMEM;
        } else if (asprintf(&routes[i], "wire-%c %s wire-%c", from,
                            from == 'a' ? "cable_UP air" : "air cable_DOWN", to) < 0) {
            return SS_ERR_NOMEM;
        }
    }
    return SS_OK;
}

/* All required props at an end of their range, and the card's name. */
static char *card_props(void)
{
    char *text = NULL, value[64];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    fprintf(out, "    <prop id=\"ss.card\" value=\"X\"/>\n");
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        if (ss_prop_at(i)->required)
            fprintf(out, "    <prop id=\"%s\" value=\"%s\"/>\n", ss_prop_at(i)->id,
                    ss_unit_format(ss_prop_at(i)->high, ss_prop_at(i)->unit, value, sizeof(value)));
    fclose(out);
    return text;
}

/* text with the first `find` as `with`; malloc'ed. */
static char *replaced(const char *text, const char *find, const char *with)
{
    const char *at = strstr(text, find);
    char *out = NULL;

    if (at == NULL)
        printf("\n  not in the file: %s\n", find);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT(asprintf(&out, "%.*s%s%s", (int)(at - text), text, with, at + strlen(find)) > 0);
    return out;
}

static char *good_text(void)
{
    char *props = card_props(), *text = replaced(good_file, "@", props);

    free(props);
    return text;
}

static int line_of(const char *text, const char *mark)
{
    const char *at = strstr(text, mark);
    int line = 1;

    if (at == NULL)
        printf("\n  no mark: %s\n", mark);
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    for (const char *c = text; c < at; c++)
        line += *c == '\n';
    return line;
}

struct damage {
    const char *what;
    const char *find, *with;
    int code;
    const char *mark; /* stands in the line that the error names; NULL: no line */
    const char *part; /* of the message */
};

static void check(const char *text, const struct damage *d, const struct ss_platform_options *options)
{
    struct ss_platform *p = NULL;
    struct ss_error e = {0};
    int line = d->mark != NULL ? line_of(text, d->mark) : 0;
    int rc = ss_platform_parse(text, strlen(text), "dir/bad.xml", options, &p, &e);
    bool right = rc == d->code && e.code == rc && e.line == line && strcmp(e.file, "dir/bad.xml") == 0 &&
                 strstr(e.message, d->part) != NULL && e.hint[0] != 0 && p == NULL;

    if (!right)
        printf("\n  %s: %d, %s:%d (not %d): %s: %s\n", d->what, rc, e.file, e.line, line, e.message, e.hint);
    CU_ASSERT(right);
    CU_ASSERT_EQUAL(ss_platform_parse(text, strlen(text), "dir/bad.xml", options, &p, NULL), d->code);
    ss_platform_free(p);
}

static const struct damage foreign_damages[] = {
    {"unclosed tag", "<router id=\"ra\"/>", "<router id=\"ra\">", SS_ERR_INPUT, "</zone>", ""},
    {"unknown tag", "<router id=\"ra\"/>", "<ruoter id=\"ra\"/>", SS_ERR_INPUT, "<ruoter",
     "unknown tag <ruoter>"},
    {"tag of SimGrid that is not supported", "<router id=\"ra\"/>", "<peer id=\"ra\"/>", SS_ERR_UNSUPPORTED,
     "<peer", "<peer>"},
    {"unknown attribute", "core=\"2\"", "cores=\"2\"", SS_ERR_INPUT, "cores=", "\"cores\""},
    {"missing attribute", "<host id=\"b0\" speed=\"1Tf\"/>", "<host id=\"b0\"/>", SS_ERR_INPUT,
     "<host id=\"b0\"", "\"speed\""},
    {"resource that changes", "core=\"2\"", "speed_file=\"x\"", SS_ERR_UNSUPPORTED, "speed_file",
     "speed_file"},
    {"core is no number", "core=\"2\"", "core=\"two\"", SS_ERR_INPUT, "core=\"two\"", "core"},
    {"duplicate host", "<host id=\"b0\"", "<host id=\"a0\"", SS_ERR_INPUT, "<host id=\"a0\" speed=\"1Tf\"",
     "duplicate host \"a0\""},
    {"duplicate router", "<router id=\"rb\"", "<router  id=\"ra\"", SS_ERR_INPUT, "<router  id",
     "duplicate router \"ra\""},
    {"duplicate link", "<link id=\"nvlink-b\"", "<link  id=\"nvlink-a\"", SS_ERR_INPUT, "<link  id",
     "duplicate link \"nvlink-a\""},
    {"duplicate zone", "<zone id=\"n1\"", "<zone  id=\"n0\"", SS_ERR_INPUT, "<zone  id",
     "duplicate zone \"n0\""},
    {"host named as a router", "<router id=\"rb\"", "<router id=\"b0\"", SS_ERR_INPUT, "<router id=\"b0\"",
     "duplicate router \"b0\""},
    {"route from an unknown host", "src=\"b1\"", "src=\"b7\"", SS_ERR_INPUT, "src=\"b7\"", "src=\"b7\""},
    {"route to a host of another zone", "dst=\"b1\"", "dst=\"a1\"", SS_ERR_INPUT,
     "<route src=\"b0\" dst=\"a1\"", "another zone"},
    {"unknown link", "<link_ctn id=\"wire-b\"/>", "<link_ctn id=\"wire\"/>", SS_ERR_INPUT, "\"wire\"",
     "unknown link \"wire\""},
    {"route without links", "<link_ctn id=\"nvlink-b\"/>", "", SS_ERR_INPUT, "<route src=\"b0\" dst=\"b1\"",
     "without links"},
    {"no direction", " direction=\"UP\"", "", SS_ERR_INPUT, "<link_ctn id=\"cable\"", "no direction"},
    {"direction on a plain link", "<link_ctn id=\"air\"", "<link_ctn direction=\"UP\" id=\"air\"",
     SS_ERR_INPUT, "direction=\"UP\" id", "a direction"},
    {"wrong direction", "direction=\"UP\"", "direction=\"LEFT\"", SS_ERR_INPUT, "LEFT", "LEFT"},
    {"duplicate route", "<route src=\"b0\" dst=\"rb\">", "<route src=\"b1\" dst=\"b0\">", SS_ERR_INPUT,
     "src=\"b1\" dst=\"b0\"", "duplicate route"},
    {"host without a route", "<router id=\"rb\"/>", "<router id=\"rb\"/><host id=\"b2\" speed=\"1Tf\"/>",
     SS_ERR_INPUT, "\"b2\"", "host \"b2\" has no route"},
    {"routing None", "<zone id=\"n1\" routing=\"Dijkstra\">", "<zone id=\"n1\" routing=\"None\">",
     SS_ERR_INPUT, "None", "None"},
    {"unknown routing", "routing=\"Dijkstra\"", "routing=\"Dikstra\"", SS_ERR_INPUT, "Dikstra", "Dikstra"},
    {"routing that is not supported", "routing=\"Dijkstra\"", "routing=\"Vivaldi\"", SS_ERR_UNSUPPORTED,
     "Vivaldi", "Vivaldi"},
    {"missing gateway", " gw_dst=\"rb\"", "", SS_ERR_INPUT, "<zoneRoute", "\"gw_dst\""},
    {"unknown gateway", "gw_dst=\"rb\"", "gw_dst=\"rc\"", SS_ERR_INPUT, "<zoneRoute", "\"rc\""},
    {"gateway in another zone", "gw_dst=\"rb\"", "gw_dst=\"ra\"", SS_ERR_INPUT, "<zoneRoute",
     "not in zone \"n1\""},
    {"zone without a route", "<link id=\"cable\"", "<zone id=\"n2\" routing=\"Full\"/><link id=\"cable\"",
     SS_ERR_INPUT, "n2", "zone \"n2\" has no route"},
    {"route between unknown zones", "<zoneRoute src=\"n0\"", "<zoneRoute src=\"n7\"", SS_ERR_INPUT, "n7",
     "\"n7\""},
    {"negative bandwidth", "\"200Gbps\"", "\"-200Gbps\"", SS_ERR_INPUT, "-200Gbps", "must be positive"},
    {"zero bandwidth", "\"200Gbps\"", "\"0Gbps\"", SS_ERR_INPUT, "\"0Gbps\"", "must be positive"},
    {"bandwidth in bytes", "\"200Gbps\"", "\"200GB\"", SS_ERR_INPUT, "\"200GB\"", "unit"},
    {"bandwidth without unit", "\"200Gbps\"", "\"25e9\"", SS_ERR_INPUT, "25e9", "unit"},
    {"bandwidth with a blank", "\"200Gbps\"", "\"200 Gbps\"", SS_ERR_INPUT, "200 Gbps", "blank"},
    {"bandwidth is no number", "\"200Gbps\"", "\"fast\"", SS_ERR_INPUT, "fast", "not a number"},
    {"bandwidth in hexadecimal", "\"200Gbps\"", "\"0x10Gbps\"", SS_ERR_INPUT, "0x10", "not a number"},
    {"negative latency", "latency=\"3us\"", "latency=\"-3us\"", SS_ERR_INPUT, "-3us", "not be negative"},
    {"latency in metres", "latency=\"3us\"", "latency=\"3km\"", SS_ERR_INPUT, "3km", "unit"},
    {"negative speed", "<host id=\"b1\" speed=\"1Tf\"", "<host id=\"b1\" speed=\"-1Tf\"", SS_ERR_INPUT,
     "-1Tf", "must be positive"},
    {"bad second speed", "1Tf,500Gf", "1Tf,-1Gf", SS_ERR_INPUT, "1Tf,-1Gf", "negative"},
    {"unknown sharing policy", "FATPIPE", "THINPIPE", SS_ERR_INPUT, "THINPIPE", "THINPIPE"},
    {"narrow fat pipe", "bandwidth=\"1TBps\"", "bandwidth=\"1GBps\"", SS_ERR_UNSUPPORTED,
     "<zone id=\"world\"", "FATPIPE"},
    {"wrong root", "<platform version=\"4.1\">", "<topology version=\"2.0\">", SS_ERR_INPUT, "<topology", ""},
    {"wrong version", "version=\"4.1\"", "version=\"3\"", SS_ERR_INPUT, "version=\"3\"", "\"3\""},
    {"no version", " version=\"4.1\"", "", SS_ERR_INPUT, "<platform>", "version"},
    {"entity", "simgrid.dtd\">", "simgrid.dtd\" [<!ENTITY x \"y\">]>", SS_ERR_INPUT, "ENTITY", "entity"},
    {"empty name", "<router id=\"rb\"/>", "<router id=\"\"/>", SS_ERR_INPUT, "<router id=\"\"", "empty id"},
    {"props after hosts", "<router id=\"rb\"/>", "<router id=\"rb\"/>\n<prop id=\"x\" value=\"y\"/>",
     SS_ERR_INPUT, "id=\"x\"", "too late"},
    {"hosts beside zones", "    <link id=\"cable\"",
     "    <host id=\"c\" speed=\"1f\"/>\n    <link id=\"cable\"", SS_ERR_INPUT, "id=\"c\"", "also holds"},
    {"host in a host", "<prop id=\"mine\" value=\"2\"/>", "<host id=\"c\" speed=\"1f\"/>", SS_ERR_INPUT,
     "id=\"c\"", "cannot stand in"},
    {"second outermost zone", "</platform>", "<zone id=\"z\" routing=\"Full\"/></platform>", SS_ERR_INPUT,
     "id=\"z\"", "second"},
    {"unequal nodes", "<host id=\"b1\" speed=\"1Tf\"/>",
     "<host id=\"b1\" speed=\"1Tf\"><prop id=\"ss.node\" value=\"2\"/></host>", SS_ERR_INPUT,
     "<host id=\"b0\"", "node 1 has 1 GPUs"},
    {"two kinds of card", "<prop id=\"mine\" value=\"2\"/>", "<prop id=\"ss.power\" value=\"9W\"/>",
     SS_ERR_UNSUPPORTED, "9W", "ss.power of host \"a1\""},
    {"unknown prop", "<prop id=\"ss.node\" value=\"1\"/>", "<prop id=\"ss.mode\" value=\"1\"/>", SS_ERR_INPUT,
     "ss.mode", "unknown prop \"ss.mode\""},
    {"prop of a link", "<prop id=\"owner\" value=\"somebody\"/>",
     "<prop id=\"ss.nic.bandwidth\" value=\"1GBps\"/>", SS_ERR_INPUT, "ss.nic.bandwidth", "unknown prop"},
    {"prop twice", "<prop id=\"owner\" value=\"somebody\"/>", "<prop id=\"ss.sm_count\" value=\"5\"/>",
     SS_ERR_INPUT, "value=\"5\"", "given twice"},
    {"prop in the wrong place", "<prop id=\"mine\" value=\"2\"/>", "<prop id=\"ss.kind\" value=\"nic\"/>",
     SS_ERR_INPUT, "a1\" speed", "does not belong"},
    {"prop without value", "<prop id=\"mine\" value=\"2\"/>", "<prop id=\"mine\"/>", SS_ERR_INPUT,
     "<prop id=\"mine\"", "\"value\""},
    {"prop of templates", "<prop id=\"owner\" value=\"somebody\"/>",
     "<prop id=\"ss.oversubscription\" value=\"2\"/>", SS_ERR_INPUT, "ss.oversubscription", "template"},
    {"unknown kind of link", "value=\"nic\"", "value=\"nik\"", SS_ERR_INPUT, "nik", "\"nik\""},
    {"unknown assumption", "<prop id=\"owner\" value=\"somebody\"/>",
     "<prop id=\"ss.assumed\" value=\"power nic.bandwith\"/>", SS_ERR_INPUT, "ss.assumed",
     "\"nic.bandwith\""},
    {"missing prop", "<prop id=\"ss.sm_count\"", "<prop id=\"sm_count\"", SS_ERR_INPUT, "<zone id=\"world\"",
     "missing prop \"ss.sm_count\""},
    {"prop with a bad unit", "<prop id=\"ss.kernel_latency\" value=\"1ms\"",
     "<prop id=\"ss.kernel_latency\" value=\"1GB\"", SS_ERR_INPUT, "ss.kernel_latency",
     "ss.kernel_latency=\"1GB\""},
    {"prop without unit", "<prop id=\"ss.kernel_latency\" value=\"1ms\"",
     "<prop id=\"ss.kernel_latency\" value=\"1\"", SS_ERR_INPUT, "ss.kernel_latency", "unit"},
    {"prop out of range", "<prop id=\"ss.kernel_latency\" value=\"1ms\"",
     "<prop id=\"ss.kernel_latency\" value=\"2ms\"", SS_ERR_INPUT, "ss.kernel_latency", "outside 0s to 1ms"},
};

TEST(foreign_damage)
{
    struct ss_platform_options options = {.asker = ask};
    char *good = good_text();
    struct ss_platform *p = NULL;
    struct ss_error e = {0};
    int rc = ss_platform_parse(good, strlen(good), "good.xml", &options, &p, &e);

    if (rc != SS_OK)
        printf("\n  %s:%d: %s\n", e.file, e.line, e.message);
    CU_ASSERT_EQUAL_FATAL(rc, SS_OK);
    ss_platform_free(p);
    for (size_t i = 0; i < SS_ARRAY_LEN(foreign_damages); i++) {
        char *text = replaced(good, foreign_damages[i].find, foreign_damages[i].with);

        if (strcmp(foreign_damages[i].what, "wrong root") == 0) {
            char *closed = replaced(text, "</platform>", "</topology>");

            free(text);
            text = closed;
        }
        check(text, &foreign_damages[i], &options);
        free(text);
    }
    free(good);
}

/* Whole files rather than one changed place. */
TEST(other_damage)
{
#define HEAD "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n"
#define TAIL "</zone></platform>\n"
    static const struct {
        const char *text;
        struct damage d;
    } files[] = {
        {"", {.what = "empty", .code = SS_ERR_INPUT, .part = "empty"}},
        {"\n\n", {.what = "blank", .code = SS_ERR_INPUT, .part = "empty"}},
        {"hello\n", {.what = "no XML", .code = SS_ERR_INPUT, .mark = "hello", .part = ""}},
        {"<platform version=\"4.1\">\n</platform>\n",
         {.what = "no zone", .code = SS_ERR_INPUT, .mark = "<platform", .part = "without a zone"}},
        {HEAD "<router id=\"r\"/>" TAIL,
         {.what = "no hosts", .code = SS_ERR_INPUT, .mark = "<zone", .part = "no hosts"}},
        {HEAD TAIL, {.what = "empty zone", .code = SS_ERR_INPUT, .mark = "<zone", .part = "no hosts"}},
        {"<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"g\" suffix=\"\" radical=\"0-70000\" "
         "speed=\"1f\" bw=\"1Bps\" "
         "lat=\"1s\"/>\n</platform>\n",
         {.what = "huge", .code = SS_ERR_INPUT, .mark = "<cluster", .part = "more than 65536 hosts"}},
        {"<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"g\" suffix=\"\" radical=\"3-1\" "
         "speed=\"1f\" bw=\"1Bps\" "
         "lat=\"1s\"/>\n</platform>\n",
         {.what = "radical", .code = SS_ERR_INPUT, .mark = "<cluster", .part = "radical"}},
        {"<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"g\" suffix=\"\" radical=\"0-1,1\" "
         "speed=\"1f\" bw=\"1Bps\" "
         "lat=\"1s\"/>\n</platform>\n",
         {.what = "radical twice",
          .code = SS_ERR_INPUT,
          .mark = "<cluster",
          .part = "duplicate host \"g1\""}},
        {"<platform version=\"4.1\">\n<cluster id=\"c\" prefix=\"g\" suffix=\"\" radical=\"0-1\" "
         "speed=\"1f\" bw=\"1Bps\" "
         "lat=\"1s\" topology=\"TORUS\"/>\n</platform>\n",
         {.what = "torus", .code = SS_ERR_INPUT, .mark = "<cluster", .part = "TORUS"}},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(files); i++) {
        struct damage d = files[i].d;

        if (d.mark == NULL) /* the reader says line 1 */
            d.mark = "";
        check(files[i].text, &d, NULL);
    }
}

/* A file cut anywhere is refused, with a line. */
TEST(truncated)
{
    struct ss_platform_options options = {.asker = ask};
    char *text = good_text();
    size_t len = strlen(text);

    for (size_t cut = 1; cut + 2 < len; cut++) {
        struct ss_platform *p = NULL;
        struct ss_error e = {0};
        int rc = ss_platform_parse(text, len - 1 - cut, "cut.xml", &options, &p, &e);

        CU_ASSERT(rc == SS_ERR_INPUT && p == NULL && e.line > 0);
    }
    free(text);
}

static const struct damage template_damages[] = {
    {"unknown template", "value=\"mesh\"", "value=\"mash\"", SS_ERR_INPUT, "mash", "\"mash\""},
    {"the other template", "value=\"mesh\"", "value=\"nvswitch\"", SS_ERR_INPUT, "<link id=\"nvlink-0-0-1\"",
     "<router id=\"nvswitch-0\">"},
    {"a node misses a link",
     "    <link id=\"nic-1-2\" bandwidth=\"100Gbps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>\n", "",
     SS_ERR_INPUT, "<link_ctn id=\"nic-1-2\"", "unknown link"},
    {"a route is missing",
     "    <route src=\"leaf-0-3\" dst=\"spine\"><link_ctn id=\"uplink-0-3\" direction=\"UP\"/></route>\n", "",
     SS_ERR_INPUT, "<zone", "missing <route src=\"leaf-0-3\" dst=\"spine\">"},
    {"a route by another link", "<link_ctn id=\"nic-1-2\"", "<link_ctn id=\"nic-1-3\"", SS_ERR_INPUT,
     "dst=\"leaf-0-2\"><link_ctn id=\"nic-1-3\"", "\"nic-1-2\""},
    {"order", "src=\"gpu-0-0\" dst=\"gpu-0-1\"", "src=\"gpu-0-1\" dst=\"gpu-0-0\"", SS_ERR_INPUT,
     "src=\"gpu-0-1\" dst=\"gpu-0-0\"", "<route src=\"gpu-0-0\" dst=\"gpu-0-1\">"},
    {"too much", "<router id=\"spine\"/>", "<router id=\"spine\"/><link id=\"more\" bandwidth=\"1GBps\"/>",
     SS_ERR_INPUT, "\"more\"", "the file <link id=\"more\">"},
    {"too much at the end", "  </zone>",
     "    <bypassRoute src=\"gpu-0-0\" dst=\"gpu-0-1\"><link_ctn id=\"nic-0-0\" "
     "direction=\"UP\"/></bypassRoute></zone>",
     SS_ERR_INPUT, "bypassRoute", "ends before"},
    {"a slower link", "\"nvlink-1-1-2\" bandwidth=\"50GBps\"", "\"nvlink-1-1-2\" bandwidth=\"25GBps\"",
     SS_ERR_INPUT, "\"nvlink-1-1-2\" b", "bandwidth of \"nvlink-1-1-2\""},
    {"another latency", "\"nic-1-0\" bandwidth=\"100Gbps\" latency=\"1us\"",
     "\"nic-1-0\" bandwidth=\"100Gbps\" latency=\"2us\"", SS_ERR_INPUT, "\"nic-1-0\" b",
     "latency of \"nic-1-0\""},
    {"uplink against oversubscription", "<prop id=\"ss.oversubscription\" value=\"1\"/>",
     "<prop id=\"ss.oversubscription\" value=\"2\"/>", SS_ERR_INPUT, "<link id=\"uplink-0-0\"",
     "bandwidth of \"uplink-0-0\""},
    {"speed is not the peak", "<host id=\"gpu-1-0\" speed=\"125Tf\"", "<host id=\"gpu-1-0\" speed=\"120Tf\"",
     SS_ERR_INPUT, "120Tf", "speed of \"gpu-1-0\""},
    {"half duplex", "\"nic-0-0\" bandwidth=\"100Gbps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"",
     "\"nic-0-0\" bandwidth=\"100Gbps\" latency=\"1us\"", SS_ERR_INPUT, "<link_ctn id=\"nic-0-0\"",
     "SPLITDUPLEX"},
    {"no whole nodes", "<prop id=\"ss.gpus_per_node\" value=\"4\"",
     "<prop id=\"ss.gpus_per_node\" value=\"3\"", SS_ERR_INPUT, "<zone", "8 hosts are no whole nodes"},
    {"no size", "<prop id=\"ss.gpus_per_node\"", "<prop id=\"gpus_per_node\"", SS_ERR_INPUT, "<zone",
     "missing prop \"ss.gpus_per_node\""},
    {"no leaves", "<prop id=\"ss.nodes_per_leaf\"", "<prop id=\"nodes_per_leaf\"", SS_ERR_INPUT, "<zone",
     "missing prop \"ss.nodes_per_leaf\""},
    {"NICs that cannot be shared", "<prop id=\"ss.nics_per_node\" value=\"4\"",
     "<prop id=\"ss.nics_per_node\" value=\"3\"", SS_ERR_INPUT, "<zone", "cannot share"},
    {"nodes without NICs", "<prop id=\"ss.nics_per_node\" value=\"4\"",
     "<prop id=\"ss.nics_per_node\" value=\"0\"", SS_ERR_INPUT, "<zone", "without a NIC"},
    {"prop in a host", "<host id=\"gpu-1-0\" speed=\"125Tf\"/>",
     "<host id=\"gpu-1-0\" speed=\"125Tf\"><prop id=\"ss.power\" value=\"9W\"/></host>", SS_ERR_INPUT, "9W",
     "ss.power"},
    {"routing", "routing=\"Dijkstra\"", "routing=\"Floyd\"", SS_ERR_INPUT, "Floyd", "Dijkstra"},
    {"missing prop", "<prop id=\"ss.power\"", "<prop id=\"ss.hbm.power\"", SS_ERR_INPUT, "ss.hbm.power",
     "unknown prop"},
};

TEST(template_damage)
{
    struct ss_platform_options options = {.nodes = 2};
    struct ss_platform *p = NULL;
    char *good = NULL;
    size_t len;
    FILE *out = open_memstream(&good, &len);

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("v100", &options, &p, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_platform_write(p, out, NULL), SS_OK);
    fclose(out);
    ss_platform_free(p);
    for (size_t i = 0; i < SS_ARRAY_LEN(template_damages); i++) {
        char *text = replaced(good, template_damages[i].find, template_damages[i].with);

        check(text, &template_damages[i], NULL);
        free(text);
    }
    free(good);
}

/* ---- a good foreign file ---- */

TEST(foreign)
{
    struct ss_platform_options options = {.asker = ask}, three = {.nodes = 3, .asker = ask},
                               one = {.nodes = 1, .asker = ask};
    char *good = good_text();
    struct ss_platform *p = NULL;
    struct ss_error e = {0};
    struct ss_route route;
    struct ss_link link;
    uint64_t hash;

    CU_ASSERT_EQUAL_FATAL(ss_platform_parse(good, strlen(good), "good.xml", &options, &p, &e), SS_OK);
    CU_ASSERT_STRING_EQUAL(ss_platform_card(p)->name, "X");
    CU_ASSERT_EQUAL(ss_platform_nodes(p), 2);
    CU_ASSERT_EQUAL(ss_platform_gpus_per_node(p), 2);
    CU_ASSERT_EQUAL(ss_platform_nics_per_node(p), 1);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_nic_bandwidth(p), 25e9, 0);
    CU_ASSERT_DOUBLE_EQUAL(ss_platform_fabric_bandwidth(p), 200e9, 0);
    CU_ASSERT_EQUAL(ss_platform_link_count(p), 6); /* both directions of the cable, no fat pipe */
    ss_platform_route(p, 1, 2, &route);
    CU_ASSERT_EQUAL(route.nlinks, 3);
    CU_ASSERT_DOUBLE_EQUAL(route.latency, 7.5e-6, 1e-18); /* the fat pipe's included */
    ss_platform_link(p, route.link[1], &link);
    CU_ASSERT_STRING_EQUAL(link.name, "cable_UP");
    ss_platform_link(p, route.link[0], &link);
    CU_ASSERT(link.kind == SS_LINK_NIC && strcmp(link.name, "wire-a") == 0);
    hash = ss_platform_hash(p);
    CU_ASSERT_EQUAL(ss_platform_set(p, "ss.nic.latency", "4us", &e), SS_OK);
    ss_platform_route(p, 1, 2, &route);
    CU_ASSERT_DOUBLE_EQUAL(route.latency, 9.5e-6, 1e-18); /* wire-b is not marked as a NIC */
    CU_ASSERT_NOT_EQUAL(ss_platform_hash(p), hash);
    CU_ASSERT_EQUAL(ss_platform_set(p, "ss.oversubscription", "2", &e), SS_ERR_INPUT);
    ss_platform_free(p);
    p = NULL;

    CU_ASSERT_EQUAL(ss_platform_parse(good, strlen(good), "good.xml", &three, &p, &e), SS_ERR_INPUT);
    CU_ASSERT(strstr(e.message, "2 nodes, not 3") != NULL && e.line == 4);
    CU_ASSERT_EQUAL(ss_platform_parse(good, strlen(good), "good.xml", NULL, &p, &e), SS_ERR_UNSUPPORTED);
    CU_ASSERT_EQUAL(ss_platform_parse(good, strlen(good), "good.xml", &one, &p, &e), SS_OK);
    CU_ASSERT(p != NULL && ss_platform_nodes(p) == 1 && ss_platform_link_count(p) == 1);
    ss_platform_free(p);
    free(good);
}

/* Too many GPUs for routes one by one: said before anything is asked. */
TEST(foreign_size)
{
    static const struct damage slow = {
        .what = "slow", .code = SS_ERR_UNSUPPORTED, .mark = "<zone", .part = "too slow"};
    static const struct damage large = {
        .what = "large", .code = SS_ERR_UNSUPPORTED, .mark = "<zone", .part = "at most 4096"};
    struct ss_platform_options options = {.asker = ask};
    char *props = card_props(), *text = NULL;
    size_t size = 0;

    for (int hosts = 257; hosts <= 4097; hosts += 3840) {
        FILE *out = open_memstream(&text, &size);

        fprintf(out, "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"%s\">\n%s",
                hosts == 257 ? "Dijkstra" : "Floyd", props);
        fputs("<prop id=\"ss.gpus_per_node\" value=\"1\"/>\n", out);
        for (int i = 0; i < hosts; i++)
            fprintf(out, "<host id=\"a%d\" speed=\"1f\"/>\n", i);
        fputs("<link id=\"l\" bandwidth=\"1Bps\"/>\n", out);
        for (int i = 1; i < hosts; i++)
            fprintf(out, "<route src=\"a0\" dst=\"a%d\"><link_ctn id=\"l\"/></route>\n", i);
        fputs("</zone></platform>\n", out);
        fclose(out);
        check(text, hosts == 257 ? &slow : &large, &options);
        free(text);
    }
    free(props);
}

static const char *written_file;

/* Routes of a flat file that we wrote: the links of the <route> itself. */
static int ask_flat(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
                    struct ss_error *err)
{
    (void)file, (void)err;
    for (int i = 0; i < npairs; i++) {
        char want[100], *out = calloc(1, 300);
        const char *at, *end;

        snprintf(want, sizeof(want), "src=\"%s\" dst=\"%s\"", hosts[i][0], hosts[i][1]);
        at = strstr(written_file, want);
        routes[i] = out;
        if (out == NULL || at == NULL)
            return SS_ERR_INPUT;
        end = strstr(at, "</route>");
        while ((at = strstr(at, "<link_ctn id=\"")) != NULL && at < end) {
            at += strlen("<link_ctn id=\"");
            strncat(out, at, strcspn(at, "\""));
            strcat(out, " ");
        }
    }
    return SS_OK;
}

/* Written flat, a foreign platform reads back with the same links and routes. */
TEST(foreign_written)
{
    struct ss_platform_options options = {.asker = ask}, flat = {.asker = ask_flat};
    char *good = good_text(), *text = NULL;
    struct ss_platform *p = NULL, *q = NULL;
    struct ss_error e = {0};
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    CU_ASSERT_EQUAL_FATAL(ss_platform_parse(good, strlen(good), "good.xml", &options, &p, &e), SS_OK);
    CU_ASSERT_EQUAL(ss_platform_write(p, out, &e), SS_OK);
    fclose(out);
    written_file = text;
    if (ss_platform_parse(text, size, "flat.xml", &flat, &q, &e) != SS_OK)
        printf("\n  %d: %s\n%s", e.line, e.message, text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(q);
    CU_ASSERT_EQUAL(ss_platform_nodes(q), 2);
    CU_ASSERT_EQUAL(ss_platform_link_count(q), ss_platform_link_count(p));
    for (int s = 0; s < 4; s++)
        for (int d = 0; d < 4; d++) {
            struct ss_route a, b;

            if (s == d)
                continue;
            ss_platform_route(p, s, d, &a);
            ss_platform_route(q, s, d, &b);
            CU_ASSERT_EQUAL(a.nlinks, b.nlinks);
            CU_ASSERT(memcmp(a.link, b.link, sizeof(int) * (size_t)a.nlinks) == 0);
        }
    free(text);
    free(good);
    ss_platform_free(p);
    ss_platform_free(q);
}

/* More links and hops than memory can hold: an error with the file, and nothing is added. */
TEST(foreign_without_room)
{
    struct ss_foreign_route route = {.first = 7};
    struct ss_foreign kept = {.ngpus = 1, .routes = &route, .nlinks = -2, .npool = SIZE_MAX - 1};
    struct ss_platform p = {.file = "dir/large.xml", .foreign = &kept};
    struct ss_error e = {0};
    struct ss_foreign_reader r = {.p = &p, .err = &e};
    struct ss_pair_route one = {.n = 1};

    CU_ASSERT_EQUAL(ss_foreign_add_link(&r, "wire", 0, 1e9, 1e-6), -1);
    CU_ASSERT_EQUAL(kept.nlinks, -2);
    CU_ASSERT_EQUAL(ss_foreign_store(&r, 0, 0, &one), SS_ERR_NOMEM);
    CU_ASSERT_EQUAL(route.first, 7);
    CU_ASSERT_STRING_EQUAL(e.message, "out of memory");
}
