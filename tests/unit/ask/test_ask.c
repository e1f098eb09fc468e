/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as words in, documents out. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"
#include <jansson.h>

#include "import/sandbox.h"
#include "stepsim/ask.h"
#include "stepsim/platform.h"

#define JOB                                                                                                  \
    "--platform", "h800", "--nodes", "1", "--model", "llama3.1-8b", "--bf16", "--seq", "4096", "--mbs", "1", \
        "--gbs", "16"
#define ASK(status, ...)                                                                                     \
    ask((const char *[]){__VA_ARGS__}, sizeof(const char *[]){__VA_ARGS__} / sizeof(char *), status)

/* The document of the words, whose status must be this one. */
static json_t *ask(const char *const *words, size_t n, int status)
{
    char *json = NULL;
    size_t size = 0;

    CU_ASSERT_EQUAL(ss_ask((int)n, words, &json, &size), status);
    CU_ASSERT_PTR_NOT_NULL_FATAL(json);
    CU_ASSERT_EQUAL(strlen(json), size);
    json_t *document = json_loads(json, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(document);
    ss_ask_free(json);
    return document;
}

static const char *text(const json_t *document, const char *key)
{
    const char *value = json_string_value(json_object_get(document, key));

    return value ? value : "";
}

static int is_error(json_t *document, const char *code, const char *message)
{
    json_t *error = json_object_get(document, "error");
    int same = !strcmp(text(error, "code"), code) && strstr(text(error, "message"), message);

    if (!same)
        printf("\n%s: %s\n", text(error, "code"), text(error, "message"));
    json_decref(document);
    return same;
}

TEST(run)
{
    json_t *o = ASK(0, "run", JOB, "--tp", "4", "--level", "layer", "--engine=native");

    CU_ASSERT_STRING_EQUAL(text(o, "command"), "run");
    CU_ASSERT_STRING_EQUAL(text(o, "verdict"), "fits");
    CU_ASSERT_STRING_EQUAL(text(o, "engine"), "native");
    CU_ASSERT_STRING_EQUAL(text(o, "level"), "layer");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(json_object_get(o, "inputs"), "how")), 3);
    json_decref(o);
    o = ASK(1, "run", JOB, "--tp", "1"); /* 16 bytes a parameter of 8.03e9 alone are 120 GiB */
    CU_ASSERT_STRING_EQUAL(text(o, "verdict"), "too large");
    CU_ASSERT(json_array_size(json_object_get(o, "fixes")) > 0);
    json_decref(o);
}

TEST(refusals)
{
    CU_ASSERT(is_error(ASK(2, "rum", JOB), "usage", "unknown command \"rum\""));
    CU_ASSERT(is_error(ASK(3, "run", JOB, "--tp", "3"), "config-error", "tensor parallel size (3)"));
    CU_ASSERT(is_error(ASK(2, "run", JOB, "--level", "atom"), "usage", "--level atom"));
    CU_ASSERT(is_error(ASK(2, "run", JOB, "--level"), "usage", "--level needs a value"));
    CU_ASSERT(is_error(ASK(2, "run", JOB, "--unfold=1"), "usage", "takes no value"));
    /* options of the program that write files, and those of another command */
    CU_ASSERT(is_error(ASK(2, "run", JOB, "--gantt", "a.svg"), "usage", "--gantt"));
    CU_ASSERT(is_error(ASK(2, "run", JOB, "--vary", "tp=1,2"), "usage", "--vary"));
    CU_ASSERT(is_error(ASK(2, "sweep", JOB), "usage", "missing: --vary FLAG=V1,V2,..."));
    CU_ASSERT(is_error(ASK(2, "sweep", JOB, "--vary", "tp=1,2", "--workers", "0"), "usage", "--workers 0"));
    CU_ASSERT(is_error(ASK(2, "list", "--json"), "usage", "--json"));
    CU_ASSERT(is_error(ASK(2, "compare", JOB), "usage", "sides, not 1"));
    CU_ASSERT(is_error(ASK(3, "run", "--job", "/no/such.args"), "io", "no such file"));
    char *json;
    size_t size;
    CU_ASSERT_EQUAL(ss_ask(0, NULL, &json, &size), 2);
    ss_ask_free(json);
    CU_ASSERT(is_error(ASK(2, "run", NULL, "--tp"), "usage", "word 2 of 3"));
    CU_ASSERT_EQUAL(ss_ask(1, (const char *[]){"version"}, &json, NULL), 0);
    ss_ask_free(json);
    ss_ask_free(NULL);
}

