/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores whose clock counts instructions: a library that workers.py loads into stepsim under callgrind. Workers run one after the other
 * whatever the machine does, but answers come in the order in which they would on cores of their own, and a worker begins an item when
 * the item was sent and the one before it is done. $CORES_FOLDER has the profiles of callgrind and gets a file `way`: million
 * instructions until the end, of the first process, and of all workers.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { SOCKETS = 4096, QUEUE = 64 };

/* A worker, by the socket of the first process. */
static struct worker {
    pid_t pid; /* 0: none */
    int n, ready;
    int item[QUEUE];
    double sent[QUEUE], free, done; /* sent: < 0 until the first process waits */
} workers[SOCKETS];

static pid_t first;
static int hired, dumped; /* hired: the last socket pair's; dumped: this worker has told what its item took */
static double now, alone, all;

/* The C library's functions, found once, so that workers are not counted with the search for them. */
static int (*real_socketpair)(int, int, int, int *);
static pid_t (*real_fork)(void);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_send)(int, const void *, size_t, int);
static int (*real_poll)(struct pollfd *, nfds_t, int);

/* Takes the profile of a process that was dumped, as soon as all of it is there. Returns million instructions. */
static double take(pid_t pid)
{
    const char *folder = getenv("CORES_FOLDER");
    char text[2001], path[1024], start[32];
    double sum = 0;
    snprintf(start, sizeof start, "%d.", (int)pid);
    for (int found = 0; !found; usleep(1000)) {
        DIR *d = opendir(folder);
        for (struct dirent *e; d && (e = readdir(d));) {
            if (strncmp(e->d_name, start, strlen(start)) != 0)
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            FILE *f = fopen(path, "r");
            if (!f)
                continue;
            if (fseek(f, -2000, SEEK_END))
                rewind(f);
            text[fread(text, 1, 2000, f)] = 0;
            fclose(f);
            const char *total = strstr(text, "totals: ");
            if (!total)
                continue;
            sum += atof(total + 8) * 1e-6;
            unlink(path);
            found = 1;
        }
        if (d)
            closedir(d);
    }
    return sum;
}

/* Moves the clock by what the first process did since it was moved last. Nothing is counted until collecting goes on. */
static void move_clock(void)
{
    CALLGRIND_DUMP_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    double took = take(first);
    now += took;
    alone += took;
}

static void end(void)
{
    char path[1024];
    if (getpid() != first)
        return;
    move_clock();
    snprintf(path, sizeof path, "%s/way", getenv("CORES_FOLDER"));
    FILE *f = fopen(path, "w");
    if (f)
        fprintf(f, "%.3f %.3f %.3f\n", now, alone, all);
    if (f)
        fclose(f);
}

__attribute__((constructor)) static void begin(void)
{
    real_socketpair = dlsym(RTLD_NEXT, "socketpair");
    real_fork = dlsym(RTLD_NEXT, "fork");
    real_read = dlsym(RTLD_NEXT, "read");
    real_send = dlsym(RTLD_NEXT, "send");
    real_poll = dlsym(RTLD_NEXT, "poll");
    first = getpid();
    atexit(end);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    int rc = real_socketpair(domain, type, protocol, ends);
    if (!rc && getpid() == first && ends[0] < SOCKETS) {
        memset(&workers[ends[0]], 0, sizeof *workers);
        hired = ends[0];
    }
    return rc;
}

pid_t fork(void)
{
    pid_t pid = real_fork();
    if (pid > 0 && hired && getpid() == first)
        workers[hired] = (struct worker){.pid = pid, .free = now};
    hired = 0;
    return pid;
}

/* A worker begins an item. */
ssize_t read(int fd, void *data, size_t n)
{
    dumped = dumped && n != sizeof(int);
    return real_read(fd, data, n);
}

ssize_t send(int fd, const void *data, size_t n, int flags)
{
    if (getpid() != first && !dumped) {
        dumped = 1;
        CALLGRIND_DUMP_STATS;
    }
    if (getpid() != first || fd >= SOCKETS || !workers[fd].pid || n != sizeof(int))
        return real_send(fd, data, n, flags);
    struct worker *w = &workers[fd];
    if (w->n == QUEUE)
        abort();
    memcpy(&w->item[w->n], data, n);
    w->sent[w->n++] = -1;
    return (ssize_t)n;
}

/* Lets a worker do its first item, and sets when that is done. */
static void run(int fd, struct worker *w)
{
    struct pollfd reply = {.fd = fd, .events = POLLIN};
    w->sent[0] = w->sent[0] < 0 ? now : w->sent[0];
    real_send(fd, &w->item[0], sizeof w->item[0], MSG_NOSIGNAL);
    real_poll(&reply, 1, -1);
    double took = take(w->pid);
    all += took;
    w->done = (w->free > w->sent[0] ? w->free : w->sent[0]) + took;
    w->ready = 1;
}

static void drop(struct worker *w)
{
    w->free = w->done;
    w->ready = 0;
    w->n--;
    memmove(w->item, w->item + 1, (size_t)w->n * sizeof *w->item);
    memmove(w->sent, w->sent + 1, (size_t)w->n * sizeof *w->sent);
}

int poll(struct pollfd *ready, nfds_t n, int ms)
{
    int any = 0, told = 0;
    for (nfds_t i = 0; i < n && getpid() == first; i++)
        any |= ready[i].fd >= 0 && ready[i].fd < SOCKETS && workers[ready[i].fd].n > 0;
    if (!any)
        return real_poll(ready, n, ms);
    move_clock();
    double next = -1;
    for (nfds_t i = 0; i < n; i++) {
        struct worker *w = ready[i].fd < 0 ? NULL : &workers[ready[i].fd];
        ready[i].revents = 0;
        for (int k = 0; w && k < w->n; k++)
            w->sent[k] = w->sent[k] < 0 ? now : w->sent[k];
        if (w && w->n && !w->ready)
            run(ready[i].fd, w);
        if (w && w->n && (next < 0 || w->done < next))
            next = w->done;
    }
    now = next > now ? next : now;
    for (nfds_t i = 0; i < n; i++) {
        struct worker *w = ready[i].fd < 0 ? NULL : &workers[ready[i].fd];
        if (!w || !w->n || w->done > now)
            continue;
        ready[i].revents = POLLIN;
        drop(w);
        told++;
    }
    CALLGRIND_TOGGLE_COLLECT;
    return told;
}
