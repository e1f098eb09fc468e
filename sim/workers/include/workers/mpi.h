/* SPDX-License-Identifier: Apache-2.0 */
/* What the module that uses MPI offers: messages between the processes of a job. The module links nothing of
 * stepsim. */
#pragma once

#include <stddef.h>

#define SS_MPI_SYMBOL "ss_mpi_join"

struct ss_mpi {
    int rank, size;
    /* Sends a copy of data[n], n < 2^31, to a process and does not wait for its arrival. Returns 0 or -1. */
    int (*send)(int to, const void *data, size_t n);
    /* Takes a message that has arrived whole and is valid until the next call. *from is its sender; messages
     * of one sender come in their order. Returns 1, 0 for no message, or -1. */
    int (*take)(int *from, const void **data, size_t *n);
    /* Leaves the job; every process must call it. Where some died (all_there 0) MPI cannot be ended in order,
     * and the caller must _exit. */
    void (*leave)(int all_there, int status);
};

/* Joins the job; called once in a process. Returns NULL when MPI failed. */
typedef const struct ss_mpi *ss_mpi_join_fn(void);
ss_mpi_join_fn ss_mpi_join;
