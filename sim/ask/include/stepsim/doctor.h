/* SPDX-License-Identifier: Apache-2.0 */
/* What this installation and this machine can do: data, engines, modules, versions of libraries, and one job
 * on both engines. */
#pragma once

#include <stdio.h>

#include "stepsim/error.h"

SS_C_BEGIN

#define SS_CHECKS_MOST 12
/* The engines' times of one job differ by at most this, relative. */
#define SS_ENGINES_AGREE 1e-9

struct ss_check {
    const char *name; /* "data", "simgrid", "self-test" ... */
    int ok, needed;   /* needed 1: predictions fail without it; 0: one command or option does */
    char text[600];   /* what was found; or what is wrong, and what to do */
};
struct ss_doctor {
    int n;
    struct ss_check check[SS_CHECKS_MOST];
    int healthy; /* 1: all needed checks are ok */
};
/* Runs all checks, which takes a tenth of a second. A fault is a check that is not ok, not an error. It loads
 * the modules into this process. */
void ss_doctor_run(struct ss_doctor *out);
/* Writes what `stepsim doctor` prints, as text or as JSON. Error: SS_ERR_IO. */
int ss_doctor_write(const struct ss_doctor *d, int json, FILE *out, struct ss_error *err);

SS_C_END
