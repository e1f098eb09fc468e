/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to SimGrid (replay/helper.h). SimGrid allows one engine a process and answers bad input with
 * abort(), so each request gets a process of its own, and its complaint becomes an error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "replay/engine.h"
#include "replay/helper.h"

#define TELL_EVERY_MS 100
#define STOPPED_MS 5000 /* that SimGrid may be stopped while this process is not, as by Ctrl-Z of both */

/* Reads the output pipe: it is called with each piece and returns 0 or a status. */
typedef int (*piece_reader)(void *ctx, const char *data, size_t n);

/* A replay whose caller wants to know the progress. */
struct progress {
    const struct ss_replay_options *options;
    const struct ss_board *board;
    int64_t slots; /* of all classes */
};

struct module {
    ss_helper_ask_function *ask;
    ss_helper_end_function *end;
};

/* One request under way. */
struct request {
    struct ss_helper_request what;
    const char *name; /* "replay the program" */
    struct ss_board *board;
    piece_reader reader;
    void *ctx;
    const struct progress *progress; /* NULL: nobody asks */
    struct module module;
    int files[SS_HELPER_FILES];
    int out, status; /* the ends that are read */
    pid_t helper, child;
    int stopped_ms; /* 0: they run */
    int given_up;   /* it was ended because it stayed stopped */
};

/* The module in one of the folders, in which SimGrid's program must be, too. NULL: why says the reason. */
static void *load_module(struct module *m, char *why, size_t size)
{
    char home[4096], path[4096 + sizeof SS_HELPER_MODULE + 1];
    why[0] = '\0';
    const char *dirs[] = {getenv("STEPSIM_MODULE_DIR"), home};
    ss_home_find(&ss_home.modules, home, sizeof home);
    for (size_t i = 0; i < SS_ARRAY_LEN(dirs); i++) {
        if (!dirs[i] || !dirs[i][0])
            continue;
        snprintf(path, sizeof path, "%s/%s", dirs[i], SS_HELPER_PROGRAM);
        if (access(path, X_OK) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dirs[i], SS_HELPER_MODULE);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void *ask = handle ? dlsym(handle, SS_HELPER_ASK) : NULL,
             *end = handle ? dlsym(handle, SS_HELPER_END) : NULL;
        if (ask && end) {
            memcpy(&m->ask, &ask, sizeof ask);
            memcpy(&m->end, &end, sizeof end);
            return handle;
        }
        const char *text = dlerror();
        ss_copy(why, size, text ? text : "");
    }
    if (!why[0])
        snprintf(why, size, "no " SS_HELPER_PROGRAM " in %.400s", home);
    return NULL;
}

static int not_loaded(const char *why, struct ss_error *err)
{
    const char *text = strstr(why, "shared libraries: ");
    text = text ? text + sizeof "shared libraries: " - 1 : why;
    int rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "the SimGrid engine cannot be loaded: %s", text);
    if (strstr(text, "failed to map") || strstr(text, "cannot allocate") || strstr(text, "memory"))
        return ss_hint(err, rc, "it needs some 100 MiB of address space (ulimit -v), or use --engine native");
    return ss_hint(err, rc,
                   "install libsimgrid, point STEPSIM_MODULE_DIR to the folder of " SS_HELPER_PROGRAM
                   ", or use --engine native");
}

int ss_engine_is_built(int engine)
{
    return engine == SS_ENGINE_NATIVE || engine == SS_ENGINE_SIMGRID;
}

int ss_simgrid_load(struct ss_error *err)
{
    char why[512];
    struct module m;
    return load_module(&m, why, sizeof why) ? SS_OK : not_loaded(why, err);
}

/* Whether the system has the process stopped, by a signal or a debugger. */
static bool is_stopped(pid_t pid)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *name = strrchr(text, ')');
    return name && (name[1] == ' ') && name[2] == 'T';
}

