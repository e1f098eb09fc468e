/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times both engines on a synthetic interleaved 1F1B iteration.
 * bench_replay [native|simgrid|both] [stages] [chunks] [microbatches] [repeats]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stepsim/replay.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void *need(void *p)
{
    if (!p) {
        fputs("out of memory\n", stderr);
        exit(2);
    }
    return p;
}

/* Templates of a class: bit 0 = backward, bit 1 = receives, bit 2 = sends. */
static void make_template(struct ss_template *t, int stage, int stages, int kind)
{
    int backward = kind & 1, n = 0;
    int in = backward ? stages + (stage + 1) % stages : (stage + stages - 1) % stages;
    int out = backward ? stages + stage : stage;
    struct ss_event *e = t->events = need(calloc(8, sizeof *e));
    snprintf(t->name, sizeof t->name, "%s%d-%d", backward ? "B" : "F", stage, kind);
    if (kind & 2) {
        e[n++] = (struct ss_event){SS_EV_RECV, in, 0, 0};
        e[n++] = (struct ss_event){SS_EV_WAIT_RECV, in, 0, 0};
    }
    if (!backward)
        e[n++] = (struct ss_event){SS_EV_ALLOC, SS_MEM_ACTIVATIONS, 0, 1e8};
    e[n++] = (struct ss_event){SS_EV_COMPUTE, backward, 0, backward ? 2.1e-2 : 1e-2};
    if (kind & 4) {
        e[n++] = (struct ss_event){SS_EV_SEND, out, 0, 6.7e7};
        e[n++] = (struct ss_event){SS_EV_WAIT_SEND, out, 0, 0};
    }
    if (backward)
        e[n++] = (struct ss_event){SS_EV_FREE, SS_MEM_ACTIVATIONS, 0, 1e8};
    t->nevents = n;
}

static struct ss_program_slot make_slot(int stage, int stages, int chunks, int k, int backward)
{
    int chunk = k / stages % chunks, microbatch = k / (stages * chunks) * stages + k % stages;
    if (backward)
        chunk = chunks - 1 - chunk;
    int first = stage == 0 && chunk == 0, last = stage == stages - 1 && chunk == chunks - 1;
    int recv = backward ? !last : !first, send = backward ? !first : !last;
    return (struct ss_program_slot){8 * stage + backward + 2 * recv + 4 * send,
                                    backward ? SS_PHASE_B : SS_PHASE_F, chunk, microbatch};
}

static void make_class(struct ss_program_class *c, int stage, int stages, int chunks, int microbatches)
{
    int total = chunks * microbatches, n = 0, warm = (stages - stage - 1) * 2 + (chunks - 1) * stages;
    if (warm > total)
        warm = total;
    snprintf(c->name, sizeof c->name, "stage%d", stage);
    c->stage = stage;
    c->count = 1;
    c->nslots = 2 * total;
    c->slots = need(calloc((size_t)c->nslots, sizeof *c->slots));
    for (int k = 0; k < warm; k++)
        c->slots[n++] = make_slot(stage, stages, chunks, k, 0);
    for (int k = warm; k < total; k++) {
        c->slots[n++] = make_slot(stage, stages, chunks, k, 0);
        c->slots[n++] = make_slot(stage, stages, chunks, k - warm, 1);
    }
    for (int k = total - warm; k < total; k++)
        c->slots[n++] = make_slot(stage, stages, chunks, k, 1);
}

static struct ss_program *make(int stages, int chunks, int microbatches)
{
    struct ss_program *p = need(calloc(1, sizeof *p));
    size_t n = (size_t)stages;
    snprintf(p->name, sizeof p->name, "bench");
    p->memory_overhead_factor = 1;
    p->nclasses = stages;
    p->nlinks = 2 * stages;
    p->npaths = p->nchannels = 2 * stages;
    p->ntemplates = 8 * stages;
    p->nmixes = 2;
    p->links = need(calloc(2 * n, sizeof *p->links));
    p->paths = need(calloc(2 * n, sizeof *p->paths));
    p->channels = need(calloc(2 * n, sizeof *p->channels));
    p->templates = need(calloc(8 * n, sizeof *p->templates));
    p->mixes = need(calloc(2, sizeof *p->mixes));
    p->classes = need(calloc(n, sizeof *p->classes));
    p->mixes[0].fraction[SS_LABEL_COMPUTE] = 0.9;
    p->mixes[0].fraction[SS_LABEL_TP] = 0.1;
    p->mixes[1].fraction[SS_LABEL_COMPUTE] = 0.7;
    p->mixes[1].fraction[SS_LABEL_RECOMPUTE] = 0.2;
    p->mixes[1].fraction[SS_LABEL_TP] = 0.1;
    for (int s = 0; s < stages; s++) {
        for (int back = 0; back < 2; back++) {
            int i = back * stages + s, to = back ? (s + stages - 1) % stages : (s + 1) % stages;
            snprintf(p->links[i].name, sizeof p->links[i].name, "nic%d.%s", s, back ? "down" : "up");
            p->links[i].bandwidth = 2.5e10;
            /* up of the sender, down of the receiver */
            p->paths[i] = (struct ss_path){2, {s, stages + to}, {1, 1}};
            p->channels[i] = (struct ss_channel){s, to, back, 0, i, 8e-6, 0};
        }
        for (int kind = 0; kind < 8; kind++)
            make_template(&p->templates[8 * s + kind], s, stages, kind);
        make_class(&p->classes[s], s, stages, chunks, microbatches);
    }
    return p;
}

static void destroy(struct ss_program *p)
{
    for (int i = 0; i < p->ntemplates; i++)
        free(p->templates[i].events);
    for (int i = 0; i < p->nclasses; i++)
        free(p->classes[i].slots);
    free(p->links);
    free(p->paths);
    free(p->channels);
    free(p->templates);
    free(p->mixes);
    free(p->classes);
    free(p);
}

static int measure(const struct ss_program *p, int engine, int repeats)
{
    double best = 1e300;
    struct ss_timeline *t = NULL;
    struct ss_error err = {0};
    for (int i = 0; i < repeats; i++) {
        ss_timeline_free(t);
        double start = now_ms();
        if (ss_timeline_replay(p, engine, &t, &err)) {
            fprintf(stderr, "%s: %s: %s\n", ss_engine_name(engine), err.message, err.hint);
            return 1;
        }
        double ms = now_ms() - start;
        best = ms < best ? ms : best;
    }
    printf("%-8s %8.2f ms  iteration %.12g s  %lld events\n", ss_engine_name(engine), best, t->iteration_s,
           (long long)t->events);
    ss_timeline_free(t);
    return 0;
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "both";
    int stages = argc > 2 ? atoi(argv[2]) : 8, chunks = argc > 3 ? atoi(argv[3]) : 5;
    int microbatches = argc > 4 ? atoi(argv[4]) : 1024, repeats = argc > 5 ? atoi(argv[5]) : 3, rc = 0;
    ss_simgrid_load(NULL);
    if (stages < 2 || chunks < 1 || microbatches < stages || microbatches % stages || repeats < 1) {
        fputs("stages >= 2, chunks >= 1, microbatches a multiple of stages, repeats >= 1\n", stderr);
        return 2;
    }
    struct ss_program *p = make(stages, chunks, microbatches);
    if (strcmp(which, "simgrid"))
        rc |= measure(p, SS_ENGINE_NATIVE, repeats);
    if (strcmp(which, "native"))
        rc |= measure(p, SS_ENGINE_SIMGRID, repeats);
    destroy(p);
    return rc;
}
