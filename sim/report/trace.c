/* SPDX-License-Identifier: Apache-2.0 */
/* The Trace Event Format of Chrome's tracing and Perfetto: a process is a class of ranks, a thread one of its
 * streams (docs/reference/formats.md "Traces"). Times are microseconds with six decimals, so that spans of a
 * long run still sum to the breakdown. */
#include "report/trace.h"

#include "base/base.h"
#include "report/follow.h"
#include "report/names.h"
#include "report/trace_kernels.h"

/* An arrow on its way to the work that needs the message. */
struct arrow {
    struct ss_place until; /* the arrow ends at the first work behind this place */
    int id;
};

struct lane {
    /* the present slot: its first computation is held back until it is known whether it is the only one */
    int slot, ncompute, held_event;
    double slot_start, slot_end, last_end;
    double memory_time;
    unsigned dirty; /* classes of memory that changed at memory_time */
    double memory[SS_MEM_COUNT];
    struct arrow *arrows;
    size_t narrows, cap;
};

struct ss_trace {
    const struct ss_program *p;
    struct ss_trace_writer w;
    double from, to;
    struct ss_follow follow;
    struct ss_kernel_rows *kernels; /* NULL: no kernels are known */
    struct lane *lane;
    int *send_lane; /* [channel]: number among the class's outgoing channels */
    int arrows, failed;
};

static int outside(const struct ss_trace *t, double start, double end)
{
    return end < t->from || start > t->to;
}

/* Writes {"phase":"F","microbatch":3,"chunk":1 */
static void put_slot(struct ss_trace *t, int cls, int slot)
{
    const struct ss_program_slot *s = &t->p->classes[cls].slots[slot];

    fprintf(t->w.out, ",\"args\":{\"slot\":%d", slot);
    if (s->phase >= 0)
        fprintf(t->w.out, ",\"phase\":\"%s\",\"microbatch\":%d,\"chunk\":%d", ss_phase_name(s->phase),
                s->microbatch, s->chunk);
}

static void put_mix(struct ss_trace *t, const struct ss_mix *mix, double start, double end)
{
    int first = 1;

    fputs(",\"us\":{", t->w.out);
    for (int l = 0; l < SS_LABEL_COUNT; l++) {
        if (!(mix->fraction[l] > 0))
            continue;
        fprintf(t->w.out, "%s\"%s\":", first ? "" : ",", ss_label_name(l));
        ss_trace_us(&t->w, mix->fraction[l] * (end - start));
        first = 0;
    }
    fputs("}}}", t->w.out);
}

static void put_compute(struct ss_trace *t, int cls, int slot, int event, const char *name, double start,
                        double end)
{
    const struct ss_event *e = ss_place_event(t->p, cls, slot, event);

    ss_trace_event(&t->w, 'X', cls, SS_TID_MAIN, start);
    ss_trace_duration(&t->w, start, end);
    ss_trace_name(&t->w, name, "run");
    put_slot(t, cls, slot);
    put_mix(t, &t->p->mixes[e->index], start, end);
}

/* Closes a slot. With one computation it is one slice; with several, a slice around theirs. */
static void close_slot(struct ss_trace *t, int cls)
{
    struct lane *l = &t->lane[cls];
    char name[64];

    if (l->ncompute == 0)
        return;
    ss_slot_name(t->p, cls, l->slot, name, sizeof name);
    if (l->ncompute == 1 && !outside(t, l->slot_start, l->slot_end)) {
        put_compute(t, cls, l->slot, l->held_event, name, l->slot_start, l->slot_end);
    } else if (!outside(t, l->slot_start, l->slot_end)) {
        ss_trace_event(&t->w, 'X', cls, SS_TID_MAIN, l->slot_start);
        ss_trace_duration(&t->w, l->slot_start, l->slot_end);
        ss_trace_name(&t->w, name, "slot");
        put_slot(t, cls, l->slot);
        fputs("}}", t->w.out);
    }
    l->ncompute = 0;
}

