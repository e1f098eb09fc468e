/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a launch script: one that watches the time, one that is the first of the namespace, the shell. */
#include "import/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/base.h"
#include "base/leave.h"

#define MAX_OUTPUT (256u << 10)
#define MAX_CALL_BYTES (32u << 20)
/* Processes that a script leaves behind get this long. */
#define AFTER_S 1.0
/* Where the first process of the namespace has the pipe for the calls; nothing else stands behind stderr. */
#define RESULT 3

/* How far the processes came, from the sandbox to the caller. */
struct state {
    int failed; /* errno of what could not be prepared */
    int status; /* of the shell's exit */
    char what[4096];
};

/* Bytes of one pipe. */
struct stream {
    int fd;
    char *data;
    size_t len, cap, most;
    int rolls; /* 1: the last bytes are kept, not the first */
};

/* ---- in the sandbox ---- */

/* The three texts as one, of a process that does not free. */
static char *joined(const char *a, const char *b, const char *c)
{
    char *text;

    if (asprintf(&text, "%s%s%s", a, b, c) < 0)
        _exit(126);
    return text;
}

static size_t count(char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return n;
}

static void run_shell(const struct ss_sandbox *box, const char *inside)
{
    size_t words = count(box->words), variables = count(box->environment);
    const char *home = box->trust || !box->view->home ? SS_SANDBOX_HOME : box->view->home,
               *seen = box->trust ? joined(inside, SS_SANDBOX_VIEW, "") : "";
    char *own[] = {joined("PATH=", inside, SS_SANDBOX_PROGRAMS), joined("HOME=", inside, home),
                   joined("BASH_ENV=", inside, "/.stepsim/start"), joined("LC_ALL=", "C.UTF-8", ""),
                   joined("USER=", "user", "")};
    char **argv = ss_calloc(words + 4, sizeof *argv),
         **env = ss_calloc(variables + SS_ARRAY_LEN(own) + 3, sizeof *env);

    if (!argv || !env)
        _exit(126);
    memcpy(env, own, sizeof own);
    memcpy(env + SS_ARRAY_LEN(own), box->environment, variables * sizeof *env);
    if (box->host_lines) /* behind the same name without `inside` */
        env[SS_ARRAY_LEN(own) + variables] = joined("PBS_NODEFILE=", inside, SS_SANDBOX_HOSTS);
    if (box->guess)
        env[count(env)] = joined("STEPSIM_GUESS=", box->guess, "");
    size_t n = 0;
    argv[n++] = joined("bash", "", "");
    if (box->trace)
        argv[n++] = joined("-x", "", "");
    argv[n++] = joined(seen, box->view->script, "");
    memcpy(argv + n, box->words, words * sizeof *argv);
    const char *bash =
        joined(inside, SS_SANDBOX_PROGRAMS, "/bash"); /* no memory is asked for behind the limits */
    closefrom(RESULT);
    if ((chdir(joined(seen, box->view->work, "")) && chdir(joined(inside, "/tmp", ""))) ||
        ss_sandbox_limit(box->trust))
        _exit(126);
    if (box->trust) /* a root of its own has no build folder */
        ss_keep_counts();
    execve(bash, argv, env);
    _exit(126);
}

