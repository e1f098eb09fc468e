/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/worker.h"
#include "base/leave.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/base.h"

/* ---- both ends of a socket ---- */

static int send_all(int fd, const void *data, size_t n)
{
    for (const char *at = data; n > 0;) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return -1;
        at += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

static int read_all(int fd, void *data, size_t n)
{
    for (char *at = data; n > 0;) {
        ssize_t got = read(fd, at, n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return -1;
        at += got > 0 ? got : 0;
        n -= got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* ---- the worker ---- */

/* Sends reply and answer in one piece, so that the reader wakes once. */
static int send_reply(int fd, const char *reply, const struct ss_error *error)
{
    struct ss_reply head;
    memcpy(&head, reply, sizeof head);
    if (!head.status)
        return send_all(fd, reply, sizeof head + head.bytes);
    return send_all(fd, reply, sizeof head) || send_all(fd, error, sizeof *error);
}

int ss_pool_work(const struct ss_pool *pool, int item, void *answer, size_t *bytes, struct ss_error *err)
{
    if (!pool->used)
        memset(answer, 0, pool->size);
    int status = pool->work(pool->ctx, item, answer, err);
    *bytes = status || !pool->used ? pool->size : pool->used(answer);
    return status;
}

static void work_until_end(const struct ss_pool *pool, int fd)
{
    char *reply = ss_calloc(1, sizeof(struct ss_reply) + pool->size);
    struct ss_reply head;
    memset(&head, 0, sizeof head);
    while (reply && !read_all(fd, &head.item, sizeof head.item)) {
        struct ss_error error = {0};
        char *answer = reply + sizeof head;
        head.status = ss_pool_work(pool, head.item, answer, &head.bytes, &error);
        memcpy(reply, &head, sizeof head);
        if (send_reply(fd, reply, &error))
            break;
    }
    ss_keep_counts();
    quick_exit(0); /* also ends what a module has begun here (replay/client.c) */
}

/* ---- the dealing process ---- */

int ss_worker_hire(const struct ss_pool *pool, struct ss_worker *s)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left to read the answer */
        if (getppid() != parent)
            ss_leave(1);
        /* Closes the sockets of all other workers, those of other threads too, so that they do not outlive
         * the caller's ends. */
        close_range(STDERR_FILENO + 1, (unsigned)ends[1] - 1, 0);
        close_range((unsigned)ends[1] + 1, ~0u, 0);
        work_until_end(pool, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    s->pid = pid;
    s->fd = ends[0];
    return 0;
}

int ss_worker_depth(const struct ss_worker *s)
{
    return s->took > 0 && s->took < SS_WORKER_SHORT_S ? SS_WORKER_DEPTH : 1;
}

void ss_worker_push(struct ss_worker *s, int at)
{
    if (s->n == 0)
        s->since = ss_clock();
    s->at[s->n++] = at;
}

void ss_worker_give(struct ss_worker *s, int at, int item)
{
    ss_worker_push(s, at);
    send_all(s->fd, &item, sizeof item);
}

int ss_worker_read(struct ss_worker *s, struct ss_reply *reply, struct ss_error *error)
{
    if (read_all(s->fd, reply, sizeof *reply))
        return -1;
    return reply->status ? read_all(s->fd, error, sizeof *error) : 0;
}

int ss_worker_read_answer(struct ss_worker *s, void *answer, size_t bytes)
{
    return read_all(s->fd, answer, bytes);
}

void ss_worker_next(struct ss_worker *s)
{
    double now = ss_clock();
    s->took = now - s->since;
    s->since = now;
    s->n--;
    memmove(s->at, s->at + 1, (size_t)s->n * sizeof *s->at);
}

void ss_worker_dismiss(struct ss_worker *s)
{
    if (!s->pid)
        return;
    shutdown(s->fd, SHUT_RDWR); /* works also where a child of another thread holds the socket, too */
    close(s->fd);
    if (s->n) /* nobody wants its answer any more */
        kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    s->pid = 0;
}
