/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace like those of PyTorch's profiler, so that Perfetto shows both alike and one query finds
 * both. A device is a class of ranks, kernels have the names of their libraries where there is a counterpart,
 * and process groups have Megatron-LM's names. */
#include "report/trace_kineto.h"

#include "base/base.h"
#include "report/follow.h"
#include "report/names.h"
#include "report/trace_kernels.h"
#include "stepsim/compute.h"

/* Streams as PyTorch numbers them: 7 is its first, and those that NCCL gets follow. */
enum { STREAM_COMPUTE = 7, STREAM_SEND = 20, STREAM_RECV = 21, STREAM_COLLECTIVE = 24 };

struct lane {
    int slot; /* -1: none yet */
    double start, end;
};

struct ss_kineto_trace {
    const struct ss_program *p;
    struct ss_trace_writer w;
    double from, to;
    struct ss_follow follow;
    struct ss_kernel_rows *kernels; /* NULL: no kernels are known */
    struct lane *lane;
};

/* ---- events ---- */

/* Begins an event and its args, which the caller ends with "}}". Returns 0 if the event is outside the
 * window. */
static int begin(struct ss_kineto_trace *t, const char *category, const char *name, int cls, int stream,
                 double start, double end)
{
    if (!(end > start) || end < t->from || start > t->to)
        return 0;
    fprintf(t->w.out, "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", t->w.nevents++ ? ",\n" : "", category);
    ss_put_json_text(name, t->w.out);
    fprintf(t->w.out, ",\"pid\":%d,\"tid\":%d,\"ts\":", cls, stream);
    ss_trace_us(&t->w, start);
    ss_trace_duration(&t->w, start, end);
    fprintf(t->w.out, ",\"args\":{\"device\":%d,\"stream\":%d", cls, stream);
    return 1;
}

static void finish(struct ss_kineto_trace *t)
{
    fputs("}}", t->w.out);
}

static void number_arg(struct ss_kineto_trace *t, const char *key, double value)
{
    fprintf(t->w.out, ",\"%s\":", key);
    ss_put_number(value, 0, t->w.out);
}

static void text_arg(struct ss_kineto_trace *t, const char *key, const char *value)
{
    fprintf(t->w.out, ",\"%s\":", key);
    ss_put_json_text(value, t->w.out);
}

/* ---- kernels ---- */

static const char *family_of(const struct ss_step *s)
{
    if (s->op_kind && strstr(s->op_kind, "gemm"))
        return "gemm";
    if (s->part == SS_PART_ATTENTION)
        return s->phase == SS_PHASE_F ? "flash_fwd_kernel" : "flash_bwd_kernel";
    return s->part == SS_PART_LOSS ? "loss_gemm" : "elementwise_kernel";
}

static void put_kernel(void *ctx, int cls, int slot, const struct ss_step *s, double start, double end)
{
    struct ss_kineto_trace *t = ctx;
    char name[128];

    (void)slot;
    snprintf(name, sizeof name, "%s: %s", family_of(s), s->op ? s->op : ss_part_words(s->part));
    if (!begin(t, "kernel", name, cls, STREAM_COMPUTE, start, end))
        return;
    number_arg(t, "flop", s->flops);
    number_arg(t, "bytes", s->bytes);
    finish(t);
}

/* Returns Megatron-LM's name of a group; NULL: it has none. */
static const char *group_of(int label)
{
    switch (label) {
    case SS_LABEL_TP: return "TENSOR_MODEL_PARALLEL_GROUP";
    case SS_LABEL_CP: return "CONTEXT_PARALLEL_GROUP";
    case SS_LABEL_EP: return "EXPERT_MODEL_PARALLEL_GROUP";
    case SS_LABEL_DP: return "DATA_PARALLEL_GROUP_WITH_CP";
    case SS_LABEL_PP: return "PIPELINE_MODEL_PARALLEL_GROUP";
    case SS_LABEL_OPTIMIZER: return "MODEL_PARALLEL_GROUP";
    default: return NULL;
    }
}

/* Divides a computation whose kernels are not known by its mix: work of kernels, of the optimizer, and
 * waiting for collectives. */
