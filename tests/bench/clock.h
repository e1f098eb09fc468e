/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds, for benches. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <math.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processor time of this thread. */
static inline double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* The clock, and what all programs of the machine have taken of its processors so far, s; NaN where nobody tells. */
struct machine {
    double at, busy;
};

static inline struct machine machine_now(void)
{
    double user, nice, system, idle, wait, hard, soft, stolen, ticks = (double)sysconf(_SC_CLK_TCK);
    FILE *in = fopen("/proc/stat", "r");
    int n = in ? fscanf(in, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle, &wait, &hard,
                        &soft, &stolen)
               : 0;
    if (in)
        fclose(in);
    return (struct machine){now(), n == 8 ? (user + nice + system + hard + soft + stolen) / ticks : NAN};
}

/* Per cent of the processors that other programs took since, where `own` s are of what is measured. */
static inline double others_share(struct machine since, double own)
{
    const struct machine m = machine_now();
    double share =
        100 * (m.busy - since.busy - own) / ((m.at - since.at) * (double)sysconf(_SC_NPROCESSORS_ONLN));
    return share < 0 ? 0 : share;
}

#endif
