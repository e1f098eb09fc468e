/* SPDX-License-Identifier: Apache-2.0 */
/* Who does the many like pieces of work of a study, and where what is done outlives the process. None of it changes an answer. */
#ifndef STEPSIM_WORKERS_H
#define STEPSIM_WORKERS_H

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ss_team;

/* Zero is a process for each core of this machine, and no journal. */
struct ss_workers {
    /* Processes, at most 1,024; 0: one for each core that this process may use, of a team one; 1: all is done in this
     * process, unless there is a team. Each process of a team has as many. */
    int n;
    struct ss_team *team; /* processes of other machines; NULL: none */
    const char *journal;  /* path of a file that keeps each answer as soon as it is there; NULL: none */
    int resume;           /* 1: the journal may have answers already, which are not asked for again */
};

/*
 * Joins the processes that mpirun or srun started together with this one, which must all make the same calls: each goes the whole way,
 * they share the items that ss_find_run and ss_sweep_run deal out, and all end with the same answer. Only the first should write it.
 * *out is NULL where this process was started alone, or where STEPSIM_MPI is "off". Call it once in a process; the caller ends it with
 * ss_team_close. Errors: SS_ERR_UNSUPPORTED (the module that uses MPI is not there), SS_ERR_ENGINE (MPI failed).
 */
int ss_team_open(struct ss_team **out, struct ss_error *err);
/* Returns the number of this process, 0 is the first; 0 where there is no team. */
int ss_team_rank(const struct ss_team *team);
/*
 * Leaves the team, behind all output; `status` is the exit status of the process. *first, which may be NULL, is that of the first
 * one. Returns 0, or 1 where a process has died, so that MPI cannot be left in order: the caller must end by _exit. NULL is allowed.
 */
int ss_team_close(struct ss_team *team, int status, int *first);

#ifdef __cplusplus
}
#endif
#endif