/* Who is stopped is not waited for without end: nobody would say that he will go on. */
static void look_after(struct request *r)
{
    if (!is_stopped(r->helper) && !is_stopped(r->child)) {
        r->stopped_ms = 0;
        return;
    }
    if ((r->stopped_ms += TELL_EVERY_MS) < STOPPED_MS)
        return;
    r->given_up = 1;
    if (r->child > 0)
        kill(r->child, SIGKILL);
    if (is_stopped(r->helper))
        kill(r->helper, SIGKILL);
}

/* Tells how far the child is until there is something to read or nobody is left who would write it. */
static void wait_for(struct request *r, int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int n;
    while ((n = poll(&ready, 1, TELL_EVERY_MS)) == 0 || (n < 0 && errno == EINTR)) {
        if (n == 0 && r->progress)
            r->progress->options->progress(r->progress->options->ctx, (double)r->progress->board->slots_run /
                                                                          (double)r->progress->slots);
        if (n == 0)
            look_after(r);
    }
}

/* 1: a word has come. 0: the helper has ended. */
static int read_word(struct request *r, struct ss_helper_word *word)
{
    ssize_t n;
    do {
        wait_for(r, r->status);
        n = read(r->status, word, sizeof *word);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *word;
}

static int read_pieces(struct request *r)
{
    char *buf = malloc(1 << 16);
    int rc = buf ? 0 : SS_ERR_NOMEM;
    while (!rc) {
        wait_for(r, r->out);
        ssize_t n = read(r->out, buf, 1 << 16);
        if (n > 0)
            rc = r->reader(r->ctx, buf, (size_t)n);
        else if (n == 0 || errno != EINTR)
            break;
    }
    free(buf);
    return rc;
}

/* "[host:actor:(1) 0.5] [xbt/CRITICAL] text" -> "text" */
static const char *strip_prefix(const char *line)
{
    for (;;) {
        while (*line == ' ' || *line == '\t')
            line++;
        const char *close = *line == '[' ? strchr(line, ']') : NULL;
        if (!close)
            return line;
        line = close + 1;
    }
}

/* Copies the first line of the output, "" when there is none. */
static void first_complaint(const char *said, char *out, size_t size)
{
    out[0] = 0;
    for (const char *line = said, *next; line && !out[0]; line = next) {
        next = strchr(line, '\n');
        const char *text = strip_prefix(line);
        size_t n = next && text < next ? (size_t)(next++ - text) : next ? 0 : strlen(text);
        if (next && !n)
            next = strchr(line, '\n') + 1;
        snprintf(out, size, "%.*s", (int)n, text);
    }
}

static int child_error(const struct request *r, int state, const char *said, struct ss_error *err)
{
    char text[400];
    first_complaint(said, text, sizeof text);
    if (state != -1 && WIFEXITED(state) && WEXITSTATUS(state) == 127) /* the loader's */
        return not_loaded(text, err);
    if (text[0])
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: %s", r->name, text);
    if (state == -1)
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: its process has ended", r->name);
    if (WIFSIGNALED(state)) {
        const char *name = sigabbrev_np(WTERMSIG(state));
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: it was ended by SIG%s", r->name,
                       name ? name : "?");
    }
    return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: it ended with status %d", r->name,
                   WEXITSTATUS(state));
}

/* All ends that are still open. */
static void close_files(struct request *r)
{
    for (int i = 0; i < SS_HELPER_FILES; i++)
        if (i != SS_HELPER_BOARD && i != SS_HELPER_INPUT && i != SS_HELPER_LOG && r->files[i] >= 0) {
            close(r->files[i]);
            r->files[i] = -1;
        }
}

static int open_files(struct request *r)
{
    int out[2] = {-1, -1}, status[2] = {-1, -1};
    r->files[SS_HELPER_FOLDER] = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    r->files[SS_HELPER_LOG] = memfd_create("stepsim-log", MFD_CLOEXEC);
    int rc = pipe2(out, O_CLOEXEC) || pipe2(status, O_CLOEXEC) || r->files[SS_HELPER_FOLDER] < 0 ||
             r->files[SS_HELPER_LOG] < 0;
    r->out = out[0];
    r->status = status[0];
    r->files[SS_HELPER_OUT] = out[1];
    r->files[SS_HELPER_STATUS] = status[1];
    return rc ? errno : 0;
}