/* Returns the label with the largest share, which names a part of a slot. */
static const char *mix_name(const struct ss_mix *mix)
{
    int best = 0;

    for (int l = 1; l < SS_LABEL_COUNT; l++)
        if (mix->fraction[l] > mix->fraction[best])
            best = l;
    return ss_label_name(best);
}

static void put_part(struct ss_trace *t, int cls, int slot, int event, double start, double end)
{
    const struct ss_event *e = ss_place_event(t->p, cls, slot, event);

    if (!outside(t, start, end))
        put_compute(t, cls, slot, event, mix_name(&t->p->mixes[e->index]), start, end);
}

static void put_wait(struct ss_trace *t, int cls, int slot, const char *label, const char *category,
                     double start, double end)
{
    struct ss_mix mix = {{0}};

    if (!(end > start) || outside(t, start, end))
        return;
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        mix.fraction[l] = !strcmp(label, ss_label_name(l));
    ss_trace_event(&t->w, 'X', cls, SS_TID_MAIN, start);
    ss_trace_duration(&t->w, start, end);
    ss_trace_name(&t->w, category[0] == 'i' ? "idle" : label, category);
    put_slot(t, cls, slot);
    put_mix(t, &mix, start, end);
}

/* Ends the arrows whose message is needed by now. */
static void end_arrows(struct ss_trace *t, int cls, int slot, int event, double start, double end)
{
    struct lane *l = &t->lane[cls];
    size_t kept = 0;

    for (size_t i = 0; i < l->narrows; i++) {
        struct arrow a = l->arrows[i];
        if (slot < a.until.slot || (slot == a.until.slot && event < a.until.event)) {
            l->arrows[kept++] = a;
        } else if (!outside(t, start, end)) {
            ss_trace_event(&t->w, 'f', cls, SS_TID_MAIN, start);
            ss_trace_name(&t->w, "message", "send");
            fprintf(t->w.out, ",\"bp\":\"e\",\"id\":%d}", a.id);
        }
    }
    l->narrows = kept;
}

static void compute_span(struct ss_trace *t, int cls, int slot, int event, double start, double end)
{
    struct lane *l = &t->lane[cls];

    ss_kernel_rows_span(t->kernels, cls, slot, event, start, end);

    if (l->ncompute == 1)
        put_part(t, cls, l->slot, l->held_event, l->slot_start, l->slot_end);
    if (l->ncompute >= 1)
        put_part(t, cls, slot, event, start, end);
    else
        l->slot_start = start;
    l->held_event = event;
    l->slot_end = end;
    l->ncompute++;
    end_arrows(t, cls, slot, event, start, end);
}

static void on_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    struct ss_trace *t = ctx;
    struct lane *l = &t->lane[cls];

    if (slot != l->slot)
        close_slot(t, cls);
    l->slot = slot;
    l->last_end = end;
    if (ss_place_event(t->p, cls, slot, event)->kind == SS_EV_COMPUTE) {
        compute_span(t, cls, slot, event, start, end);
        return;
    }
    const char *label = ss_label_name(ss_follow_label(&t->follow, cls, slot, event));
    put_wait(t, cls, slot, ss_label_name(SS_LABEL_BUBBLE), "idle", start, busy_from);
    put_wait(t, cls, slot, label, "wait", busy_from, end);
}

static void put_message(struct ss_trace *t, int channel, struct ss_place send, int id, double start,
                        double end, double bytes)
{
    const struct ss_channel *c = &t->p->channels[channel];
    char name[64];

    ss_trace_event(&t->w, 'X', c->from, SS_TID_SEND + t->send_lane[channel], start);
    ss_trace_duration(&t->w, start, end);
    ss_trace_name(&t->w, send.slot < 0 ? "send" : ss_slot_name(t->p, c->from, send.slot, name, sizeof name),
                  "send");
    fputs(",\"args\":{\"to\":", t->w.out);
    ss_put_json_text(t->p->classes[c->to].name, t->w.out);
    fputs(",\"bytes\":", t->w.out);
    ss_put_number(bytes, 0, t->w.out);
    fputs("}}", t->w.out);
    ss_trace_event(&t->w, 's', c->from, SS_TID_SEND + t->send_lane[channel], start);
    ss_trace_name(&t->w, "message", "send");
    fprintf(t->w.out, ",\"id\":%d}", id);
}