static void put_mix(struct ss_kineto_trace *t, int cls, const char *slot, const struct ss_mix *mix,
                    double start, double end)
{
    double at = start;

    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        double next = at + mix->fraction[l] * (end - start);
        char name[128];
        int works = l == SS_LABEL_COMPUTE || l == SS_LABEL_RECOMPUTE || l == SS_LABEL_SPREAD;
        if (works || l == SS_LABEL_OPTIMIZER)
            snprintf(name, sizeof name, "%s: %s", works ? "kernels" : "multi_tensor_apply_kernel", slot);
        else
            snprintf(name, sizeof name, "ncclDevKernel_Generic: %s", ss_label_name(l));
        if ((works || group_of(l)) && begin(t, "kernel", name, cls, STREAM_COMPUTE, at, next)) {
            if (!works && l != SS_LABEL_OPTIMIZER)
                text_arg(t, "Process Group Description", group_of(l));
            finish(t);
        }
        at = next;
    }
}

/* ---- what the replay tells ---- */

static void close_slot(struct ss_kineto_trace *t, int cls)
{
    struct lane *l = &t->lane[cls];
    char name[64];

    if (l->slot >= 0 && begin(t, "gpu_user_annotation", ss_slot_name(t->p, cls, l->slot, name, sizeof name),
                              cls, STREAM_COMPUTE, l->start, l->end))
        finish(t);
    l->slot = -1;
}

static void on_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct ss_kineto_trace *t = ctx;
    struct lane *l = &t->lane[cls];
    const struct ss_event *e = ss_place_event(t->p, cls, slot, event);
    char name[64];

    (void)busy_from;
    if (e->kind != SS_EV_COMPUTE)
        return;
    if (slot != l->slot) {
        close_slot(t, cls);
        *l = (struct lane){slot, start, end};
    }
    l->end = end;
    if (t->kernels && t->p->classes[cls].slots[slot].phase >= 0)
        ss_kernel_rows_span(t->kernels, cls, slot, event, start, end);
    else
        put_mix(t, cls, ss_slot_name(t->p, cls, slot, name, sizeof name), &t->p->mixes[e->index], start, end);
}

static void put_message(struct ss_kineto_trace *t, int cls, int stream, const char *what, double start,
                        double end, double bytes)
{
    if (!begin(t, "kernel", "ncclDevKernel_SendRecv", cls, stream, start, end))
        return;
    text_arg(t, "Collective name", what);
    text_arg(t, "Process Group Description", group_of(SS_LABEL_PP));
    number_arg(t, "bytes", bytes);
    finish(t);
}

/* Returns the kernel of a collective, and sets PyTorch's name for it. */
static const char *kernel_of(const struct ss_collective *c, const char **collective)
{
    *collective = "";
    switch (c->kind - 1) {
    case SS_COLL_ALL_GATHER: *collective = "_allgather_base"; return "ncclDevKernel_AllGather";
    case SS_COLL_REDUCE_SCATTER: *collective = "_reduce_scatter_base"; return "ncclDevKernel_ReduceScatter";
    case SS_COLL_ALL_REDUCE: *collective = "allreduce"; return "ncclDevKernel_AllReduce";
    case SS_COLL_ALL_TO_ALL:
    case SS_COLL_ALL_TO_ALL_BACK: *collective = "all_to_allv"; return "ncclDevKernel_SendRecv";
    case SS_COLL_RING_STEP: *collective = "send"; return "ncclDevKernel_SendRecv";
    case SS_COLL_DISPATCH: return "deep_ep::dispatch";
    case SS_COLL_COMBINE: return "deep_ep::combine";
    default: return "ncclDevKernel_Generic";
    }
}

static void put_collective(struct ss_kineto_trace *t, const struct ss_collective *c, int cls, int stream,
                           double start, double end)
{
    const char *collective, *kernel = kernel_of(c, &collective);
    int copies = c->label == SS_LABEL_OFFLOAD;

    if (!begin(t, copies ? "gpu_memcpy" : "kernel", copies ? "Memcpy DtoH (Device -> Pinned)" : kernel, cls,
               STREAM_COLLECTIVE + stream, start, end))
        return;
    if (collective[0])
        text_arg(t, "Collective name", collective);
    if (group_of(c->label))
        text_arg(t, "Process Group Description", group_of(c->label));
    text_arg(t, "stepsim", c->name);
    number_arg(t, "bytes", c->bytes);
    finish(t);
}