TEST(many)
{
    json_t *o = ASK(0, "sweep", JOB, "--vary", "tp=3,4", "--workers", "1"),
           *rows = json_object_get(o, "rows");

    CU_ASSERT_EQUAL(json_array_size(rows), 2);
    CU_ASSERT_STRING_EQUAL(text(json_array_get(rows, 0), "verdict"), "refused");
    CU_ASSERT_STRING_EQUAL(text(json_array_get(rows, 1), "verdict"), "fits");
    json_decref(o);
    o = ASK(0, "compare", JOB, "--tp", "4", "--with", "--tp 8", "--with", "--tp 3");
    rows = json_object_get(o, "sides");
    CU_ASSERT_EQUAL(json_array_size(rows), 3);
    CU_ASSERT_STRING_EQUAL(text(json_array_get(rows, 1), "verdict"), "fits");
    CU_ASSERT_STRING_EQUAL(text(json_array_get(rows, 2), "verdict"), "refused");
    json_decref(o);
    CU_ASSERT(is_error(ASK(3, "compare", JOB, "--tp", "3", "--with", "--tp 8"), "config-error", "(3)"));
    /* files first, then words that hold for all: each side is that file's job with these words */
    static const char *const files[] = {SS_SOURCE_DIR "/workloads/jobs/8b-16.args",
                                        SS_SOURCE_DIR "/workloads/jobs/8b-05.args"};
    o = ASK(0, "compare", files[0], files[1], "--engine", "native", "--global-batch-size", "512");
    rows = json_object_get(o, "sides");
    CU_ASSERT_EQUAL(json_array_size(rows), 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *alone = ASK(0, "run", "--job", files[i], "--engine", "native", "--global-batch-size", "512");
        CU_ASSERT_EQUAL(json_real_value(json_object_get(json_array_get(rows, i), "iteration_ms")),
                        json_real_value(json_object_get(alone, "iteration_ms")));
        json_decref(alone);
    }
    json_decref(o);
    o = ASK(0, "capacity", JOB, "--tp", "4", "--tokens", "1B", "--layout", "given", "--nodes", "1..2");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "points")), 2);
    json_decref(o);
    o = ASK(0, "search", JOB, "--pp", "1", "--cp", "1", "--unconfirmed", "--workers", "1");
    CU_ASSERT(json_array_size(json_object_get(o, "points")) > 0);
    json_decref(o);
}

TEST(others)
{
    static const char *const keys[][2] = {{"plan", "stages"}, {"explain", "terms_ms"}};

    for (int i = 0; i < 2; i++) {
        json_t *o = ASK(0, keys[i][0], JOB, "--tp", "4");
        CU_ASSERT_STRING_EQUAL(text(o, "command"), keys[i][0]);
        json_decref(o);
    }
    json_t *o = ASK(5, "check", JOB, "--tp", "4", "--measured", "60s");
    CU_ASSERT_STRING_EQUAL(text(o, "verdict"), "slower");
    json_decref(o);
    o = ASK(0, "list", "platforms");
    CU_ASSERT(json_array_size(json_object_get(o, "platforms")) > 5);
    json_decref(o);
    o = ASK(0, "doctor"); /* the engines agree, the data is there */
    CU_ASSERT(json_is_true(json_object_get(o, "healthy")));
    json_decref(o);
    o = ASK(0, "version");
    CU_ASSERT_STRING_EQUAL(text(o, "version"), "0.3.0");
    json_decref(o);
}

