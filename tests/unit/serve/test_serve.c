/* SPDX-License-Identifier: Apache-2.0 */
/* What the page answers: the program's own figures, and no file of the machine. */
#include <arpa/inet.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve/page.h"
#include "stepsim/flags.h"
#include "stepsim/import.h"
#include "stepsim/result.h"
#include "suite.h"

#define JOB                                                                                                  \
    "--platform h800 --nodes 1 --model llama3.1-8b --tp 2 --pp 2 --mbs 1 --gbs 16 --seq 4096 --bf16 "        \
    "--sequence-parallel --use-distributed-optimizer"

static struct ss_serve *page;

static int setup(void)
{
    struct ss_serve_options options = {NULL};
    struct ss_request start;
    char *words[] = {"--platform", "platforms/h800.xml"};

    ss_request_init(&start);
    options.start = &start;
    int rc = ss_request_read(&start, 2, words, NULL);
    rc = rc ? rc : ss_serve_new(&options, &page, NULL);
    ss_request_free(&start);
    return rc;
}

static int teardown(void)
{
    ss_serve_free(page);
    return 0;
}

static int ask(const char *path, const char *job, const char *vary, struct ss_serve_reply *reply)
{
    const struct ss_serve_argument arguments[] = {{"job", job}, {"vary", vary}};

    return ss_serve_answer(page, path, arguments, vary ? 2 : job ? 1 : 0, reply);
}

static json_t *json_of(const char *path, const char *job, const char *vary, int status)
{
    struct ss_serve_reply reply;

    CU_ASSERT_EQUAL_FATAL(ask(path, job, vary, &reply), SS_OK);
    CU_ASSERT_EQUAL(reply.status, status);
    CU_ASSERT_STRING_EQUAL(reply.type, "application/json");
    json_t *o = json_loadb(reply.body, reply.size, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    free(reply.body);
    return o;
}

static double predicted(const char *text)
{
    struct ss_scenario *s = NULL;
    struct ss_summary summary;
    struct ss_request r;

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "job", NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &s, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_predict(s, NULL, &summary, NULL), SS_OK);
    ss_scenario_free(s);
    ss_request_free(&r);
    return summary.iteration_s;
}

TEST(run)
{
    json_t *o = json_of("/run.json", JOB, NULL, 200);

    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(o, "iteration_ms")), 1e3 * predicted(JOB),
                           1e-6 * predicted(JOB));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "engine")), "native");
    json_decref(o);
}

/* Writes a platform that is the h800 with other NICs. */
static void write_platform(const char *path, const char *nic)
{
    FILE *out = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fprintf(out,
            "<platform version=\"4.1\"><zone id=\"a\" routing=\"Full\"><prop id=\"ss.base\" value=\"h800\"/>"
            "<prop id=\"ss.nic.bandwidth\" value=\"%s\"/></zone></platform>\n",
            nic);
    fclose(out);
}

/* An answer is that of before, until a file of it changes. */
TEST(kept)
{
    char path[] = "/tmp/stepsim-serve-XXXXXX.xml", job[400];
    int fd = mkstemps(path, 4);
    char *words[] = {"--platform", path};
    struct ss_serve_options options = {NULL};
    struct ss_serve *own, *before = page;
    struct ss_serve_reply reply[4];
    struct ss_request start;

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    ss_request_init(&start);
    options.start = &start;
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&start, 2, words, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_serve_new(&options, &own, NULL), SS_OK);
    ss_request_free(&start);
    page = own;
    snprintf(job, sizeof job, JOB " --platform %s --nodes 2", path);
    for (int i = 0; i < 4; i++) {
        if (i != 1)
            write_platform(path, i == 2 ? "10GBps" : "50GBps");
        CU_ASSERT_EQUAL_FATAL(ask("/run.json", job, NULL, &reply[i]), SS_OK);
        CU_ASSERT_EQUAL(reply[i].status, 200);
    }
    CU_ASSERT_STRING_EQUAL(reply[0].body, reply[1].body);
    CU_ASSERT_STRING_NOT_EQUAL(reply[0].body, reply[2].body);
    CU_ASSERT_STRING_EQUAL(reply[0].body, reply[3].body);
    for (int i = 0; i < 4; i++)
        free(reply[i].body);
    page = before;
    ss_serve_free(own);
    unlink(path);
}

TEST(sweep)
{
    json_t *o = json_of("/sweep.json", JOB, "gbs=16,32,33", 200), *rows = json_object_get(o, "rows");

    CU_ASSERT_EQUAL_FATAL(json_array_size(rows), 3);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(json_array_get(rows, 1), "iteration_ms")),
                           1e3 * predicted(JOB " --gbs 32"), 1e-6);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(json_array_get(rows, 2), "verdict")), "refused");
    json_decref(o);
}

