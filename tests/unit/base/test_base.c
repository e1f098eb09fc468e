/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "base/stats.h"
#include "stepsim/files.h"
#include "stepsim/types.h"
#include "suite.h"

static char dir[] = "/tmp/stepsim-test-XXXXXX";

static const char *in_dir(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

TEST(status)
{
    CU_ASSERT_STRING_EQUAL(ss_status_name(0), "ok");
    CU_ASSERT_STRING_EQUAL(ss_status_name(SS_ERR_CONFIG), "config-error");
    CU_ASSERT_STRING_EQUAL(ss_status_name(-77), "unknown");
    CU_ASSERT_EQUAL(ss_status_exit(0), 0);
    CU_ASSERT_EQUAL(ss_status_exit(SS_ERR_OOM), 1);
    CU_ASSERT_EQUAL(ss_status_exit(SS_ERR_USAGE), 2);
    CU_ASSERT_EQUAL(ss_status_exit(SS_ERR_TOLERANCE), 4);
    CU_ASSERT_EQUAL(ss_status_exit(12345), 3);
}

TEST(error)
{
    struct ss_error e = {0};
    char text[1600];
    CU_ASSERT_EQUAL(ss_fail(NULL, SS_ERR_INPUT, "f", 1, "x"), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_hint(NULL, SS_ERR_INPUT, "x"), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_fail(&e, SS_ERR_INPUT, "job.args", 14, "%d layers\n%s", 48, "no"), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(e.code, SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(ss_error_format(&e, text, sizeof text), "job.args:14: error: 48 layers no");
    ss_hint(&e, e.code, "use %s", "--pp 3");
    CU_ASSERT_STRING_EQUAL(ss_error_format(&e, text, sizeof text),
                           "job.args:14: error: 48 layers no: use --pp 3");
    CU_ASSERT_STRING_EQUAL(ss_error_format(&e, text, 9), "job.args");
    /* An error that is wrapped in one made from its own text; the old hint goes. */
    ss_fail(&e, SS_ERR_IO, e.file, 0, "in: %s", e.message);
    CU_ASSERT_STRING_EQUAL(ss_error_format(&e, text, sizeof text), "job.args: error: in: 48 layers no");
    ss_fail(&e, SS_ERR_IO, NULL, 3, "plain");
    CU_ASSERT_STRING_EQUAL(ss_error_format(&e, text, sizeof text), "error: plain");
}

TEST(error_text)
{
    struct ss_error e;
    char longer[4000];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ss_fail(&e, SS_ERR_INPUT, longer, 1, "%s", longer);
    CU_ASSERT_EQUAL(strlen(e.message), sizeof e.message - 1);
    CU_ASSERT_EQUAL(strlen(e.file), sizeof e.file - 1);
    e.line = INT_MAX;
    memset(e.hint, 'a', sizeof e.hint - 1);
    char all[4096]; /* which hold every error */
    CU_ASSERT(strlen(ss_error_format(&e, all, sizeof all)) < sizeof all - 1);
    /* Only valid UTF-8 in one line reaches a message. */
    ss_fail(&e, SS_ERR_INPUT, NULL, 0, "\xc3\xa9 \xff \xc3 \xed\xa0\x80 \xf0\x9f\x9a\x80 \t\x7f.");
    CU_ASSERT_STRING_EQUAL(e.message, "\xc3\xa9 ? ? ??? \xf0\x9f\x9a\x80   .");
    ss_fail(&e, SS_ERR_INPUT, NULL, 0, "%.*s\xc3\xa9", (int)sizeof e.message - 2, longer);
    CU_ASSERT_EQUAL(e.message[sizeof e.message - 2], '?'); /* a character cut in half */
}

TEST(nearest)
{
    const char *const names[] = {
        "h800", "h20", NULL, "v100-16g", "--micro-batch-size", "--global-batch-size"};
    size_t n = SS_ARRAY_LEN(names);
    CU_ASSERT_STRING_EQUAL(ss_nearest("h80", names, n), "h800");
    CU_ASSERT(ss_is_told_last("a: no such key (1); b: likewise (2)", "no such key"));
    CU_ASSERT(!ss_is_told_last("a: no such key (1); b: other (2)", "no such key"));
    CU_ASSERT(!ss_is_told_last("", "no such key"));
    CU_ASSERT_STRING_EQUAL(ss_nearest("--micro_batch_sise", names, n), "--micro-batch-size");
    CU_ASSERT_STRING_EQUAL(ss_nearest("V100-16G", names, n), "v100-16g");
    const char *const tie[] = {"h20", "h800", "h100"};
    CU_ASSERT_STRING_EQUAL(ss_nearest("h80", tie, 3), "h800");
    CU_ASSERT_PTR_NULL(ss_nearest("zzzzzz", names, n));
    CU_ASSERT_PTR_NULL(ss_nearest("h800", names, 0));
    char longer[300];
    memset(longer, 'h', sizeof longer);
    longer[299] = '\0';
    CU_ASSERT_PTR_NULL(ss_nearest(longer, names, n));
    CU_ASSERT_PTR_NULL(ss_nearest("", names, n));
}

TEST(names)
{
    CU_ASSERT_STRING_EQUAL(ss_label_name(SS_LABEL_IMBALANCE), "imbalance");
    CU_ASSERT_STRING_EQUAL(ss_mem_name(SS_MEM_LOGITS), "logits");
    CU_ASSERT_STRING_EQUAL(ss_phase_name(SS_PHASE_FB), "FB");
    CU_ASSERT_STRING_EQUAL(ss_phase_name(SS_PHASE_COUNT), "unknown");
    CU_ASSERT_STRING_EQUAL(ss_label_name(-1), "unknown");
}

TEST(memory)
{
    double *a = NULL;
    size_t cap = 0;
    CU_ASSERT_EQUAL(ss_grow(&a, &cap, 3, sizeof *a), 0);
    CU_ASSERT_FATAL(cap >= 3);
    a[2] = 7;
    CU_ASSERT_EQUAL(ss_grow(&a, &cap, 1000, sizeof *a), 0);
    CU_ASSERT(cap >= 1000 && a[2] == 7);
    double *same = a;
    CU_ASSERT_EQUAL(ss_grow(&a, &cap, SIZE_MAX / 2, sizeof *a), SS_ERR_NOMEM);
    CU_ASSERT_EQUAL(ss_grow(&a, &cap, SIZE_MAX, 1), SS_ERR_NOMEM);
    CU_ASSERT_PTR_EQUAL(a, same);
    free(a);
    void *none = ss_calloc(0, 8);
    CU_ASSERT_PTR_NOT_NULL(none);
    free(none);
    char text[4] = "xyz";
    CU_ASSERT_TRUE(ss_copy(text, sizeof text, "abc"));
    CU_ASSERT_FALSE(ss_copy(text, sizeof text, "abcd"));
    CU_ASSERT_STRING_EQUAL(text, "abc");
    CU_ASSERT_FALSE(ss_copy(text, 0, "q"));
    CU_ASSERT_STRING_EQUAL(text, "abc");
    text[1] = '\0';
    CU_ASSERT_TRUE(ss_append(text, sizeof text, "%d", 42));
    CU_ASSERT_STRING_EQUAL(text, "a42");
    CU_ASSERT_FALSE(ss_append(text, sizeof text, "q"));
    text[2] = '\0';
    CU_ASSERT_FALSE(ss_append(text, sizeof text, "%s", "xyz"));
    CU_ASSERT_STRING_EQUAL(text, "a4x");
}

TEST(stats)
{
    static const int doublings[][2] = {{0, 0}, {1, 0},     {2, 1},     {3, 2},
                                       {4, 2}, {1024, 10}, {1025, 11}, {INT_MAX, 31}};
    static const int sorted[] = {INT_MIN, -1, 0, 3, 3, INT_MAX};
    int values[] = {3, INT_MAX, -1, 3, INT_MIN, 0};
    for (size_t i = 0; i < sizeof doublings / sizeof *doublings; i++)
        CU_ASSERT_EQUAL(ss_log2_up(doublings[i][0]), doublings[i][1]);
    ss_sort_int(values, 6);
    CU_ASSERT_EQUAL(memcmp(values, sorted, sizeof sorted), 0);
}

TEST(hash)
{
    /* Published FNV-1a vectors. */
    CU_ASSERT_EQUAL(ss_hash(SS_HASH_INIT, "", 0), 0xcbf29ce484222325ULL);
    CU_ASSERT_EQUAL(ss_hash(SS_HASH_INIT, "a", 1), 0xaf63dc4c8601ec8cULL);
    CU_ASSERT_EQUAL(ss_hash(SS_HASH_INIT, "foobar", 6), 0x85944171f73967e8ULL);
    CU_ASSERT_EQUAL(ss_hash(ss_hash(SS_HASH_INIT, "foo", 3), "bar", 3), 0x85944171f73967e8ULL);
}

struct unit_case {
    const char *text;
    enum ss_unit unit;
    double value;
};
static const struct unit_case good_units[] = {
    {"25GBps", SS_UNIT_BANDWIDTH, 25e9},
    {"400Gbps", SS_UNIT_BANDWIDTH, 50e9},
    {"1GiBps", SS_UNIT_BANDWIDTH, 1073741824.0},
    {"8bps", SS_UNIT_BANDWIDTH, 1},
    {"8kbps", SS_UNIT_BANDWIDTH, 1e3},
    {"8Mbps", SS_UNIT_BANDWIDTH, 1e6},
    {"1.6Tbps", SS_UNIT_BANDWIDTH, 200e9},
    {"80GiB", SS_UNIT_BYTES, 80 * SS_GIB},
    {"80 GB", SS_UNIT_BYTES, 80e9},
    {"1.5KiB", SS_UNIT_BYTES, 1536},
    {"0B", SS_UNIT_BYTES, 0},
    {"989.5Tf", SS_UNIT_FLOPS, 989.5e12},
    {"989.5TFLOPs", SS_UNIT_FLOPS, 989.5e12},
    {"4.35ms", SS_UNIT_TIME, 0.00435}, /* not 4.35 * 1e-3 */
    {"70ns", SS_UNIT_TIME, 70e-9},
    {"1e3us", SS_UNIT_TIME, 1e-3},
    {"23570.5ms", SS_UNIT_TIME, 23.5705},
    {"85%", SS_UNIT_FRACTION, 0.85},
    {"0.85", SS_UNIT_FRACTION, 0.85},
    {"132", SS_UNIT_COUNT, 132},
    {"1e6", SS_UNIT_COUNT, 1e6},
    {"+.5", SS_UNIT_NONE, 0.5},
    {"-3.", SS_UNIT_NONE, -3},
    {"0.7kW", SS_UNIT_WATT, 700},
    {"2.5USD/h", SS_UNIT_PRICE, 2.5},
};
static const struct unit_case bad_units[] = {
    {"", SS_UNIT_BYTES, 0},
    {"GB", SS_UNIT_BYTES, 0},
    {"25", SS_UNIT_BANDWIDTH, 0},
    {"25GB", SS_UNIT_BANDWIDTH, 0},
    {"25gbps", SS_UNIT_BANDWIDTH, 0},
    {"25GBps ", SS_UNIT_BANDWIDTH, 0},
    {" 25GBps", SS_UNIT_BANDWIDTH, 0},
    {"-1GBps", SS_UNIT_BANDWIDTH, 0},
    {"nanGBps", SS_UNIT_BANDWIDTH, 0},
    {"infGBps", SS_UNIT_BANDWIDTH, 0},
    {"0x10B", SS_UNIT_BYTES, 0},
    {"1e400B", SS_UNIT_BYTES, 0},
    {"1e999999999999999999s", SS_UNIT_TIME, 0},
    {"1,5GB", SS_UNIT_BYTES, 0},
    {"1.5", SS_UNIT_COUNT, 0},
    {"-1", SS_UNIT_COUNT, 0},
    {"1e300", SS_UNIT_COUNT, 0},
    {"1.01", SS_UNIT_FRACTION, 0},
    {"101%", SS_UNIT_FRACTION, 0},
    {"1.2.3", SS_UNIT_NONE, 0},
    {"5e", SS_UNIT_NONE, 0},
    {".", SS_UNIT_NONE, 0},
    {"-", SS_UNIT_NONE, 0},
    {"3m", SS_UNIT_TIME, 0},
};

/* Short numbers have a way of their own; strtod rounds correctly. */
TEST(number_rounding)
{
    uint64_t state = 7;
    for (int i = 0; i < 20000; i++) {
        char text[64];
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        int digits = 1 + (int)(state >> 40) % 19, before = (int)(state >> 50) % (digits + 1),
            n = state >> 63 ? snprintf(text, sizeof text, "-") : 0;
        for (int k = 0; k < digits; k++) {
            if (k == before)
                text[n++] = '.';
            text[n++] = (char)('0' + (state >> 11) * (uint64_t)(k + 3) / 7 % 10);
        }
        text[n] = '\0';
        if (state >> 62 & 1)
            snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)(state >> 33) % 70 - 35);
        double value = NAN;
        CU_ASSERT_EQUAL(ss_parse_double(text, &value), 0);
        CU_ASSERT(value == strtod(text, NULL));
    }
}

TEST(unit_parse)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(good_units); i++) {
        const struct unit_case *c = &good_units[i];
        double value = -1;
        const char *why = NULL;
        int rc = ss_unit_parse(c->text, c->unit, &value, &why);
        if (rc || value != c->value)
            printf("\n  %s: %d %s, %.17g instead of %.17g\n", c->text, rc, why ? why : "", value, c->value);
        CU_ASSERT(rc == 0 && value == c->value);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(bad_units); i++) {
        const struct unit_case *c = &bad_units[i];
        double value = 42;
        const char *why = NULL;
        int rc = ss_unit_parse(c->text, c->unit, &value, &why);
        if (rc != SS_ERR_INPUT)
            printf("\n  '%s' was taken as %g\n", c->text, value);
        CU_ASSERT(rc == SS_ERR_INPUT && value == 42 && why && *why);
        CU_ASSERT_EQUAL(ss_unit_parse(c->text, c->unit, &value, NULL), SS_ERR_INPUT);
    }
    char digits[1000];
    memset(digits, '9', sizeof digits - 2);
    strcpy(digits + sizeof digits - 2, "B");
    double value;
    CU_ASSERT_EQUAL(ss_unit_parse(digits, SS_UNIT_BYTES, &value, NULL), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_unit_parse("-0", SS_UNIT_NONE, &value, NULL), SS_OK);
    CU_ASSERT(value == 0 && !signbit(value)); /* printed as 0 */
}