/* The text of a check of doctor, which must be as it is; "": there is none. */
static const char *check_text(const json_t *doctor, const char *name, int ok)
{
    const json_t *check;
    size_t i;

    json_array_foreach(json_object_get(doctor, "checks"), i, check)
    {
        if (strcmp(text(check, "name"), name) != 0)
            continue;
        CU_ASSERT_EQUAL(json_is_true(json_object_get(check, "ok")), ok);
        return text(check, "text");
    }
    return "";
}

/* What doctor says of this machine is so: hwloc's version, whose number has 16 bits, 8 and 8, and whether the user gets namespaces. */
TEST(doctor)
{
    unsigned (*version)(void), major = 0, minor = 0;
    int status = 0, as_root;
    struct ss_platform *none;

    CU_ASSERT_NOT_EQUAL(ss_platform_import_hwloc("/no/such.xml", NULL, &none, NULL, 0, NULL),
                        0); /* links hwloc */
    void *symbol = dlsym(RTLD_DEFAULT, "hwloc_get_api_version");
    CU_ASSERT_PTR_NOT_NULL_FATAL(symbol);
    json_t *o = ASK(0, "doctor");
    memcpy(&version, &symbol, sizeof version);
    const char *at = strstr(check_text(o, "libraries", 1), "hwloc API ");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_EQUAL(sscanf(at, "hwloc API %u.%u,", &major, &minor), 2);
    CU_ASSERT_EQUAL(major << 16 | minor << 8, version() & ~255u);
    pid_t child = fork();
    if (child == 0)
        _exit(ss_sandbox_unshare(&as_root) != 0);
    CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
    CU_ASSERT(WIFEXITED(status));
    CU_ASSERT_NOT_EQUAL(check_text(o, "launch", WEXITSTATUS(status) == 0)[0], '\0');
    json_decref(o);
}

/* Words that are refused, and with which words. */
TEST(refused_words)
{
    static const struct {
        const char *words[4], *message;
    } rows[] = {
        {{"list", "platforms", "models"}, "list takes one word at most"},
        {{"version", "now"}, "version takes no words"},
        {{"doctor", "now"}, "doctor takes no words"},
        {{"validate", "--coverage", "runs", "foreign"}, "too many tables"},
        {{"validate", "--coverage", "--regret"}, "--regret beside --coverage"},
        {{"validate", "--spread", "11"}, "--spread 11"},
        {{"validate", "--spread=-1"}, "--spread -1"},
        {{"run", "--engine", "steam"}, "--engine steam"},
        {{"capacity", "--layout", "any"}, "--layout any"},
        {{"capacity", "--budget", "ten"}, "ten"},
        {{"capacity", "--deadline", "soon"}, "soon"},
        /* with the program's words */
        {{"capacity", "--tokens=1T", "--tokens=2T"}, "--tokens is given twice"},
        {{"run", "--replicas", "5"}, "--replicas without --jitter"},
        {{"validate", "--workers", "0"}, "--workers 0: not a whole number from 1 to 1024"},
        {{"search", "--axes", "bent"}, "--axes bent: no such axes"},
        {{"sweep", "--vary="}, "--vary: the value is empty"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = 0;
        while (n < 4 && rows[i].words[n])
            n++;
        CU_ASSERT(is_error(ask(rows[i].words, n, 2), "usage", rows[i].message));
    }
}

/* Tables: two runs, the error of whose one time is the prediction by what was measured; how many runs the bands hold. */
TEST(tables)
{
    char path[] = "/tmp/stepsim-ask-XXXXXX";
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT(dprintf(fd, "id,iteration_ms,outcome,platform,stack,nodes,model,tp,pp,micro_batch,global_batch,"
                          "seq_length,precision,flags\n"
                          "a,900,ok,h800,megatron-2407,1,llama3.1-8b,4,1,1,32,4096,bf16,\n"
                          "b,,oom,h800,megatron-2407,1,llama3.1-8b,1,1,1,32,4096,bf16,\n") > 0);
    close(fd);
    json_t *o = ASK(0, "validate", path, "--workers", "1"), *rows = json_object_get(o, "rows");
    CU_ASSERT_EQUAL(json_array_size(rows), 2);
    json_t *row = json_array_get(rows, 0);
    double measured = json_number_value(json_object_get(row, "measured_ms")),
           predicted = json_number_value(json_object_get(row, "predicted_ms"));
    CU_ASSERT_DOUBLE_EQUAL(measured, 900, 0);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(row, "error_pct")),
                           100 * (predicted / measured - 1), 1e-6);
    json_decref(o);
    o = ASK(0, "validate", path, "--regret");
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "regret")), 1);
    json_decref(o);
    o = ASK(0, "validate", "--coverage");
    CU_ASSERT(json_array_size(json_object_get(json_object_get(o, "time"), "sources")) > 5);
    json_decref(o);
    json_decref(ASK(3, "validate", "--coverage", "/no/such.csv"));
    json_decref(ASK(3, "validate", "/no/such.csv"));
    unlink(path);
}