/* Follows a request that was sent. 0 when the board is valid. */
static int follow(struct request *r, struct ss_error *err)
{
    char text[4096] = "";
    struct ss_helper_word word;
    int told = read_word(r, &word), rc = 0;
    if (told && word.child < 0)
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "cannot start SimGrid: %s", strerror(word.state));
    r->child = told ? word.child : 0;
    rc = told ? read_pieces(r) : 0;
    if (rc) { /* and the child, to which nobody listens, ends */
        close(r->out);
        r->out = -1;
    }
    told = told && read_word(r, &word);
    int state = told ? word.state : -1;
    if (rc)
        return ss_fail(err, rc, NULL, 0, "the answer of SimGrid cannot be kept");
    if (!told)
        r->module.end(r->helper, &state, text, sizeof text);
    if (r->given_up)
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: it was stopped for %d s", r->name,
                       STOPPED_MS / 1000);
    if (r->board->finished)
        return 0;
    ssize_t n = text[0] ? 0 : pread(r->files[SS_HELPER_LOG], text, sizeof text - 1, 0);
    if (n > 0)
        text[n] = '\0';
    return child_error(r, state, text, err);
}

/* Has the request answered to its end. 0 when the board is valid. */
static int ask(struct request *r, struct ss_error *err)
{
    char why[512];
    r->what.board = r->board->mapped;
    r->files[SS_HELPER_BOARD] = r->board->fd;
    r->files[SS_HELPER_FOLDER] = r->files[SS_HELPER_LOG] = -1;
    if (!load_module(&r->module, why, sizeof why))
        return not_loaded(why, err);
    int rc = open_files(r);
    rc = rc ? rc : r->module.ask(&r->what, r->files, &r->helper);
    close_files(r);
    rc = rc ? ss_fail(err, SS_ERR_ENGINE, NULL, 0, "cannot start SimGrid: %s", strerror(rc)) : follow(r, err);
    const int left[] = {r->out, r->status, r->files[SS_HELPER_LOG]};
    for (size_t i = 0; i < SS_ARRAY_LEN(left); i++)
        if (left[i] >= 0)
            close(left[i]);
    return rc;
}

/* ---- replay: records back to observers ---- */

struct record_reader {
    struct ss_tape *tape;
    struct ss_record part; /* a record may arrive in two pieces */
    size_t have;
};

static int read_records(void *ctx, const char *data, size_t n)
{
    struct record_reader *r = ctx;
    while (n > 0) {
        size_t take = sizeof r->part - r->have < n ? sizeof r->part - r->have : n;
        memcpy((char *)&r->part + r->have, data, take);
        r->have += take;
        data += take;
        n -= take;
        if (r->have == sizeof r->part) {
            ss_tape_observe(r->tape->observers, r->tape->nobservers, &r->part);
            r->have = 0;
        }
    }
    return 0;
}

int ss_child_replay(const struct ss_program *p, struct ss_tape *tape, struct ss_board *board,
                    const struct ss_replay_options *options, struct ss_error *err)
{
    struct progress progress = {options, board, 0};
    struct record_reader reader = {.tape = tape};
    struct request r = {
        .what = {.task = SS_HELPER_REPLAY, .accounts = board->accounts != NULL, .wanted = tape->wanted},
        .name = "replay the program",
        .board = board,
        .reader = read_records,
        .ctx = &reader};
    for (int c = 0; c < p->nclasses; c++)
        progress.slots += p->classes[c].nslots;
    r.progress = options->progress && progress.slots ? &progress : NULL;
    r.files[SS_HELPER_INPUT] = ss_program_pack(p, &r.what.input);
    if (r.files[SS_HELPER_INPUT] < 0)
        return ss_nomem(err);
    int rc = ask(&r, err);
    close(r.files[SS_HELPER_INPUT]);
    ss_board_place(board, p, r.what.accounts);
    return rc;
}

/* ---- platforms ---- */

struct text_reader {
    char *text;
    size_t n, cap;
};