/* Waits for the shell, then for what it left behind; the caller's limit of time ends both. */
static int wait_all(pid_t shell)
{
    int status, result = -1;
    double end = 0;

    for (;;) {
        pid_t pid = waitpid(-1, &status, end > 0 ? WNOHANG : 0);
        if ((pid < 0 && errno != EINTR) || (pid == 0 && ss_clock() > end))
            return result;
        if (pid == shell) {
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            end = ss_clock() + AFTER_S;
        }
        if (pid == 0)
            nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

/* Makes the tree in a folder of the machine, with copies of what is seen: relative paths end there. */
static int prepare_trusted(const struct ss_sandbox *box, const char *base, char what[4096])
{
    char *seen = joined(base, SS_SANDBOX_VIEW, "");
    struct ss_view_fds fds;
    int rc = ss_sandbox_tree(box, base, base, what);

    ss_sandbox_open_view(box->view, &fds);
    rc = rc ? rc : ss_sandbox_make_path(joined(seen, box->view->work, ""), what);
    rc = rc ? rc : ss_sandbox_copy_view(box->view, &fds, seen, 0, 0, what);
    ss_sandbox_close_view(box->view, &fds);
    return rc;
}

/* The first process of the namespace, or of the group: prepares, runs the shell, sends the calls. */
static void first_process(const struct ss_sandbox *box, const char *base, int as_root)
{
    struct state state = {0};
    const char *inside = box->trust ? base : "";

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    state.failed =
        box->trust ? prepare_trusted(box, base, state.what) : ss_sandbox_enter(box, as_root, state.what);
    if (!state.failed) {
        pid_t shell = fork();
        if (shell == 0)
            run_shell(box, inside);
        if (shell < 0)
            state.failed = errno;
        else
            state.status = wait_all(shell);
    }
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    if (write(RESULT, &state, sizeof state) != sizeof state)
        _exit(1);
    int failed = state.failed || ss_calls_send(RESULT, joined(inside, SS_SANDBOX_CALLS, ""));
    if (box->trust)
        ss_leave(failed);
    _exit(failed);
}

/* Takes nothing along but the two pipes: as stdout and stderr of the script, whose stdin is empty, and as RESULT. Signals are as a shell
 * expects them. */
static int begin_anew(int output, int result)
{
    int null = open("/dev/null", O_RDONLY), out = fcntl(output, F_DUPFD, RESULT + 1),
        in = fcntl(result, F_DUPFD, RESULT + 1);
    sigset_t none;

    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0 || dup2(in, RESULT) < 0)
        return errno;
    closefrom(RESULT + 1);
    /* With 1 byte, unlike with 0, the kernel gives what has crashed to no program of the machine either. */
    (void)setrlimit(RLIMIT_CORE, &(const struct rlimit){1, 1});
    for (int number = 1; number <= SIGRTMAX; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

/* Makes the namespaces, in which its child is the first process. */
static void watcher(const struct ss_sandbox *box, const char *base, int output, int result)
{
    struct state state = {0};
    int as_root = 0, status;

    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (begin_anew(output, result))
        ss_leave(1);
    state.failed = box->trust ? 0 : ss_sandbox_unshare(&as_root);
    state.status = -2; /* no namespaces */
    pid_t first = state.failed ? -1 : fork();
    if (first == 0)
        first_process(box, base, as_root);
    if (first < 0) {
        (void)!write(RESULT, &state, sizeof state);
        ss_leave(1);
    }
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    close(RESULT);
    ss_keep_counts(); /* the caller ends this process when both pipes have ended */
    while (waitpid(first, &status, 0) < 0 && errno == EINTR)
        ;
    ss_leave(0);
}

/* ---- the caller ---- */

static int take(struct stream *s)
{
    char block[65536];
    ssize_t got = read(s->fd, block, sizeof block);

    if (got <= 0)
        return got < 0 && errno == EINTR ? 1 : 0;
    if (s->rolls && s->len + (size_t)got > s->most) {
        size_t drop = s->len + (size_t)got - s->most;
        drop = drop > s->len ? s->len : drop;
        memmove(s->data, s->data + drop, s->len - drop);
        s->len -= drop;
    }
    if (s->len + (size_t)got > s->most || ss_grow(&s->data, &s->cap, s->len + (size_t)got + 1, 1))
        return s->rolls;
    memcpy(s->data + s->len, block, (size_t)got);
    s->len += (size_t)got;
    s->data[s->len] = 0;
    return 1;
}

/* Reads both pipes until both end; 1 where the time is over. */
static int read_streams(struct stream *output, struct stream *result, double end)
{
    while (output->fd >= 0 || result->fd >= 0) {
        struct pollfd fds[2] = {{.fd = output->fd, .events = POLLIN}, {.fd = result->fd, .events = POLLIN}};
        double left = end - ss_clock();
        int n = left > 0 ? poll(fds, 2, (int)(left * 1000) + 1) : 0;
        if (n == 0)
            return 1;
        struct stream *streams[2] = {output, result};
        for (int i = 0; i < 2 && n > 0; i++)
            if (fds[i].revents && !take(streams[i])) {
                close(streams[i]->fd);
                streams[i]->fd = -1;
            }
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    (void)remove(path);
    return 0;
}

static int explain(const struct ss_sandbox *box, const struct state *state, struct ss_error *err)
{
    const char *name = strrchr(box->view->script, '/') + 1, *why = strerror(state->failed);

    if (state->status == -2)
        ss_fail(err, SS_ERR_IO, NULL, 0, "%s: the kernel gives no namespaces to keep a script in: %s", name,
                why);
    else
        ss_fail(err, SS_ERR_IO, NULL, 0, "the sandbox of %s: %s: %s", name, state->what, why);
    return ss_hint(err, SS_ERR_IO,
                   "read the script, and give --trust to run it without a sandbox: PATH has then no program "
                   "that starts jobs, but the script may change files of yours");
}

static int finish(const struct ss_sandbox *box, const struct stream *result, int late, struct ss_calls *calls,
                  struct ss_error *err)
{
    struct state state;

    if (late) {
        calls->status = -1;
        return SS_OK;
    }
    if (result->len < sizeof state)
        return ss_fail(err, SS_ERR_IO, NULL, 0, "the sandbox of the launch script ended early");
    memcpy(&state, result->data, sizeof state);
    if (state.failed)
        return explain(box, &state, err);
    calls->status = state.status;
    return ss_calls_take(calls, result->data + sizeof state, result->len - sizeof state, err);
}

/* Ends every process of the script: the death of the first one of a namespace ends all the others. */
static void end_processes(pid_t pid)
{
    int status;

    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
}

static int run_in(const struct ss_sandbox *box, const char *base, struct ss_calls *calls,
                  struct ss_error *err)
{
    int output[2] = {-1, -1}, result[2] = {-1, -1};

    if (pipe2(output, O_CLOEXEC) || pipe2(result, O_CLOEXEC)) {
        if (output[0] >= 0)
            close(output[0]), close(output[1]);
        return ss_fail(err, SS_ERR_IO, NULL, 0, "pipe: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(output[0]);
        close(result[0]);
        watcher(box, base, output[1], result[1]);
    }
    close(output[1]);
    close(result[1]);
    struct stream out = {.fd = output[0], .most = MAX_OUTPUT, .rolls = 1},
                  in = {.fd = result[0], .most = MAX_CALL_BYTES};
    int late = pid > 0 ? read_streams(&out, &in, box->end) : 0;
    if (pid > 0)
        end_processes(pid);
    if (late)
        (void)read_streams(&out, &in, ss_clock() + AFTER_S); /* both end when the last process has died */
    if (out.fd >= 0)
        close(out.fd);
    if (in.fd >= 0)
        close(in.fd);
    calls->output = out.data;
    int rc = pid < 0 ? ss_fail(err, SS_ERR_IO, NULL, 0, "fork: %s", strerror(errno))
                     : finish(box, &in, late, calls, err);
    free(in.data);
    return rc;
}

/* In a folder of its own, which the tree is made in. */
static int run_trusted(const struct ss_sandbox *box, struct ss_calls *calls, struct ss_error *err)
{
    const char *temporary = getenv("TMPDIR");
    char base[PATH_MAX];

    snprintf(base, sizeof base, "%s/stepsim-XXXXXX", temporary && temporary[0] == '/' ? temporary : "/tmp");
    if (!mkdtemp(base))
        return ss_fail(err, SS_ERR_IO, NULL, 0, "%s: %s", base, strerror(errno));
    int rc = run_in(box, base, calls, err);
    if (asprintf(&calls->above, "%s" SS_SANDBOX_VIEW, base) < 0)
        calls->above = NULL, rc = rc ? rc : ss_nomem(err);
    nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return rc;
}

int ss_sandbox_run(const struct ss_sandbox *box, struct ss_calls *calls, struct ss_error *err)
{
    memset(calls, 0, sizeof *calls);
    return box->trust ? run_trusted(box, calls, err) : run_in(box, NULL, calls, err);
}