/* Every event of every rank gives the time that one rank of a class does. */
TEST(unfolded)
{
    json_t *folded = ASK(0, "run", JOB, "--tp", "4"),
           *all = ASK(0, "run", JOB, "--tp", "4", "--unfold", "--full-replay");
    double s = json_number_value(json_object_get(folded, "iteration_ms"));

    CU_ASSERT(s > 0);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(all, "iteration_ms")), s, 1e-9 * s);
    json_decref(folded);
    json_decref(all);
}

/* What each of several threads gets is what one gets alone. */
static const char *const of_thread[] = {"run", JOB, "--tp", NULL};
static void *ask_in_thread(void *tp)
{
    const char *words[32];
    char *json = NULL;
    size_t size = 0;
    int n = 0;

    for (; of_thread[n]; n++)
        words[n] = of_thread[n];
    words[n++] = tp;
    ss_ask(n, words, &json, &size);
    return json;
}

TEST(threads)
{
    static char tp[2][2] = {"4", "8"};
    char *alone[2] = {ask_in_thread(tp[0]), ask_in_thread(tp[1])};
    pthread_t thread[8];

    for (int i = 0; i < 8; i++)
        CU_ASSERT_EQUAL(pthread_create(&thread[i], NULL, ask_in_thread, tp[i % 2]), 0);
    for (int i = 0; i < 8; i++) {
        void *json;
        pthread_join(thread[i], &json);
        CU_ASSERT_STRING_EQUAL((char *)json, alone[i % 2]);
        ss_ask_free(json);
    }
    CU_ASSERT_STRING_NOT_EQUAL(alone[0], alone[1]);
    ss_ask_free(alone[0]);
    ss_ask_free(alone[1]);
}

static int count(void *ctx, double share)
{
    int *asked = ctx;

    CU_ASSERT(share >= 0 && share <= 1);
    return ++*asked == 1;
}

/* A study ends where who watches it says so, and is told as it is where he does not. A command that is no study asks nobody. */
TEST(watched)
{
    static const char *const sweep[] = {"sweep", JOB, "--vary", "tp=1,2,4,8", "--workers", "1"},
                             *const run[] = {"run", JOB, "--tp", "4"};
    int asked = 0;
    char *json = NULL;

    CU_ASSERT_EQUAL(ss_ask_watched(sizeof sweep / sizeof *sweep, sweep, count, &asked, &json, NULL), 3);
    CU_ASSERT(is_error(json_loads(json, 0, NULL), "stopped", "stopped before the end"));
    CU_ASSERT_EQUAL(asked, 1);
    ss_ask_free(json);
    CU_ASSERT_EQUAL(ss_ask_watched(sizeof sweep / sizeof *sweep, sweep, count, &asked, &json, NULL), 0);
    CU_ASSERT(asked >= 2);
    ss_ask_free(json);
    asked = 0;
    CU_ASSERT_EQUAL(ss_ask_watched(sizeof run / sizeof *run, run, count, &asked, &json, NULL), 0);
    CU_ASSERT_EQUAL(asked, 0);
    ss_ask_free(json);
}