TEST(job_file)
{
    struct ss_serve_reply reply;

    CU_ASSERT_EQUAL_FATAL(ask("/job.args", "--tp 4\n--bf16  --fp8-format=hybrid", NULL, &reply), SS_OK);
    CU_ASSERT_EQUAL(reply.status, 200);
    CU_ASSERT_STRING_EQUAL(reply.body, "--tp 4\n--bf16\n--fp8-format=hybrid\n");
    CU_ASSERT_STRING_EQUAL(reply.save_as, "job.args");
    free(reply.body);
}

/* The page shows no path: of a file in the data folder its name. */
TEST(refusals)
{
    static const struct {
        const char *path, *job, *vary, *message;
        int status;
    } rows[] = {
        {"/run.json", NULL, NULL, "lacks job=", 400},
        {"/sweep.json", JOB, NULL, "lacks vary=", 400},
        {"/etc/passwd", JOB, NULL, "no such address", 404},
        {"/run.json", JOB " --tp 3", NULL, "", 422},
        {"/run.json", JOB " --no-such-flag", NULL, "unknown flag", 422},
        {"/run.json", JOB " --straggler 0:2", NULL, "it is an option of run, compare and explain", 422},
        {"/run.json", JOB " --jitter 0.1", NULL, "it is an option of run", 422},
        {"/run.json", JOB " --model /etc/passwd", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --model=/etc/passwd", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --model CMakeLists.txt", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --platform mine.xml", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --stack mine.xml", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --schedule mine.csv", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --schedule CMakeLists.txt", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --schedule none.txt", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --moe-load loads.csv", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --packed-lengths lengths.csv", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --moe-load W8_more", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --job 8b-16", NULL, "no name that this page knows", 422},
        {"/run.json", JOB " --data-path \\\\host\\share", NULL, "no name that this page knows", 422},
        {"/run.json", JOB "\033[2J", NULL, "no printable ASCII", 422},
        {"/run.json", "--tp\n4 \177", NULL, "byte 8 of the words is no printable ASCII", 422},
        {"/run.json", "--tp\001", NULL, "byte 5 of the words", 422},
        {"/sweep.json", JOB, "model=/etc/passwd", "no name that this page knows", 422},
        {"/sweep.json", JOB, "model=CMakeLists.txt,llama3.1-8b", "no name that this page knows", 422},
        {"/sweep.json", JOB, "schedule=auto,CMakeLists.txt", "no name that this page knows", 422},
        {"/sweep.json", JOB, "tp=", "no values", 422},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *o = json_of(rows[i].path, rows[i].job, rows[i].vary, rows[i].status);
        const char *message = json_string_value(json_object_get(json_object_get(o, "error"), "message"));
        CU_ASSERT_PTR_NOT_NULL_FATAL(message);
        const char *hint = json_string_value(json_object_get(json_object_get(o, "error"), "hint"));
        CU_ASSERT(strstr(message, rows[i].message) || (hint && strstr(hint, rows[i].message)));
        char *all = json_dumps(o, 0);
        CU_ASSERT_PTR_NULL(strstr(all, SS_SOURCE_DIR));
        free(all);
        json_decref(o);
    }
}

/* What the folder has in which the server runs changes no answer: a model's file or folder under a name that the page asks for is not that
 * name's model. */
TEST(current_folder)
{
    static const char *const names[] = {"mine.json", "mine", "Qwen3-8B-Instruct", "nobody/mine.json"};
    const char *config = "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 11008, "
                         "\"num_hidden_layers\": 32, \"num_attention_heads\": 32, \"vocab_size\": 77777}";
    char folder[] = "/tmp/stepsim-serve-XXXXXX", before[4096], job[600];
    struct ss_serve_reply reply[2][4];

    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
    for (int there = 0; there < 2; there++) {
        if (there) {
            CU_ASSERT_EQUAL_FATAL(mkdir("mine", 0700) | mkdir("Qwen3-8B-Instruct", 0700), 0);
            static const char *const files[] = {"mine.json", "mine/config.json",
                                                "Qwen3-8B-Instruct/config.json"};
            for (int i = 0; i < 3; i++) {
                FILE *out = fopen(files[i], "w");
                CU_ASSERT_PTR_NOT_NULL_FATAL(out);
                fputs(config, out);
                fclose(out);
            }
        }
        for (int i = 0; i < 4; i++) {
            snprintf(
                job, sizeof job,
                "--platform h800 --nodes 1 --num-layers 8 --hidden-size 4096 --num-attention-heads 32 --mbs "
                "1 --gbs 8 "
                "--seq 4096 --max-position-embeddings 4096 --bf16 --tokenizer-type HuggingFaceTokenizer%s "
                "--tokenizer-model %s",
                there ? " " : "", names[i]); /* a blank more: not the answer that was kept */
            CU_ASSERT_EQUAL_FATAL(ask("/run.json", job, NULL, &reply[there][i]), SS_OK);
        }
    }
    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(reply[1][i].status, reply[0][i].status);
        CU_ASSERT_STRING_EQUAL(reply[1][i].body, reply[0][i].body);
        CU_ASSERT_EQUAL(reply[0][i].status, i == 2 ? 200 : 422);
        free(reply[0][i].body);
        free(reply[1][i].body);
    }
    CU_ASSERT_EQUAL(
        unlink("mine.json") | unlink("mine/config.json") | unlink("Qwen3-8B-Instruct/config.json"), 0);
    CU_ASSERT_EQUAL(rmdir("mine") | rmdir("Qwen3-8B-Instruct") | chdir(before) | rmdir(folder), 0);
}