static void on_transfer(void *ctx, int channel, int collective, double start, double end, double bytes)
{
    struct ss_kineto_trace *t = ctx;
    struct ss_place post;

    if (channel >= 0) {
        put_message(t, t->p->channels[channel].from, STREAM_SEND, "send", start, end, bytes);
        put_message(t, t->p->channels[channel].to, STREAM_RECV, "recv", start, end, bytes);
        return;
    }
    const struct ss_collective *c = &t->p->collectives[collective];
    for (int i = 0; i < c->nmembers; i++) {
        int stream = ss_follow_post(&t->follow, c->members[i], collective, &post);
        put_collective(t, c, c->members[i], stream < 0 ? 0 : stream, start, end);
    }
}

/* ---- the document ---- */

static void put_title(struct ss_kineto_trace *t, const char *what, int cls, int stream, const char *name)
{
    fprintf(t->w.out, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":",
            t->w.nevents++ ? ",\n" : "", cls, stream, what);
    ss_put_json_text(name, t->w.out);
    fputs("}}", t->w.out);
}

static void put_names(struct ss_kineto_trace *t, int cls)
{
    char name[128];

    put_title(t, "process_name", cls, 0, ss_class_name(t->p, cls, name, sizeof name));
    put_title(t, "thread_name", cls, STREAM_COMPUTE, "stream 7");
    put_title(t, "thread_name", cls, STREAM_SEND, "stream 20: sends");
    put_title(t, "thread_name", cls, STREAM_RECV, "stream 21: receives");
    for (int s = 0; s < t->p->classes[cls].nstreams; s++) {
        snprintf(name, sizeof name, "stream %d", STREAM_COLLECTIVE + s);
        put_title(t, "thread_name", cls, STREAM_COLLECTIVE + s, name);
    }
    t->lane[cls].slot = -1;
}

int ss_kineto_trace_begin(const struct ss_program *p, const struct ss_plan *plan, double window_start,
                          double window_end, FILE *out, struct ss_kineto_trace **trace,
                          struct ss_observer *observer)
{
    struct ss_kineto_trace *t = ss_calloc(1, sizeof *t);

    if (!t)
        return SS_ERR_NOMEM;
    t->p = p;
    t->w.out = out;
    t->from = window_start;
    t->to = window_end;
    t->lane = ss_calloc((size_t)p->nclasses + 1, sizeof *t->lane);
    if (!t->lane || ss_follow_init(&t->follow, p) ||
        ss_kernel_rows_tell(p, plan, put_kernel, t, &t->kernels)) {
        ss_kineto_trace_free(t);
        return SS_ERR_NOMEM;
    }
    fputs("{\"schemaVersion\":1,\"displayTimeUnit\":\"ms\",\"traceName\":", out);
    ss_put_json_text(p->name, out);
    fprintf(out, ",\"stepsim\":\"%s\",\n\"traceEvents\":[\n", ss_version());
    for (int c = 0; c < p->nclasses; c++)
        put_names(t, c);
    *trace = t;
    *observer = (struct ss_observer){t, on_span, on_transfer, NULL};
    return SS_OK;
}

void ss_kineto_trace_end(struct ss_kineto_trace *t, double makespan)
{
    int host = t->p->nclasses;

    for (int c = 0; c < t->p->nclasses; c++)
        close_slot(t, c);
    put_title(t, "process_name", host, 0, "host");
    if (begin(t, "user_annotation", "ProfilerStep#0", host, 0, 0, makespan))
        finish(t);
    fputs("\n]}\n", t->w.out);
}

void ss_kineto_trace_free(struct ss_kineto_trace *t)
{
    if (!t)
        return;
    ss_follow_free(&t->follow);
    ss_kernel_rows_free(t->kernels);
    SS_FREE(t->lane, t);
}
