/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SimGrid module and the child process that runs it: SimGrid allows one engine a process and answers
 * bad input with abort(), so each call gets a process of its own, and its complaint becomes an error.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/leave.h"
#include "replay/engine.h"

#define MODULE_FILE "stepsim-simgrid.so"

#define TELL_EVERY_MS 100
#define STOPPED_MS 5000 /* that a child may be stopped while this process is not, as by Ctrl-Z of both */

#define NOT_LOADED 125 /* exit status of a child that has told why it has no SimGrid */

/* What the child's output pipe is read by: called with each piece; 0 or a status. */
typedef int (*piece_reader)(void *ctx, const char *data, size_t n);

/* Of a replay whose caller wants to know how far it is. */
struct progress {
    const struct ss_replay_options *options;
    const struct ss_board *board;
    int64_t slots; /* of all classes */
};

struct child {
    pid_t pid;
    const struct progress *progress; /* NULL: nobody asks */
    int stopped_ms;                  /* 0: it runs */
    int given_up;                    /* it was ended because it stayed stopped */
};

/* NULL: why says the reason. Where a process has the module already, it is found at once, in its children, too. */
static ss_module_main *load_module(char *why, size_t size)
{
    char home[4096], path[4096 + sizeof MODULE_FILE + 1];
    why[0] = '\0';
    const char *dirs[] = {getenv("STEPSIM_MODULE_DIR"), home};
    ss_home_find(&ss_home.modules, home, sizeof home);
    for (size_t i = 0; i < SS_ARRAY_LEN(dirs); i++) {
        if (!dirs[i] || !dirs[i][0])
            continue;
        snprintf(path, sizeof path, "%s/%s", dirs[i], MODULE_FILE);
        if (access(path, R_OK) != 0)
            continue;
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void *symbol = handle ? dlsym(handle, SS_MODULE_SYMBOL) : NULL;
        if (symbol) {
            ss_module_main *function;
            memcpy(&function, &symbol, sizeof function);
            return function;
        }
        const char *text = dlerror();
        ss_copy(why, size, text ? text : "");
    }
    if (!why[0])
        snprintf(why, size, "no " MODULE_FILE " in %.400s", home);
    return NULL;
}

static int not_loaded(const char *why, struct ss_error *err)
{
    int rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "the SimGrid engine cannot be loaded: %s", why);
    if (strstr(why, "failed to map") || strstr(why, "cannot allocate") || strstr(why, "memory"))
        return ss_hint(err, rc, "it needs some 100 MiB of address space (ulimit -v), or use --engine native");
    return ss_hint(err, rc,
                   "install libsimgrid, point STEPSIM_MODULE_DIR to the folder of " MODULE_FILE
                   ", or use --engine native");
}

int ss_simgrid_load(struct ss_error *err)
{
    char why[512];
    return load_module(why, sizeof why) ? SS_OK : not_loaded(why, err);
}

/* Here the module is loaded, for libraries that find no memory while they set themselves up end their process. */
static void run_in_child(struct ss_module_call *call, int log, int out)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    char why[512];
    ss_module_main *function = load_module(why, sizeof why);
    if (!function) {
        dprintf(log, "%s\n", why);
        ss_leave(NOT_LOADED);
    }
    call->fd = out;
    if (call->tape)
        call->tape->fd = out;
    function(call);
    if (call->tape)
        ss_tape_end(call->tape);
    ss_leave(0);
}

/* A child that is stopped is not waited for without end: nobody would say that it will go on. */
static void look_after(struct child *child)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 && info.si_pid)
        child->stopped_ms = info.si_code != CLD_CONTINUED;
    if (!child->stopped_ms || (child->stopped_ms += TELL_EVERY_MS) < STOPPED_MS)
        return;
    child->given_up = 1;
    kill(child->pid, SIGKILL);
}

/* Tells how far the child is until it has written something or has ended. */
static void wait_for_piece(int fd, struct child *child)
{
    const struct progress *progress = child->progress;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    int n;
    while ((n = poll(&ready, 1, TELL_EVERY_MS)) == 0 || (n < 0 && errno == EINTR)) {
        if (n == 0 && progress)
            progress->options->progress(progress->options->ctx,
                                        (double)progress->board->slots_run / (double)progress->slots);
        if (n == 0 && !child->given_up)
            look_after(child);
    }
}

