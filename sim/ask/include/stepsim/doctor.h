/* SPDX-License-Identifier: Apache-2.0 */
/* What this installation and this machine can do: data, engines, modules, versions of libraries, and a job on both engines. */
#ifndef STEPSIM_DOCTOR_H
#define STEPSIM_DOCTOR_H

#include <stdio.h>

#include "stepsim/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SS_CHECKS_MOST 12
/* The engines' times of the same job differ by no more than this, relative. */
#define SS_ENGINES_AGREE 1e-9

struct ss_check {
    const char *name; /* "data", "simgrid", "self-test" ... */
    int ok, needed;   /* needed 1: without it predictions fail; 0: one command or option does */
    char text[600];   /* what was found, or what is wrong and what to do */
};
struct ss_doctor {
    int n;
    struct ss_check check[SS_CHECKS_MOST];
    int healthy; /* 1: all that are needed are ok */
};
/* Looks; it takes a tenth of a second. What is wrong is a check that is not ok, not an error. It loads the modules into this process. */
void ss_doctor_run(struct ss_doctor *out);
/* Writes what `stepsim doctor` prints, as text or as JSON. Error: SS_ERR_IO. */
int ss_doctor_write(const struct ss_doctor *d, int json, FILE *out, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
