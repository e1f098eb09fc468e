/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

/* How often an item is dealt out, when its workers die. */
#define TRIES 2

struct worker {
    pid_t pid; /* 0: none */
    int fd;    /* item numbers there, replies back */
    int item;  /* that it is at, or -1 */
};

/* What a worker writes before an answer. */
struct reply {
    int status;
    struct ss_error error;
};

struct crew {
    const struct ss_pool *pool;
    char *answers;
    int nworkers;
    struct worker *workers;
    struct pollfd *ready;
    int next;  /* first item that was never dealt out */
    int *back; /* [nworkers]: items whose workers died */
    int nback;
    char *tries; /* [nitems]: how often an item was dealt out */
    int done, in_flight;
    int failed, status; /* lowest item that failed, nitems: none */
    struct ss_error error;
};

int ss_pool_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n > SS_WORKERS_MAX ? SS_WORKERS_MAX : n;
}

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

/* ---- a worker ---- */

static void work_until_end(const struct ss_pool *pool, int fd)
{
    void *answer = ss_calloc(1, pool->size);
    int item;
    while (answer && !read_all(fd, &item, sizeof item)) {
        struct reply reply = {0};
        reply.status = pool->work(pool->ctx, item, answer, &reply.error);
        if (send_all(fd, &reply, sizeof reply) || (!reply.status && send_all(fd, answer, pool->size)))
            break;
    }
    _exit(0);
}

/* ---- the crew ---- */

static void dismiss(struct worker *w)
{
    if (!w->pid)
        return;
    close(w->fd);
    while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    w->pid = 0;
}

static int hire(struct crew *c, struct worker *w)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left to read */
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        for (int i = 0; i < c->nworkers;
             i++) /* else another worker's socket would outlive the caller's end */
            if (c->workers[i].pid)
                close(c->workers[i].fd);
        work_until_end(c->pool, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -1;
    }
    *w = (struct worker){.pid = pid, .fd = ends[0], .item = -1};
    return 0;
}

static void note_failure(struct crew *c, int item, int status, const struct ss_error *error)
{
    if (item >= c->failed)
        return;
    c->failed = item;
    c->status = status;
    c->error = *error;
}

static void count_answer(struct crew *c)
{
    c->done++;
    if (c->pool->told)
        c->pool->told(c->pool->told_ctx, c->done);
}

/* The item of a worker that died is dealt out again, for the machine may have killed it for reasons of its own. */
static void bury(struct crew *c, struct worker *w)
{
    int item = w->item;
    struct ss_error error = {0};
    dismiss(w);
    c->in_flight--;
    if (c->tries[item] < TRIES) {
        c->back[c->nback++] = item;
        return;
    }
    ss_fail(&error, SS_ERR_ENGINE, NULL, 0, "worker processes died at item %d of %d, one after another", item,
            c->pool->nitems);
    ss_hint(&error, SS_ERR_ENGINE, "this machine may be short of memory: take fewer of them");
    note_failure(c, item, SS_ERR_ENGINE, &error);
}

static void take_reply(struct crew *c, struct worker *w)
{
    struct reply reply;
    int item = w->item;
    char *answer = c->answers + (size_t)item * c->pool->size;
    if (read_all(w->fd, &reply, sizeof reply) || (!reply.status && read_all(w->fd, answer, c->pool->size))) {
        bury(c, w);
        return;
    }
    w->item = -1;
    c->in_flight--;
    if (reply.status)
        note_failure(c, item, reply.status, &reply.error);
    else
        count_answer(c);
}

/* Gives the worker an item, if there is one left; those beyond one that failed are not wanted any more. */
static int deal(struct crew *c, struct worker *w)
{
    int item = c->nback ? c->back[c->nback - 1] : c->next;
    if (item >= c->failed || (w->pid && w->item >= 0))
        return SS_OK;
    if (!w->pid && hire(c, w))
        return SS_ERR_ENGINE;
    if (c->nback)
        c->nback--;
    else
        c->next++;
    c->tries[item]++;
    c->in_flight++;
    w->item = item;
    send_all(w->fd, &item, sizeof item); /* where it has died the socket's end is read next */
    return SS_OK;
}

static void take_replies(struct crew *c)
{
    for (int i = 0; i < c->nworkers; i++) /* poll passes over negative ones */
        c->ready[i] = (struct pollfd){
            .fd = c->workers[i].pid && c->workers[i].item >= 0 ? c->workers[i].fd : -1, .events = POLLIN};
    if (poll(c->ready, (nfds_t)c->nworkers, -1) <= 0)
        return;
    for (int i = 0; i < c->nworkers; i++)
        if (c->ready[i].revents)
            take_reply(c, &c->workers[i]);
}

static int run_crew(struct crew *c, struct ss_error *err)
{
    for (;;) {
        int hired = 0;
        for (int i = 0; i < c->nworkers; i++) {
            int status = deal(c, &c->workers[i]);
            hired += c->workers[i].pid != 0;
            if (status && !hired)
                return ss_fail(err, status, NULL, 0, "cannot start a worker process: %s", strerror(errno));
        }
        if (c->in_flight == 0)
            break;
        take_replies(c);
    }
    if (c->failed < c->pool->nitems && err)
        *err = c->error;
    return c->status;
}

/* ---- without workers ---- */

static int run_here(struct crew *c, struct ss_error *err)
{
    for (int i = 0; i < c->pool->nitems; i++) {
        int status = c->pool->work(c->pool->ctx, i, c->answers + (size_t)i * c->pool->size, err);
        if (status)
            return status;
        count_answer(c);
    }
    return SS_OK;
}

int ss_pool_run(const struct ss_pool *pool, void *answers, struct ss_error *err)
{
    struct crew c = {.pool = pool, .answers = answers, .failed = pool->nitems};
    int status = SS_ERR_NOMEM;
    c.nworkers = pool->workers > 0 ? pool->workers : ss_pool_cores();
    c.nworkers = c.nworkers > SS_WORKERS_MAX ? SS_WORKERS_MAX : c.nworkers;
    c.nworkers = c.nworkers > pool->nitems ? pool->nitems : c.nworkers;
    if (c.nworkers <= 1)
        return run_here(&c, err);
    c.workers = ss_calloc((size_t)c.nworkers, sizeof *c.workers);
    c.ready = ss_calloc((size_t)c.nworkers, sizeof *c.ready);
    c.back = ss_calloc((size_t)c.nworkers, sizeof *c.back);
    c.tries = ss_calloc((size_t)pool->nitems, 1);
    if (c.workers && c.ready && c.back && c.tries) {
        fflush(NULL); /* else a worker that starts SimGrid would write our buffers a second time */
        status = run_crew(&c, err);
    } else {
        ss_fail(err, status, NULL, 0, "out of memory for %d worker processes", c.nworkers);
    }
    for (int i = 0; c.workers && i < c.nworkers; i++)
        dismiss(&c.workers[i]);
    free(c.workers);
    free(c.ready);
    free(c.back);
    free(c.tries);
    return status;
}
