/* SPDX-License-Identifier: Apache-2.0 */
/* Who does the many like pieces of work of a study, and where what is done outlives the process. None of it changes an answer. */
#ifndef STEPSIM_WORKERS_H
#define STEPSIM_WORKERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is a process for each core, and no journal. */
struct ss_workers {
    int n; /* processes, at most 1,024; 0: one for each core that this process may use; 1: all is done in this process */
    const char *journal; /* path of a file that keeps each answer as soon as it is there; NULL: none */
    int resume;          /* 1: the journal may have answers already, which are not asked for again */
};

#ifdef __cplusplus
}
#endif
#endif