/* A file that the page was started with is read, under that name alone. */
TEST(first_words)
{
    json_t *o = json_of("/choices.json", NULL, NULL, 200);
    const char *word = json_string_value(json_array_get(json_array_get(json_object_get(o, "start"), 0), 1));

    CU_ASSERT_STRING_EQUAL(word, "platforms/h800.xml");
    json_decref(o);
    CU_ASSERT_EQUAL(ss_serve_check(page, "--model", "Llama-3.1-8B", NULL), SS_OK); /* as people write it */
    CU_ASSERT_EQUAL(ss_serve_check(page, "--platform", "platforms/h800.xml", NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_serve_check(page, "--platform", "./platforms/h800.xml", NULL), SS_ERR_USAGE);
}

/* Each control lists all names of its flag, the first of the table too. */
TEST(controls)
{
    json_t *o = json_of("/choices.json", NULL, NULL, 200), *controls = json_object_get(o, "controls"), *names;
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    const char *flag;
    int first = 0;

    CU_ASSERT_FATAL(ss_flag_list(&at, &info));
    json_object_foreach(controls, flag, names)
    {
        CU_ASSERT(json_array_size(names) >= 1);
        for (size_t i = 0; i < json_array_size(names); i++)
            first |= !strcmp(json_string_value(json_array_get(names, i)), info.name);
    }
    CU_ASSERT(first);
    json_decref(o);
}

/* Workloads of experts are names, W0_balanced to W7_burst. */
TEST(workloads)
{
    static const char *const known[] = {"W0_balanced", "W3_x", "W7_burst", "zipf:1"}, *const others[] = {
                                                                                          "W8_x", "W/_x",
                                                                                          "W3", "X3_x"};

    for (int i = 0; i < 4; i++) {
        CU_ASSERT_EQUAL(ss_serve_check(page, "--moe-load", known[i], NULL), SS_OK);
        CU_ASSERT_EQUAL(ss_serve_check(page, "--moe-load", others[i], NULL), SS_ERR_USAGE);
    }
}

TEST(limits)
{
    char *text = malloc(SS_SERVE_JOB_BYTES + 2), vary[400] = "gbs=1";
    struct ss_serve_reply reply;

    memset(text, ' ', SS_SERVE_JOB_BYTES + 1);
    text[SS_SERVE_JOB_BYTES + 1] = '\0';
    CU_ASSERT_EQUAL_FATAL(ask("/job.args", text, NULL, &reply), SS_OK);
    CU_ASSERT_EQUAL(reply.status, 422);
    free(reply.body);
    text[SS_SERVE_JOB_BYTES] = '\0';
    CU_ASSERT_EQUAL_FATAL(ask("/job.args", text, NULL, &reply), SS_OK);
    CU_ASSERT_EQUAL(reply.status, 200);
    free(reply.body);
    free(text);
    for (int i = 2; i <= SS_SERVE_ROWS + 1; i++) /* one more than it takes */
        snprintf(vary + strlen(vary), sizeof vary - strlen(vary), ",%d", i);
    json_decref(json_of("/sweep.json", JOB, vary, 422));
}

#ifdef HAVE_HTTP
/* ---- over HTTP ---- */

struct served {
    struct ss_serve_place place;
    int port[2]; /* a pipe that tells it */
    struct ss_error err;
    int rc;
};

static void told(void *ctx, int port)
{
    const struct served *s = ctx;

    CU_ASSERT_EQUAL(write(s->port[1], &port, sizeof port), sizeof port);
}

static void *serve(void *ctx)
{
    struct served *s = ctx;

    s->rc = ss_serve_run(page, &s->place, &s->err);
    close(s->port[1]);
    return NULL;
}

/* The status that a GET of /choices.json with this Host gets; 0: none. */
static int status_for(int port, const char *host)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    char text[256], version[16];
    int s = socket(AF_INET, SOCK_STREAM, 0), status = 0;

    if (!connect(s, (struct sockaddr *)&to, sizeof to)) {
        int n = snprintf(text, sizeof text,
                         "GET /choices.json HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
        CU_ASSERT_EQUAL(send(s, text, (size_t)n, MSG_NOSIGNAL), n);
        ssize_t got = recv(s, text, sizeof text - 1, MSG_WAITALL);
        text[got > 0 ? got : 0] = '\0';
        if (sscanf(text, "%15s %d", version, &status) != 2)
            status = 0;
    }
    close(s);
    return status;
}

/* It answers to names of this machine, tells a port that is taken, and ends when `stop` can be read. */
TEST(http)
{
    struct served s = {.place = {.threads = 1, .ready = told}}, again = {.port = {-1, -1}};
    int stop[2], port = 0;
    pthread_t thread;

    CU_ASSERT_FATAL(!pipe(stop) && !pipe(s.port));
    s.place.stop = stop[0];
    s.place.ctx = &s;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, serve, &s), 0);
    CU_ASSERT_EQUAL(read(s.port[0], &port, sizeof port), sizeof port);
    CU_ASSERT_EQUAL(status_for(port, "localhost:1"), 200);
    CU_ASSERT_EQUAL(status_for(port, "127.0.0.1"), 200);
    CU_ASSERT_EQUAL(status_for(port, "example.org"), 403);
    CU_ASSERT_EQUAL(status_for(port, "localhost.example.org"), 403);
    again.place = s.place;
    again.place.port = port;
    CU_ASSERT_EQUAL(ss_serve_run(page, &again.place, &again.err), SS_ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(again.err.message, "cannot listen on port"));
    CU_ASSERT_PTR_NOT_NULL(strstr(again.err.hint, "another program has it"));
    CU_ASSERT_EQUAL(write(stop[1], "", 1), 1);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(s.rc, SS_OK);
    close(stop[0]);
    close(stop[1]);
    close(s.port[0]);
}
#endif

