/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module that starts SimGrid's program and keeps the socket to it (replay/helper.h): a module, because the library itself has no
 * data that changes. No library but C's is needed here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay/helper.h"

extern char **environ;
ss_helper_ask_function ss_helper_ask;
ss_helper_end_function ss_helper_end;

static struct {
    pthread_mutex_t lock;
    pid_t helper; /* 0: none */
    pid_t starter;
    int to, log;
} one = {.lock = PTHREAD_MUTEX_INITIALIZER, .to = -1, .log = -1};

static void lock(void)
{
    pthread_mutex_lock(&one.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&one.lock);
}

/* At the end of the process that started it, which waits for it, so that its time is in what that process took. */
__attribute__((destructor)) static void leave(void)
{
    if (!one.helper || one.starter != getpid())
        return;
    shutdown(one.to, SHUT_RDWR);
    kill(one.helper, SIGCONT);
    waitpid(one.helper, NULL, 0);
}

/* A child forked while another thread asks must find a free lock. */
__attribute__((constructor)) static void prepare(void)
{
    pthread_atfork(lock, unlock, unlock);
    at_quick_exit(leave); /* of a worker */
}

static void forget(void)
{
    if (one.to >= 0)
        close(one.to);
    if (one.log >= 0)
        close(one.log);
    one.to = one.log = -1;
    one.helper = 0;
}

/* The program in the module's own folder; 0 or errno's value. */
static int find_program(char *path, size_t size)
{
    Dl_info info;
    if (!dladdr((void *)&one, &info) || !info.dli_fname)
        return ENOENT;
    const char *slash = strrchr(info.dli_fname, '/');
    int folder = slash ? (int)(slash - info.dli_fname) + 1 : 0;
    int n = snprintf(path, size, "%.*s" SS_HELPER_PROGRAM, folder, info.dli_fname);
    return n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0;
}

static int start_process(const char *path, int socket, int log, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    char name[] = SS_HELPER_PROGRAM, *argv[] = {name, NULL};
    sigemptyset(&none);
    int rc = posix_spawn_file_actions_init(&files);
    if (rc)
        return rc;
    rc = posix_spawnattr_init(&how);
    if (!rc) {
        rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, log, STDOUT_FILENO);
        rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, log, STDERR_FILENO);
        rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, socket, SS_HELPER_SOCKET);
        rc = rc ? rc : posix_spawnattr_setsigmask(&how, &none);
        rc = rc ? rc : posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
        rc = rc ? rc : posix_spawn(pid, path, &files, &how, argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

/* Returns a number above those that the program is given: dup2 of one to another would close a third. */
static int move_up(int fd)
{
    int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SS_HELPER_SOCKET + 1);
    if (fd >= 0)
        close(fd);
    return up;
}

static int start(void)
{
    char path[4096];
    int ends[2] = {-1, -1}, rc = find_program(path, sizeof path);
    if (rc)
        return rc;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return errno;
    one.to = ends[0];
    ends[1] = move_up(ends[1]);
    one.log = move_up(memfd_create("stepsim-log", MFD_CLOEXEC));
    rc = ends[1] < 0 || one.log < 0 ? errno : start_process(path, ends[1], one.log, &one.helper);
    one.starter = getpid();
    if (ends[1] >= 0)
        close(ends[1]);
    if (rc)
        forget();
    return rc;
}

static int has_ended(int error)
{
    return error == EPIPE || error == ECONNRESET;
}

static int send_request(const struct ss_helper_request *request, const int files[SS_HELPER_FILES])
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(SS_HELPER_FILES * sizeof(int))];
    } control = {0};
    struct iovec text = {(void *)request, sizeof *request};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(SS_HELPER_FILES * sizeof(int));
    memcpy(CMSG_DATA(&control.head), files, SS_HELPER_FILES * sizeof(int));
    ssize_t n;
    do
        n = sendmsg(one.to, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? errno : 0;
}

int ss_helper_ask(const struct ss_helper_request *request, const int files[SS_HELPER_FILES], pid_t *helper)
{
    lock();
    if (one.helper &&
        one.starter != getpid()) { /* forked: what was inherited may be closed, and its numbers given anew */
        one.helper = 0;
        one.to = one.log = -1;
    }
    int rc = one.helper ? send_request(request, files) : EPIPE;
    if (has_ended(rc)) { /* or no helper was started */
        if (one.helper)
            waitpid(one.helper, NULL, WNOHANG);
        forget();
        rc = start();
        rc = rc ? rc : send_request(request, files);
        rc = has_ended(rc) ? 0 : rc; /* why is what ss_helper_end tells who finds that nobody answers */
    }
    *helper = one.helper;
    unlock();
    return rc;
}

void ss_helper_end(pid_t helper, int *state, char *text, size_t size)
{
    *state = -1;
    text[0] = '\0';
    lock();
    if (helper == one.helper) {
        pid_t ended;
        do
            ended = waitpid(helper, state, 0);
        while (ended < 0 && errno == EINTR);
        if (ended < 0)
            *state = -1;
        ssize_t n = pread(one.log, text, size - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        forget();
    }
    unlock();
}