TEST(unit_format)
{
    static const struct unit_case cases[] = {
        {"25GBps", SS_UNIT_BANDWIDTH, 25e9},  {"80GiB", SS_UNIT_BYTES, 80 * SS_GIB},
        {"500MB", SS_UNIT_BYTES, 5e8},        {"0B", SS_UNIT_BYTES, 0},
        {"989.5Tf", SS_UNIT_FLOPS, 989.5e12}, {"4.35ms", SS_UNIT_TIME, 0.00435},
        {"4096", SS_UNIT_COUNT, 4096},        {"0.85", SS_UNIT_FRACTION, 0.85},
        {"700W", SS_UNIT_WATT, 700},          {"-0.5", SS_UNIT_NONE, -0.5},
        {"1e30", SS_UNIT_NONE, 1e30},         {"2.5USD/h", SS_UNIT_PRICE, 2.5},
    };
    char text[64];
    for (size_t i = 0; i < SS_ARRAY_LEN(cases); i++) {
        ss_unit_format(cases[i].value, cases[i].unit, text, sizeof text);
        if (strcmp(text, cases[i].text))
            printf("\n  %s instead of %s\n", text, cases[i].text);
        CU_ASSERT_STRING_EQUAL(text, cases[i].text);
    }
    /* Reads back exactly, for awkward values of many sizes. */
    uint64_t seed = 1;
    for (int i = 0; i < 3000; i++) {
        seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
        double value = ldexp((double)(seed >> 11), (int)(seed % 90) - 80), back = -1;
        enum ss_unit unit = i % 2 ? SS_UNIT_BYTES : SS_UNIT_TIME;
        ss_unit_format(value, unit, text, sizeof text);
        CU_ASSERT(ss_unit_parse(text, unit, &back, NULL) == 0 && back == value);
    }
    ss_unit_format(NAN, SS_UNIT_BYTES, text, sizeof text);
    CU_ASSERT(strlen(text) > 0);
    CU_ASSERT_STRING_EQUAL(ss_unit_format(25e9, SS_UNIT_BANDWIDTH, text, 4), "25G");
}

