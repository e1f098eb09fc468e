/* SPDX-License-Identifier: Apache-2.0 */
/* Who does the many like pieces of work of a study, and which file keeps the answers when the process ends
 * early. Neither changes an answer. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

struct ss_team;

/* All 0: one process for each core of this machine, and no journal. */
struct ss_workers {
    /* Number of processes, at most 1,024, in each process of a team. 0: one for each core that this process
     * may use, but one in a team. 1: this process does all work, unless there is a team. */
    int n;
    struct ss_team *team; /* processes of other machines; NULL: none */
    const char *journal;  /* path of a file that keeps each answer as soon as it is known; NULL: none */
    int resume;           /* 1: the journal may hold answers already, which are not computed again */
    /* Asked in this process between two pieces of work, and each tenth of a second while others work: 1 ends the
     * study with SS_ERR_STOPPED. NULL: nobody stops it. */
    int (*stop)(void *ctx);
    void *stop_ctx;
};

/*
 * Joins the processes that mpirun or srun started together with this one. All of them must make the same
 * calls: each walks the whole way, they share the items that ss_find_run and ss_sweep_run deal out, and all
 * end with the same answer. Only the first process should write the answer. *out is NULL where this process
 * was started alone, or where STEPSIM_MPI is "off". Call it once in a process; the caller ends it with
 * ss_team_close. Errors: SS_ERR_UNSUPPORTED (the module that uses MPI is missing), SS_ERR_ENGINE (MPI
 * failed).
 */
int ss_team_open(struct ss_team **out, struct ss_error *err);
/* Returns the number of this process in the team, from 0; 0 where there is no team. */
int ss_team_rank(const struct ss_team *team);
/*
 * Leaves the team after all output; `status` is the exit status of this process. *first, which may be NULL,
 * gets the exit status of the first process. Returns 0, or 1 where a process has died: MPI then cannot be
 * left in order, and the caller must end by _exit. NULL is allowed.
 */
int ss_team_close(struct ss_team *team, int status, int *first);

SS_C_END
