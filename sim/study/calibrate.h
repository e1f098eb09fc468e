/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `calibrate` share. */
#ifndef SS_STUDY_CALIBRATE_H
#define SS_STUDY_CALIBRATE_H

#include "stepsim/platform.h"
#include "study/study_internal.h"

/* ---- props.c ---- */
double ss_study_prop_get(const char *id, const struct ss_platform *p, const struct ss_stack *s);
int ss_study_prop_set(const char *id, double value, struct ss_platform *p, struct ss_stack *s,
                      struct ss_error *err);
/* Value with unit and four digits. */
const char *ss_study_prop_text(const char *id, double value, char *buf, size_t size);
/* Fills start value and missing bounds; refuses bounds outside the prop's own. */
int ss_study_prop_complete(struct ss_fit_prop *f, const struct ss_platform *p, const struct ss_stack *s,
                           struct ss_error *err);

/* ---- observations.c: what was measured, and its prediction for given props ---- */
enum ss_observation_kind { SS_OBSERVE_TIME, SS_OBSERVE_MEMORY, SS_OBSERVE_NCCL, SS_OBSERVE_TIMER };
struct ss_observation {
    int kind;
    int of_case;     /* TIME, MEMORY, TIMER: index into cases */
    int point;       /* NCCL */
    int fitted;      /* 0: only held against its prediction */
    double measured; /* s or bytes */
    char id[96];  /* TIMER: the timer's name */
    char key[96]; /* the group that --leave-out puts it in */
};
struct ss_observations {
    struct ss_cases cases;
    struct ss_case log_case; /* of --log, when has_log */
    int has_log;
    struct ss_nccl_log *nccl;
    struct ss_platform *nccl_platform;
    int nccl_nodes, nccl_ranks;
    int n, nskipped;
    size_t cap;
    struct ss_observation *list;
};
int ss_observations_load(const struct ss_calibrate_options *opt, struct ss_observations *out,
                         struct ss_notes *notes, struct ss_error *err);
void ss_observations_free(struct ss_observations *o);
/* Adds the memory of runs where a prop of memory is fitted. */
int ss_observations_add_memory(struct ss_observations *o, struct ss_error *err);
/* Case of an index in `of_case`; the last one is the log's. */
struct ss_case *ss_observations_case(struct ss_observations *o, int index);
/* Any platform and stack of the observations, for the start values. */
void ss_observations_first(struct ss_observations *o, const struct ss_platform **p,
                           const struct ss_stack **s);
/* predicted[n]; those with use[i] == 0 are left alone (use may be NULL: all). */
int ss_observations_predict(struct ss_observations *o, const struct ss_fit_prop *props, int nprops,
                            const double *x, const char *use, double *predicted, struct ss_error *err);

#endif