TEST(locale)
{
    /* A host program's locale must not change what is read or written; skipped where none is installed. */
    const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    double value = 0;
    char text[64];
    for (size_t i = 0; i < SS_ARRAY_LEN(comma) && !setlocale(LC_NUMERIC, comma[i]); i++)
        ;
    CU_ASSERT(ss_unit_parse("1.5GB", SS_UNIT_BYTES, &value, NULL) == 0 && value == 1.5e9);
    CU_ASSERT_STRING_EQUAL(ss_unit_format(1.25e9, SS_UNIT_BYTES, text, sizeof text), "1.25GB");
    setlocale(LC_NUMERIC, "C");
}

TEST(numbers)
{
    int64_t n = 5;
    double d = 5;
    CU_ASSERT(ss_parse_i64("-12", -20, 20, &n) == 0 && n == -12);
    CU_ASSERT(ss_parse_i64("9223372036854775807", INT64_MIN, INT64_MAX, &n) == 0 && n == INT64_MAX);
    const char *const bad[] = {"",  " 1",  "1 ", "1.0", "0x1", "21", "-21", "9223372036854775808",
                               "+", "--1", "1e1"};
    for (size_t i = 0; i < SS_ARRAY_LEN(bad); i++)
        CU_ASSERT_EQUAL(ss_parse_i64(bad[i], -20, 20, &n), SS_ERR_INPUT);
    CU_ASSERT(n == INT64_MAX);
    CU_ASSERT(ss_parse_double("1e-5", &d) == 0 && d == 1e-5);
    CU_ASSERT_EQUAL(ss_parse_double("1e-5x", &d), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_parse_double("nan", &d), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_parse_double("", &d), SS_ERR_INPUT);
}