static void message(struct ss_trace *t, int channel, double start, double end, double bytes)
{
    struct lane *l = &t->lane[t->p->channels[channel].to];
    struct ss_place send, recv;

    ss_follow_message(&t->follow, channel, &send, &recv);
    if (outside(t, start, end))
        return;
    put_message(t, channel, send, ++t->arrows, start, end, bytes);
    if (recv.slot < 0)
        return;
    if (ss_grow(&l->arrows, &l->cap, l->narrows + 1, sizeof *l->arrows))
        t->failed = 1;
    else
        l->arrows[l->narrows++] = (struct arrow){recv, t->arrows};
}

static void on_transfer(void *ctx, int channel, int collective, double start, double end, double bytes)
{
    struct ss_trace *t = ctx;
    struct ss_place post;

    if (channel >= 0) {
        message(t, channel, start, end, bytes);
        return;
    }
    const struct ss_collective *c = &t->p->collectives[collective];
    for (int i = 0; i < c->nmembers; i++) {
        int cls = c->members[i], stream = ss_follow_post(&t->follow, cls, collective, &post);
        if (outside(t, start, end))
            continue;
        ss_trace_event(&t->w, 'X', cls, SS_TID_STREAM + (stream < 0 ? 0 : stream), start);
        ss_trace_duration(&t->w, start, end);
        ss_trace_name(&t->w, c->name, ss_label_name(c->label));
        fputs(",\"args\":{\"bytes\":", t->w.out);
        ss_put_number(c->bytes, 0, t->w.out);
        fputs("}}", t->w.out);
    }
}

static void put_memory(struct ss_trace *t, int cls)
{
    struct lane *l = &t->lane[cls];

    if (l->memory_time < t->from)
        return; /* still to be said, with the first change in the window */
    for (int m = 0; m < SS_MEM_COUNT; m++) {
        if (!(l->dirty & 1u << m) || l->memory_time > t->to)
            continue;
        ss_trace_event(&t->w, 'C', cls, SS_TID_MAIN, l->memory_time);
        fprintf(t->w.out, ",\"name\":\"memory: %s\",\"args\":{\"MiB\":", ss_mem_name(m));
        ss_put_number((t->p->classes[cls].memory[m] + l->memory[m]) / SS_MIB, 3, t->w.out);
        fputs("}}", t->w.out);
    }
    l->dirty = 0;
}

static void on_memory(void *ctx, int cls, int slot, int event, double time, int mem, double bytes)
{
    struct ss_trace *t = ctx;
    struct lane *l = &t->lane[cls];

    (void)slot, (void)event;
    if (time != l->memory_time)
        put_memory(t, cls);
    l->memory_time = time;
    l->memory[mem] += bytes;
    l->dirty |= 1u << mem;
}

/* ---- names of processes and threads ---- */

static void put_names(struct ss_trace *t, int cls)
{
    const struct ss_program *p = t->p;
    char name[128];
    int sends = 0;

    ss_trace_title(&t->w, "process_name", cls, SS_TID_MAIN, ss_class_name(p, cls, name, sizeof name));
    fprintf(t->w.out,
            ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":"
            "%d}}",
            cls + 1, ss_trace_tid(cls, SS_TID_MAIN), cls);
    ss_trace_title(&t->w, "thread_name", cls, SS_TID_MAIN, "compute");
    for (int c = 0; c < p->nchannels; c++) {
        if (p->channels[c].from != cls)
            continue;
        t->send_lane[c] = sends % (SS_TID_STREAM - SS_TID_SEND);
        if (sends++ >= SS_TID_STREAM - SS_TID_SEND)
            continue; /* shares the thread of an earlier one */
        snprintf(name, sizeof name, "send to %s, tag %d", p->classes[p->channels[c].to].name,
                 p->channels[c].tag);
        ss_trace_title(&t->w, "thread_name", cls, SS_TID_SEND + t->send_lane[c], name);
    }
    for (int s = 0; s < p->classes[cls].nstreams; s++) {
        snprintf(name, sizeof name, "collectives, stream %d%s", s,
                 ss_stream_label(p, cls, s) == SS_LABEL_EP ? ", ep" : "");
        ss_trace_title(&t->w, "thread_name", cls, SS_TID_STREAM + s, name);
    }
    for (int m = 0; m < SS_MEM_COUNT; m++)
        t->lane[cls].dirty |= (unsigned)(p->classes[cls].memory[m] > 0) << m;
    put_memory(t, cls);
}

