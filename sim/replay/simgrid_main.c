/* SPDX-License-Identifier: Apache-2.0 */
/* SimGrid's own program (replay/helper.h): a child for each request, because SimGrid allows one engine a process. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/leave.h"
#include "replay/helper.h"
#include "replay/simgrid.h"

#include <simgrid/version.h> /* which needs the others */

#define MOST 1024 /* children at once; more requests wait */

struct children {
    int n;
    struct {
        pid_t pid;
        int status;
    } child[MOST];
};

/* ---- in a child ---- */

static void *map(int fd, size_t size, int how)
{
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, how, fd, 0);
    if (block == MAP_FAILED) {
        dprintf(STDERR_FILENO, "out of memory for %zu bytes\n", size);
        ss_leave(1);
    }
    return block;
}

static void replay(const struct ss_helper_request *r, const int *files)
{
    struct ss_program *p = ss_program_unpack(map(files[SS_HELPER_INPUT], r->input, MAP_PRIVATE), r->input);
    struct ss_board *board = map(files[SS_HELPER_BOARD], r->board, MAP_SHARED);
    struct ss_tape tape;
    ss_board_place(board, p, r->accounts);
    ss_tape_init(&tape, p, board, NULL, 0);
    tape.wanted = r->wanted;
    tape.fd = files[SS_HELPER_OUT];
    struct ss_simgrid_call call = {.task = r->task, .program = p, .tape = &tape, .board = board};
    ss_sg_replay(&call);
    ss_tape_end(&tape);
}

static void ask(const struct ss_helper_request *r, const int *files)
{
    const char *text = map(files[SS_HELPER_INPUT], r->input, MAP_PRIVATE);
    struct ss_simgrid_call call = {.task = r->task,
                                   .file = text,
                                   .npairs = r->npairs,
                                   .fd = files[SS_HELPER_OUT],
                                   .board = map(files[SS_HELPER_BOARD], r->board, MAP_SHARED)};
    const char *(*hosts)[2] = calloc((size_t)r->npairs + 1, sizeof *hosts);
    for (int i = 0; hosts && i < 2 * r->npairs; i++)
        hosts[i / 2][i % 2] = text += strlen(text) + 1;
    call.hosts = (const char *const(*)[2])hosts;
    if (hosts)
        ss_sg_ask(&call);
}

_Noreturn static void answer(const struct ss_helper_request *r, const int *files)
{
    struct rlimit none = {0, 0};
    sigset_t all;
    sigfillset(&all);
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    dup2(files[SS_HELPER_LOG], STDOUT_FILENO);
    dup2(files[SS_HELPER_LOG], STDERR_FILENO);
    if (fchdir(files[SS_HELPER_FOLDER]))
        ss_leave(1);
    if (r->task == SS_HELPER_REPLAY)
        replay(r, files);
    else
        ask(r, files);
    ss_leave(0);
}

/* ---- the program ---- */

static void tell(int status, pid_t child, int state)
{
    struct ss_helper_word word = {child, state};
    if (write(status, &word, sizeof word) < 0)
        return; /* who asked has gone */
}

static void begin(struct children *all, const struct ss_helper_request *r, const int *files)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        answer(r, files);
    }
    tell(files[SS_HELPER_STATUS], pid, pid < 0 ? errno : -1);
    if (pid > 0) {
        all->child[all->n].pid = pid;
        all->child[all->n++].status = files[SS_HELPER_STATUS];
    }
    for (int i = 0; i < SS_HELPER_FILES; i++)
        if (pid < 0 || i != SS_HELPER_STATUS)
            close(files[i]);
}

/* 0: nobody is left who could ask. */
static int take_request(struct children *all)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(SS_HELPER_FILES * sizeof(int))];
    } control;
    struct ss_helper_request request;
    struct iovec text = {&request, sizeof request};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int files[SS_HELPER_FILES];
    ssize_t n = recvmsg(SS_HELPER_SOCKET, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (n == 0 || (n < 0 && errno != EINTR))
        return 0;
    if (n != (ssize_t)sizeof request || !c || c->cmsg_len != CMSG_LEN(sizeof files))
        return n < 0; /* no word of ours; or interrupted */
    memcpy(files, CMSG_DATA(c), sizeof files);
    begin(all, &request, files);
    return 1;
}

static void take_ends(struct children *all)
{
    int state;
    for (pid_t pid; (pid = waitpid(-1, &state, WNOHANG)) > 0;)
        for (int i = 0; i < all->n; i++)
            if (all->child[i].pid == pid) {
                tell(all->child[i].status, pid, state);
                close(all->child[i].status);
                all->child[i] = all->child[--all->n];
                break;
            }
}

static void serve(int ends)
{
    static struct children all;
    static struct pollfd ready[MOST + 2];
    for (;;) {
        ready[0] = (struct pollfd){.fd = ends, .events = POLLIN};
        ready[1] = (struct pollfd){.fd = all.n < MOST ? SS_HELPER_SOCKET : -1, .events = POLLIN};
        for (int i = 0; i < all.n; i++) /* POLLERR: nobody reads */
            ready[2 + i] = (struct pollfd){.fd = all.child[i].status};
        if (poll(ready, 2 + (nfds_t)all.n, -1) < 0 && errno != EINTR)
            return;
        struct signalfd_siginfo info;
        for (int i = 0; i < all.n; i++)
            if (ready[2 + i].revents)
                kill(all.child[i].pid, SIGKILL);
        if (ready[0].revents && read(ends, &info, sizeof info) > 0)
            take_ends(&all);
        if (ready[1].revents && !take_request(&all))
            return;
    }
}

int main(int argc, char **argv)
{
    sigset_t child;
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        int major, minor, patch;
        sg_version_get(&major, &minor, &patch);
        printf("SimGrid %d.%d.%d\n", major, minor, patch);
        return 0;
    }
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    int ends = signalfd(-1, &child, SFD_CLOEXEC);
    if (ends < 0)
        return 1;
    serve(ends); /* the children end with this process */
    ss_leave(0);
}