TEST(file_read)
{
    struct ss_error e = {0};
    char *text = NULL, path[256];
    size_t len = 0;
    strcpy(path, in_dir("a.txt"));
    put(path, "hello");
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 5, &text, &len, &e), 0);
    CU_ASSERT(len == 5 && !strcmp(text, "hello"));
    free(text);
    CU_ASSERT_EQUAL(ss_file_read(path, 4, &text, &len, &e), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_file_read(in_dir("none"), 9, &text, &len, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.file, "/none") && strstr(e.message, "No such file") && e.hint[0]);
    CU_ASSERT_EQUAL(ss_file_read(dir, 9, &text, &len, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.message, "directory") != NULL);
    CU_ASSERT_EQUAL(ss_file_fail(&e, "it", "read", ENOMEM), SS_ERR_NOMEM);
    CU_ASSERT(strstr(e.message, "cannot read: ") != NULL);
}

/* Devices, FIFOs and sockets are refused before they are opened, which of this FIFO would not end; a pipe that is open is read. */
TEST(file_kinds)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[2];
    char *text = NULL, path[256];
    struct ss_error e = {0};

    CU_ASSERT_EQUAL(ss_file_read("/dev/zero", 1 << 20, &text, NULL, &e), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "a device, not a file");
    CU_ASSERT_EQUAL_FATAL(mkfifo(strcpy(path, in_dir("fifo")), 0600), 0);
    CU_ASSERT_EQUAL(ss_file_read(path, 9, &text, NULL, &e), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "a FIFO, not a file");
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", in_dir("socket"));
    CU_ASSERT_EQUAL_FATAL(bind(listener, (const struct sockaddr *)&at, sizeof at), 0);
    CU_ASSERT_EQUAL(ss_file_read(at.sun_path, 9, &text, NULL, &e), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(e.message, "a socket, not a file");
    close(listener);
    unlink(at.sun_path);
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL(write(ends[1], "piped", 5), 5);
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 9, &text, NULL, &e), 0);
    CU_ASSERT_STRING_EQUAL(text, "piped");
    free(text);
    snprintf(path, sizeof path, "/dev/fd/../../..%.200s", in_dir("fifo"));
    CU_ASSERT_EQUAL_FATAL(mkfifo(in_dir("fifo"), 0600), 0);
    CU_ASSERT_EQUAL(ss_file_read(path, 9, &text, NULL, &e), SS_ERR_INPUT);
    unlink(in_dir("fifo"));
    close(ends[0]);
}

