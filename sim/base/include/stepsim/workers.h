/* SPDX-License-Identifier: Apache-2.0 */
/* Who does the many like pieces of work of a study: processes of this machine. Their number changes no answer. */
#ifndef STEPSIM_WORKERS_H
#define STEPSIM_WORKERS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zero is a process for each core. */
struct ss_workers {
    int n; /* processes, at most 1,024; 0: one for each core that this process may use; 1: all is done in this process */
};

#ifdef __cplusplus
}
#endif
#endif
