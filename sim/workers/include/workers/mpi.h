/* SPDX-License-Identifier: Apache-2.0 */
/* What the module that uses MPI gives: messages between the processes of a job. It links nothing of stepsim. */
#ifndef SS_WORKERS_MPI_H
#define SS_WORKERS_MPI_H

#include <stddef.h>

#define SS_MPI_SYMBOL "ss_mpi_join"

struct ss_mpi {
    int rank, size;
    /* Sends a copy of data[n] to a process, n < 2^31, and does not wait for it to arrive. Returns 0, or -1. */
    int (*send)(int to, const void *data, size_t n);
    /* Takes a message that has come as a whole, which is valid until the next call; *from is who sent it, and those of one sender come in
     * their order. Returns 1, 0: none has come, or -1. */
    int (*take)(int *from, const void **data, size_t *n);
    /* Leaves the job; all processes must. Where some died (all_there 0) MPI can only be left behind: the caller must _exit. */
    void (*leave)(int all_there, int status);
};

/* Joins the job, once in a process. NULL: MPI failed. */
typedef const struct ss_mpi *ss_mpi_join_fn(void);
ss_mpi_join_fn ss_mpi_join;

#endif