static int count_files(void)
{
    char command[300];
    snprintf(command, sizeof command, "ls -A %s | wc -l", dir);
    FILE *p = popen(command, "r");
    int n = -1;
    CU_ASSERT(p && fscanf(p, "%d", &n) == 1);
    if (p)
        pclose(p);
    return n;
}

TEST(file_write)
{
    struct ss_file_writer *w, *other;
    FILE *f, *g;
    char path[256], *text;
    struct ss_error e = {0};
    strcpy(path, in_dir("out"));
    put(path, "old");
    chmod(path, 0600);
    int before = count_files();
    CU_ASSERT_EQUAL_FATAL(ss_file_begin(path, &w, &f, &e), 0);
    CU_ASSERT_EQUAL_FATAL(ss_file_begin(path, &other, &g, &e), 0);
    fputs("half", f);
    fputs("new", g);
    ss_file_abort(w);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 99, &text, NULL, &e), 0);
    CU_ASSERT_STRING_EQUAL(text, "old");
    free(text);
    CU_ASSERT_EQUAL(ss_file_commit(other, &e), 0);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 99, &text, NULL, &e), 0);
    CU_ASSERT_STRING_EQUAL(text, "new");
    free(text);
    struct stat st;
    CU_ASSERT(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    chmod(path, 0400); /* not even root's program overwrites what nobody may write */
    CU_ASSERT_EQUAL(ss_file_begin(path, &w, &f, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(count_files(), before);
    ss_file_abort(NULL);
}

TEST(file_write_special)
{
    struct ss_file_writer *w;
    FILE *f;
    struct ss_error e = {0};
    struct stat st;
    CU_ASSERT_EQUAL(ss_file_begin("/nonexistent/x", &w, &f, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_file_begin(dir, &w, &f, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.message, "cannot write") != NULL);
    /* A device stays a device. */
    CU_ASSERT_EQUAL_FATAL(ss_file_begin("/dev/null", &w, &f, &e), 0);
    fputs("x", f);
    CU_ASSERT_EQUAL(ss_file_commit(w, &e), 0);
    CU_ASSERT(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    if (access("/dev/full", W_OK) == 0) {
        CU_ASSERT_EQUAL_FATAL(ss_file_begin("/dev/full", &w, &f, &e), 0);
        fputs("x", f);
        CU_ASSERT_EQUAL(ss_file_commit(w, &e), SS_ERR_IO);
        CU_ASSERT(strstr(e.message, "space") != NULL);
    }
    /* Behind a link the file changes and the link stays. */
    char link[256];
    strcpy(link, in_dir("link"));
    put(in_dir("target"), "old");
    CU_ASSERT_EQUAL_FATAL(symlink("target", link), 0);
    CU_ASSERT_EQUAL_FATAL(ss_file_begin(link, &w, &f, &e), 0);
    fputs("newer", f);
    CU_ASSERT_EQUAL(ss_file_commit(w, &e), 0);
    CU_ASSERT(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CU_ASSERT(stat(in_dir("target"), &st) == 0 && st.st_size == 5);
    /* So it is where there is no file yet. */
    CU_ASSERT_EQUAL_FATAL(unlink(in_dir("target")), 0);
    CU_ASSERT_EQUAL_FATAL(ss_file_begin(link, &w, &f, &e), 0);
    fputs("new", f);
    CU_ASSERT_EQUAL(ss_file_commit(w, &e), 0);
    CU_ASSERT(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
    CU_ASSERT(stat(in_dir("target"), &st) == 0 && st.st_size == 3);
}

/* By whatever name, there or not. */
TEST(same_target)
{
    char a[256], link[256], far[256], other[256];
    strcpy(a, in_dir("one"));
    strcpy(link, in_dir("to-one"));
    strcpy(far, in_dir("to-to-one"));
    strcpy(other, in_dir("two"));
    CU_ASSERT_FATAL(symlink("one", link) == 0 && symlink(link, far) == 0);
    for (int there = 0; there < 2; there++) {
        CU_ASSERT(ss_file_same_target(a, a) && ss_file_same_target(a, link) && ss_file_same_target(far, a));
        CU_ASSERT(!ss_file_same_target(a, other) && !ss_file_same_target(other, far));
        put(a, "x");
    }
    CU_ASSERT_EQUAL_FATAL(rename(far, other), 0);
    unlink(link);
    CU_ASSERT_EQUAL_FATAL(symlink(other, link), 0); /* in a circle */
    CU_ASSERT(!ss_file_same_target(link, a));
    CU_ASSERT(!ss_file_same_target("/dev/null", "/dev/null") && !ss_file_same_target("", "") &&
              !ss_file_same_target(NULL, a) && !ss_file_same_target("-", "-"));
    int out = dup(STDOUT_FILENO);
    CU_ASSERT_PTR_NOT_NULL_FATAL(freopen(a, "w", stdout));
    int same = ss_file_same_target(a, "-") + ss_file_same_target("-", "/dev/stdout"),
        none = ss_file_same_target("-", in_dir("none"));
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    CU_ASSERT(same == 2 && !none);
}

/* As many as there are, under every name of theirs; one that is gone is none. */
TEST(files)
{
    struct ss_files files = {0};
    struct ss_error e = {0};
    char name[64], same[300], link[256], last[256];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "input-%d", i % 500);
        put(in_dir(name), "x");
        CU_ASSERT_EQUAL(ss_files_add(&files, in_dir(name), &e), 0);
    }
    CU_ASSERT_EQUAL(files.n, 500);
    strcpy(last, in_dir("input-499"));
    strcpy(link, in_dir("input-link"));
    CU_ASSERT_EQUAL_FATAL(symlink("input-499", link), 0);
    snprintf(same, sizeof same, "%s/./input-499", dir);
    CU_ASSERT(ss_files_have(&files, last) && ss_files_have(&files, same) && ss_files_have(&files, link));
    CU_ASSERT(ss_files_have(&files, in_dir("input-0")));
    CU_ASSERT(!ss_files_have(&files, dir) && !ss_files_have(&files, in_dir("none")));
    unlink(last);
    CU_ASSERT(!ss_files_have(&files, last));
    CU_ASSERT_EQUAL(ss_files_add(NULL, last, &e), 0);
    ss_files_free(&files);
    CU_ASSERT(files.n == 0 && !ss_files_have(&files, in_dir("input-1")));
}

TEST(data)
{
    char path[256], root[256], **names = NULL;
    size_t n = 0;
    struct ss_error e = {0};
    strcpy(root, in_dir("data"));
    mkdir(root, 0777);
    mkdir(in_dir("data/things"), 0777);
    setenv("STEPSIM_DATA", root, 1);
    CU_ASSERT_EQUAL(ss_data_find("tests", "layering", ".sh", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.message, "holds neither platforms") != NULL);
    mkdir(in_dir("data/platforms"), 0777);
    put(in_dir("data/things/zeta.xml"), "");
    put(in_dir("data/things/alpha.xml"), "");
    put(in_dir("data/things/other.txt"), "");
    put(in_dir("data/things/.hidden.xml"), "");
    CU_ASSERT_EQUAL(ss_data_find("things", "zeta", ".xml", path, sizeof path, &e), 0);
    CU_ASSERT(strstr(path, "/data/things/zeta.xml") != NULL);
    CU_ASSERT_EQUAL(ss_data_find("things", "zeta", ".xml", path, 10, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_data_find("things", "zetta", ".xml", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.message, "'zetta'") && strstr(e.hint, "mean zeta?"));
    /* Names as people write them; digits stay apart. */
    put(in_dir("data/things/big-2-2b.xml"), "");
    CU_ASSERT_EQUAL(ss_data_find("things", "Zeta", ".xml", path, sizeof path, &e), 0);
    CU_ASSERT(strstr(path, "/data/things/zeta.xml") != NULL);
    CU_ASSERT_EQUAL(ss_data_find("things", "BIG2-2B", ".xml", path, sizeof path, &e), 0);
    CU_ASSERT(strstr(path, "/data/things/big-2-2b.xml") != NULL);
    CU_ASSERT_EQUAL(ss_data_find("things", "big-22b", ".xml", path, sizeof path, &e), SS_ERR_IO);
    put(in_dir("data/things/big2-2b.xml"), "");
    CU_ASSERT_EQUAL(ss_data_find("things", "Big2-2b", ".xml", path, sizeof path, &e), SS_ERR_IO);
    unlink(in_dir("data/things/big-2-2b.xml"));
    unlink(in_dir("data/things/big2-2b.xml"));
    CU_ASSERT_EQUAL(ss_data_find("things", "unlike", ".xml", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.hint, "one of alpha, zeta, or") != NULL);
    CU_ASSERT_EQUAL(ss_data_find("things", "", ".xml", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_data_list("things", ".xml", &names, &n, &e), 0);
    CU_ASSERT_FATAL(n == 2 && !strcmp(names[0], "alpha") && !strcmp(names[1], "zeta"));
    ss_names_free(names, n);
    /* A path is taken as it is; a folder or a missing file is not. */
    char direct[256];
    strcpy(direct, in_dir("data/things/other.txt"));
    CU_ASSERT_EQUAL(ss_data_find("things", direct, ".xml", path, sizeof path, &e), 0);
    CU_ASSERT_STRING_EQUAL(path, direct);
    CU_ASSERT_EQUAL(ss_data_find("things", "zeta.xml", ".xml", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_data_find("things", root, ".xml", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT_STRING_EQUAL(e.message, "is a folder");
    /* A downloaded model's folder stands for its config.json, with or without a slash behind it. */
    CU_ASSERT_EQUAL(ss_data_find("things", in_dir("data/things"), ".json", path, sizeof path, &e), SS_ERR_IO);
    put(in_dir("data/things/config.json"), "{}");
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(ss_data_find("things", in_dir(i ? "data/things/" : "data/things"), ".json", path,
                                     sizeof path, &e),
                        0);
        CU_ASSERT_STRING_EQUAL(path, in_dir("data/things/config.json"));
    }
    unlink(in_dir("data/things/config.json"));
    /* The source tree comes second, and an unknown kind has no names. */
    CU_ASSERT_EQUAL(ss_data_find("tests", "layering", ".sh", path, sizeof path, &e), 0);
    CU_ASSERT_STRING_EQUAL(path, SS_SOURCE_DIR "/tests/layering.sh");
    CU_ASSERT_EQUAL(ss_data_find("none", "zeta", ".xml", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT(strstr(e.hint, "STEPSIM_DATA") != NULL);
    setenv("STEPSIM_DATA", "/nonexistent", 1);
    CU_ASSERT_EQUAL(ss_data_find("tests", "layering", ".sh", path, sizeof path, &e), SS_ERR_IO);
    CU_ASSERT_EQUAL(ss_data_list("tests", ".sh", &names, &n, &e), SS_ERR_IO);
    CU_ASSERT_STRING_EQUAL(e.message, "STEPSIM_DATA=/nonexistent: no such folder");
    unsetenv("STEPSIM_DATA");
    names = NULL;
    CU_ASSERT(ss_data_list("none", ".xml", &names, &n, &e) == 0 && n == 0);
    ss_names_free(names, n);
}

static int make_dir(void)
{
    return mkdtemp(dir) ? 0 : 1;
}

static int remove_dir(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

/* Whole characters, and none where the bytes are none: a lone byte, a long form, half of a pair. */
TEST(utf8)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {{"a", 1},
                {"\xc3\xa4", 2},
                {"\xe2\x82\xac", 3},
                {"\xf0\x9f\x98\x80", 4},
                {"\xa4", 0},
                {"\xc3", 0},
                {"\xc0\x80", 0},
                {"\xe0\x80\x80", 0},
                {"\xed\xa0\x80", 0},
                {"\xf4\x90\x80\x80", 0},
                {"\xff\xfe", 0}};
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        CU_ASSERT_EQUAL(ss_utf8_length(rows[i].text), rows[i].length);
    CU_ASSERT_EQUAL(ss_utf8_cut("ab\xc3\xa4", 3), 2);
    CU_ASSERT_EQUAL(ss_utf8_cut("ab\xc3\xa4", 4), 4);
    CU_ASSERT_EQUAL(ss_utf8_cut("ab", 9), 2);
}

SUITE(base)
{
    return suite_file(argv[0], make_dir, remove_dir);
}