static int add_words(struct ss_request *r, const char *file, const char *words)
{
    char copy[512], *rest = NULL;
    int rc = words ? ss_request_add_place(r, file, NULL) : SS_OK;

    snprintf(copy, sizeof copy, "%s", words ? words : "");
    for (char *word = strtok_r(copy, " ", &rest); word && !rc; word = strtok_r(NULL, " ", &rest))
        rc = ss_request_add(r, word, 0, NULL);
    return rc;
}

/* Writes the link of words of a file and of a command line; each may be NULL. */
static int link_of(const char *file, const char *typed, const char *at, char **out, struct ss_error *err)
{
    struct ss_request r;
    size_t size;
    FILE *stream = open_memstream(out, &size);

    ss_request_init(&r);
    int rc = add_words(&r, "a.args", file);
    rc = rc ? rc : add_words(&r, NULL, typed);
    rc = rc ? rc : ss_serve_link(&r, at, stream, err);
    fclose(stream);
    ss_request_free(&r);
    return rc;
}

TEST(link)
{
    static const struct {
        const char *file, *typed, *page, *link;
    } links[] = {
        {NULL, "--pipeline-model-parallel-layout Et|(t|)*2L --bf16", NULL,
         "#job=--pipeline-model-parallel-layout+Et%7C(t%7C)*2L+--bf16"},
        /* a later place beats an earlier one, and asks for another job than was measured */
        {"--bf16 --tp 4 --measured 3s --measured-memory 4GiB", "--tensor-model-parallel-size 2", "http://x/",
         "http://x/#job=--bf16+--tensor-model-parallel-size+2"},
        {"--bf16 --stack megatron-2407 --measured 3s", NULL, NULL,
         "#job=--bf16+--stack+megatron-2407+--measured+3s+--recipe+none"},
        /* a file's silence means fp32 and no recipe, that of typed words bf16 and the stack's */
        {"--tp 2", "--pp 2", NULL, "#job=--tp+2+--pp+2+--precision+fp32"},
        {"--fp16 --stack megatron-2407", NULL, NULL, "#job=--fp16+--stack+megatron-2407+--recipe+none"},
        {NULL, "--fp16 --stack megatron-2407", NULL, "#job=--fp16+--stack+megatron-2407"},
    };
    static const char *const refused[] = {"--platform platforms/h800.xml", "--model ./config.json",
                                          "--moe-load loads.csv"};
    struct ss_error err;
    char *text;

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        CU_ASSERT_EQUAL(link_of(links[i].file, links[i].typed, links[i].page, &text, NULL), SS_OK);
        CU_ASSERT_STRING_EQUAL(text, links[i].link);
        free(text);
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        memset(&err, 0, sizeof err);
        CU_ASSERT_EQUAL(link_of(NULL, refused[i], NULL, &text, &err), SS_ERR_USAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "no name that this page knows"));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "a link carries words, no file"));
        CU_ASSERT_STRING_EQUAL(text, "");
        free(text);
    }
}

SUITE(serve)
{
    return suite_file(argv[0], setup, teardown);
}