int ss_trace_begin(const struct ss_program *p, const struct ss_plan *plan, double window_start,
                   double window_end, FILE *out, struct ss_trace **trace, struct ss_observer *observer)
{
    struct ss_trace *t = ss_calloc(1, sizeof *t);

    if (!t)
        return SS_ERR_NOMEM;
    t->p = p;
    t->w.out = out;
    t->from = window_start;
    t->to = window_end;
    t->lane = ss_calloc((size_t)p->nclasses + 1, sizeof *t->lane);
    t->send_lane = ss_calloc((size_t)p->nchannels + 1, sizeof *t->send_lane);
    if (!t->lane || !t->send_lane || ss_follow_init(&t->follow, p)) {
        ss_trace_free(t);
        return SS_ERR_NOMEM;
    }
    fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"program\":", out);
    ss_put_json_text(p->name, out);
    fprintf(out, ",\"stepsim\":\"%s\"},\n\"traceEvents\":[\n", ss_version());
    for (int c = 0; c < p->nclasses; c++)
        put_names(t, c);
    if (ss_kernel_rows_begin(&t->w, p, plan, window_start, window_end, &t->kernels)) {
        ss_trace_free(t);
        return SS_ERR_NOMEM;
    }
    *trace = t;
    *observer = (struct ss_observer){t, on_span, on_transfer, on_memory};
    return SS_OK;
}

static void put_load(struct ss_trace *t, const struct ss_bins *b, int link, int bin, double load)
{
    fprintf(t->w.out, "%s{\"ph\":\"C\",\"pid\":0,\"ts\":", t->w.nevents++ ? ",\n" : "");
    ss_trace_us(&t->w, b->start + bin * b->width);
    fputs(",\"name\":", t->w.out);
    ss_put_json_text(t->p->links[link].name, t->w.out);
    fputs(",\"args\":{\"percent\":", t->w.out);
    ss_put_number(load * 100, 2, t->w.out);
    fputs("}}", t->w.out);
}

static void put_loads(struct ss_trace *t, const struct ss_bins *b)
{
    fprintf(t->w.out, "%s{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"links\"}}",
            t->w.nevents++ ? ",\n" : "");
    for (int l = 0; l < t->p->nlinks; l++) {
        double last = 0;
        if (!(b->link_bytes[l] > 0))
            continue;
        for (int i = 0; i < b->n; i++) {
            double load = ss_bins_load(b, l, i);
            if (load != last)
                put_load(t, b, l, i, load);
            last = load;
        }
        put_load(t, b, l, b->n, 0);
    }
}

void ss_trace_end(struct ss_trace *t, const struct ss_bins *bins, double makespan)
{
    for (int c = 0; c < t->p->nclasses; c++) {
        close_slot(t, c);
        put_memory(t, c);
        if (t->p->classes[c].nslots > 0)
            put_wait(t, c, t->p->classes[c].nslots - 1, ss_label_name(SS_LABEL_BUBBLE), "idle",
                     t->lane[c].last_end, makespan);
    }
    put_loads(t, bins);
    fputs("\n]}\n", t->w.out);
}

int ss_trace_failed(const struct ss_trace *t)
{
    return t->failed;
}

void ss_trace_free(struct ss_trace *t)
{
    if (!t)
        return;
    for (int c = 0; t->lane && c < t->p->nclasses; c++)
        free(t->lane[c].arrows);
    ss_follow_free(&t->follow);
    ss_kernel_rows_free(t->kernels);
    SS_FREE(t->lane, t->send_lane, t);
}