static int read_pieces(int fd, piece_reader reader, void *ctx, struct child *child)
{
    char *buf = malloc(1 << 16);
    int rc = buf ? 0 : SS_ERR_NOMEM;
    while (!rc) {
        wait_for_piece(fd, child);
        ssize_t n = read(fd, buf, 1 << 16);
        if (n > 0)
            rc = reader(ctx, buf, (size_t)n);
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

/* First line of the child's own words, "" when it said nothing. */
static void first_complaint(int log, char *out, size_t size)
{
    char buf[4096];
    ssize_t n = pread(log, buf, sizeof buf - 1, 0);
    out[0] = 0;
    buf[n > 0 ? n : 0] = 0;
    for (char *line = buf, *next; line && !out[0]; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        ss_copy(out, size, strip_prefix(line));
    }
}

static int child_error(int state, int log, const char *what, struct ss_error *err)
{
    char text[400];
    first_complaint(log, text, sizeof text);
    if (WIFEXITED(state) && WEXITSTATUS(state) == NOT_LOADED)
        return not_loaded(text, err);
    if (text[0])
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: %s", what, text);
    if (WIFSIGNALED(state)) {
        const char *name = sigabbrev_np(WTERMSIG(state));
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: it was ended by SIG%s", what,
                       name ? name : "?");
    }
    return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: it ended with status %d", what,
                   WIFEXITED(state) ? WEXITSTATUS(state) : -1);
}

/* Runs the call in a child to its end. 0 when the board is valid. */
static int run_child(struct ss_module_call *call, piece_reader reader, void *ctx,
                     const struct progress *progress, const char *what, struct ss_error *err)
{
    int ends[2], state = 0, rc = 0;
    int log = memfd_create("stepsim-log", MFD_CLOEXEC);
    if (log < 0 || pipe2(ends, O_CLOEXEC)) {
        rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "cannot start SimGrid: %s", strerror(errno));
        if (log >= 0)
            close(log);
        return rc;
    }
    fflush(NULL); /* else the child's exit could write our buffers a second time */
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left to read */
        if (getppid() != parent)
            ss_leave(1);
        close(ends[0]);
        run_in_child(call, log, ends[1]);
    }
    int why = errno;
    close(ends[1]);
    if (pid > 0) {
        struct child child = {.pid = pid, .progress = progress};
        rc = read_pieces(ends[0], reader, ctx, &child);
        close(ends[0]);
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
            ;
        if (rc)
            ss_fail(err, rc, NULL, 0, "the answer of SimGrid cannot be kept");
        else if (child.given_up)
            rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "SimGrid cannot %s: it was stopped for %d s", what,
                         STOPPED_MS / 1000);
        else if (!call->board->finished)
            rc = child_error(state, log, what, err);
    } else {
        close(ends[0]);
        rc = ss_fail(err, SS_ERR_ENGINE, NULL, 0, "cannot start SimGrid: %s", strerror(why));
    }
    close(log);
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
    struct ss_module_call call = {.task = SS_MODULE_REPLAY, .program = p, .tape = tape, .board = board};
    struct record_reader reader = {.tape = tape};
    for (int c = 0; c < p->nclasses; c++)
        progress.slots += p->classes[c].nslots;
    return run_child(&call, read_records, &reader, options->progress && progress.slots ? &progress : NULL,
                     "replay the program", err);
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

static struct ss_board *platform_board(void)
{
    struct ss_board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED)
        return NULL;
    b->mapped = sizeof *b;
    return b;
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
    ss_fail(err, rc, file, line, "SimGrid cannot load it: %s", text);
    return ss_hint(err, rc, "a SimGrid file begins with <?xml version='1.0'?> and its DOCTYPE");
}

static int run_platform(struct ss_module_call *call, struct text_reader *text, struct ss_error *err)
{
    struct ss_board *board = platform_board();
    char what[300];
    if (!board)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for %s", call->file);
    call->board = board;
    snprintf(what, sizeof what, "load %s", call->file);
    int rc = run_child(call, read_text, text, NULL, what, err);
    if (rc == SS_ERR_ENGINE)
        rc = place_parse_error(call->file, rc, err);
    if (!rc && board->status) {
        rc = ss_fail(err, board->status, call->file, 0, "%s", board->message);
        if (board->hint[0])
            ss_hint(err, rc, "%s", board->hint);
    }
    ss_board_free(board);
    return rc;
}

int ss_simgrid_probe(const char *file, struct ss_error *err)
{
    struct ss_module_call call = {.task = SS_MODULE_PROBE, .file = file};
    struct text_reader text = {0};
    int rc = run_platform(&call, &text, err);
    free(text.text);
    return rc;
}

int ss_simgrid_ask_routes(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
                          struct ss_error *err)
{
    struct ss_module_call call = {.task = SS_MODULE_ROUTES, .file = file, .npairs = npairs, .hosts = hosts};
    struct text_reader text = {0};
    int rc = run_platform(&call, &text, err), i = 0;
    size_t at = 0;
    for (; !rc && i < npairs && at < text.n; i++) {
        size_t len = strnlen(text.text + at, text.n - at);
        routes[i] = strndup(text.text + at, len);
        if (!routes[i])
            rc = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory for the routes of %s", file);
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
