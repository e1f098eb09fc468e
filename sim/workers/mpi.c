/* SPDX-License-Identifier: Apache-2.0 */
/* Messages by MPI. The file is a module, so that a program that was started without mpirun needs no MPI. */
#include "workers/mpi.h"
#include "base/leave.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Seconds after which a process that cannot leave with the others leaves alone; and seconds that it waits for
 * its last messages to arrive after a process has died. */
#define PATIENCE 20
#define PATIENCE_ALONE 3

struct sent {
    MPI_Request request;
    struct sent *next;
    char data[];
};

/* A message on its way in. A large message takes a while, as long as its sender lives, so nobody waits for
 * it. */
struct arriving {
    MPI_Request request;
    struct arriving *next;
    int from;
    size_t n;
    char data[];
};

static struct {
    struct ss_mpi functions;
    MPI_Comm comm;
    struct sent *sent;         /* messages whose arrival is not known */
    struct arriving *arriving; /* messages in the order in which they came */
    struct arriving *taken;    /* message that the caller has until the next call */
    int status;
} job;

static void free_arrived(void)
{
    for (struct sent **at = &job.sent; *at;) {
        struct sent *s = *at;
        int done = 0;
        if (MPI_Test(&s->request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free(s);
    }
}

static int send_copy(int to, const void *data, size_t n)
{
    struct sent *s = malloc(sizeof *s + n);
    if (s)
        memcpy(s->data, data, n);
    if (!s || MPI_Isend(s->data, (int)n, MPI_BYTE, to, 0, job.comm, &s->request) != MPI_SUCCESS) {
        free(s);
        return -1;
    }
    s->next = job.sent;
    job.sent = s;
    return 0;
}

/* Begins to receive every message that has been announced. */
static int receive_all(void)
{
    struct arriving **end = &job.arriving;
    while (*end)
        end = &(*end)->next;
    for (;;) {
        MPI_Status status;
        MPI_Message message;
        int there = 0, bytes = 0;
        if (MPI_Improbe(MPI_ANY_SOURCE, 0, job.comm, &there, &message, &status) != MPI_SUCCESS)
            return -1;
        if (!there)
            return 0;
        MPI_Get_count(&status, MPI_BYTE, &bytes);
        struct arriving *a = malloc(sizeof *a + (size_t)bytes);
        if (!a || MPI_Imrecv(a->data, bytes, MPI_BYTE, &message, &a->request) != MPI_SUCCESS) {
            free(a);
            return -1;
        }
        a->next = NULL;
        a->from = status.MPI_SOURCE;
        a->n = (size_t)bytes;
        *end = a;
        end = &a->next;
    }
}

/* Returns 1 when an earlier message of the same sender is not whole yet. */
static int is_behind(const struct arriving *a)
{
    for (const struct arriving *b = job.arriving; b != a; b = b->next)
        if (b->from == a->from)
            return 1;
    return 0;
}

static int take(int *from, const void **data, size_t *n)
{
    if (job.sent)
        free_arrived();
    free(job.taken);
    job.taken = NULL;
    if (receive_all())
        return -1;
    for (struct arriving **at = &job.arriving; *at; at = &(*at)->next) {
        struct arriving *a = *at;
        int done = 0;
        if (is_behind(a) || MPI_Test(&a->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
            continue;
        *at = a->next;
        job.taken = a;
        *from = a->from;
        *data = a->data;
        *n = a->n;
        return 1;
    }
    return 0;
}

static void leave_alone(int number)
{
    (void)number;
    ss_leave(job.status);
}

/* Returns whole seconds of a clock. A count of loop turns would not do: MPI may take long to answer where
 * others want the processor. */
static long seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long)now.tv_sec;
}

static void leave(int all_there, int status)
{
    long last = seconds() + (all_there ? PATIENCE : PATIENCE_ALONE);
    job.status = status;
    while (job.sent && seconds() <= last) {
        free_arrived();
        usleep(1000);
    }
    if (!all_there)
        return;
    signal(SIGALRM, leave_alone); /* a process that dies now would keep the others for ever */
    alarm(PATIENCE);
    MPI_Finalize();
    alarm(0);
    free(job.taken);
}

const struct ss_mpi *ss_mpi_join(void)
{
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS || MPI_Comm_dup(MPI_COMM_WORLD, &job.comm) != MPI_SUCCESS)
        return NULL;
    MPI_Comm_set_errhandler(job.comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(job.comm, &job.functions.rank);
    MPI_Comm_size(job.comm, &job.functions.size);
    job.functions.send = send_copy;
    job.functions.take = take;
    job.functions.leave = leave;
    return &job.functions;
}