static int read_text(void *ctx, const char *data, size_t n)
{
    struct text_reader *r = ctx;
    if (ss_grow(&r->text, &r->cap, r->n + n + 1, 1))
        return SS_ERR_NOMEM;
    memcpy(r->text + r->n, data, n);
    r->n += n;
    return 0;
}

/* "... Parse error at FILE:LINE: text" with the place in front, as in all other errors. */
static int place_parse_error(const char *file, int rc, struct ss_error *err)
{
    char mark[300], text[400];
    int line = 0, n = snprintf(mark, sizeof mark, "Parse error at %s:", file), used = 0;
    const char *at = err && n < (int)sizeof mark ? strstr(err->message, mark) : NULL;

    if (!at || sscanf(at + n, "%d: %n", &line, &used) != 1 || !used)
        return rc;
    ss_copy(text, sizeof text, at + n + used);
    return ss_fail(err, rc, file, line,
                   "SimGrid cannot load it: %s" SS_HINT
                   "a SimGrid file begins with <?xml version='1.0'?> and its DOCTYPE",
                   text);
}

/* Writes the name of the file and those of the hosts, each with its NUL. */
static int write_names(const char *file, int npairs, const char *const (*hosts)[2], size_t *size)
{
    int fd = memfd_create("stepsim-names", MFD_CLOEXEC), copy = fd < 0 ? -1 : dup(fd);
    FILE *f = copy < 0 ? NULL : fdopen(copy, "wb");
    if (!f) {
        if (copy >= 0)
            close(copy);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *size = strlen(file) + 1;
    fwrite(file, 1, *size, f);
    for (int i = 0; i < 2 * npairs; i++) {
        const char *host = hosts[i / 2][i % 2];
        size_t n = strlen(host) + 1;
        fwrite(host, 1, n, f);
        *size += n;
    }
    int bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    if (!bad)
        return fd;
    close(fd);
    return -1;
}

static int ask_platform(int task, const char *file, int npairs, const char *const (*hosts)[2],
                        struct text_reader *text, struct ss_error *err)
{
    char name[300];
    struct request r = {.what = {.task = task, .npairs = npairs},
                        .name = name,
                        .board = ss_board_share(sizeof *r.board),
                        .reader = read_text,
                        .ctx = text};
    snprintf(name, sizeof name, "load %s", file);
    r.files[SS_HELPER_INPUT] = r.board ? write_names(file, npairs, hosts, &r.what.input) : -1;
    if (r.files[SS_HELPER_INPUT] < 0) {
        ss_board_free(r.board);
        return ss_nomem(err);
    }
    int rc = ask(&r, err);
    close(r.files[SS_HELPER_INPUT]);
    if (rc == SS_ERR_ENGINE)
        rc = place_parse_error(file, rc, err);
    if (!rc && r.board->status) {
        rc = ss_fail(err, r.board->status, file, 0, "%s", r.board->message);
        if (r.board->hint[0])
            ss_hint(err, rc, "%s", r.board->hint);
    }
    ss_board_free(r.board);
    return rc;
}

int ss_simgrid_probe(const char *file, struct ss_error *err)
{
    struct text_reader text = {0};
    int rc = ask_platform(SS_HELPER_PROBE, file, 0, NULL, &text, err);
    free(text.text);
    return rc;
}

int ss_simgrid_ask_routes(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
                          struct ss_error *err)
{
    struct text_reader text = {0};
    int rc = ask_platform(SS_HELPER_ROUTES, file, npairs, hosts, &text, err), i = 0;
    size_t at = 0;
    for (; !rc && i < npairs && at < text.n; i++) {
        size_t len = strnlen(text.text + at, text.n - at);
        routes[i] = strndup(text.text + at, len);
        if (!routes[i])
            rc = ss_nomem(err);
        at += len + 1;
    }
    if (!rc && i < npairs)
        rc = ss_fail(err, SS_ERR_ENGINE, file, 0, "SimGrid answered %d of %d routes", i, npairs);
    if (rc)
        while (i-- > 0) {
            free(routes[i]);
            routes[i] = NULL;
        }
    free(text.text);
    return rc;
}
