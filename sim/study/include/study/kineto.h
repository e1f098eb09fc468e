/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the readers of Kineto and nsys traces share. */
#pragma once

#include <stdio.h>

#include "base/map.h"
#include "stepsim/kineto.h"

/* The purpose of a transfer: enum ss_label, or one of these where the trace does not say. */
enum ss_gpu_label { SS_GPU_UNNAMED = SS_LABEL_COUNT, SS_GPU_MESSAGE, SS_GPU_LABELS };

/* One kernel, copy or fill. */
struct ss_gpu_span {
    double start, end; /* s, from the trace's first moment */
    int name;          /* index into names; -1: the name is not needed */
    short device;
    signed char work;  /* enum ss_gpu_work */
    signed char label; /* for a transfer: enum ss_gpu_label */
};

/* A ProfilerStep# annotation. */
struct ss_gpu_step {
    double start, end;
    int on_gpu; /* 1: the annotation is on the GPU's time line */
};

struct ss_gpu_trace {
    struct ss_gpu_span *span;
    size_t n, cap;
    struct ss_gpu_step *step;
    size_t nsteps, step_cap;
    char (*names)[160]; /* the names of the kernels, each once */
    size_t nnames, name_cap;
    struct ss_map index; /* finds a name by its hash */
};
/* Adds a span and numbers its name. Returns 0 or SS_ERR_NOMEM. */
int ss_gpu_trace_add(struct ss_gpu_trace *t, const char *name, struct ss_gpu_span span);

/* Reads an open trace. The caller looks whether the stream failed. */
typedef int (*ss_trace_reader)(FILE *in, const char *name, struct ss_gpu_trace *t, struct ss_kineto *out,
                               struct ss_error *err);
/* Opens a file, gzipped or not, reads the trace and sums it up. */
int ss_trace_load(const char *path, ss_trace_reader reader, struct ss_kineto *out, struct ss_error *err);
/* Reads a trace from memory and sums it up. */
int ss_trace_parse(const char *text, unsigned long len, const char *name, ss_trace_reader reader,
                   struct ss_kineto *out, struct ss_error *err);

/* Returns the kind of a kernel by its name and, where that leaves it open, by the collective that PyTorch
 * writes beside it ("" or "_allgather_base"). */
int ss_kineto_kind(const char *name, const char *collective);
/* Returns the kind of a copy: "Memcpy DtoD (Device -> Device)". */
int ss_kineto_copy(const char *name);
/* Returns the label of a kernel of this kind of work (enum ss_gpu_label). `group` is the description
 * of its process group, or "". */
int ss_kineto_label(int work, const char *name, const char *group);
