/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a list of steps: one stream of kernels, and streams of collectives beside it. */

#include "base/base.h"
#include "comm/collective.h"
#include "cost/steps.h"

/* A posted collective. */
struct flight {
    int comm, waited;
    double start, end, share;
};

struct fold {
    double now;
    size_t n, cap; /* collectives that run or are to be waited for, the oldest first */
    struct flight *flight;
};

/* Returns the share of the SMs that kernels have beside the running collectives: max-min, as in the replay
 * contract. */
static double kernels_share(const struct fold *f)
{
    double share = 0, before;
    do { /* a collective that asks for less than an equal share gets what it asks for */
        double left = 1, equal = 1;
        before = share;
        for (size_t i = 0; i < f->n; i++) {
            const struct flight *k = &f->flight[i];
            if (k->share <= 0 || k->start > f->now || f->now >= k->end)
                continue;
            left -= k->share < before ? k->share : 0;
            equal += k->share < before ? 0 : 1;
        }
        share = left / equal;
    } while (share > before);
    return share;
}

/* Returns the next moment at which a collective begins or ends. */
static double next_change(const struct fold *f, double most)
{
    for (size_t i = 0; i < f->n; i++) {
        const struct flight *k = &f->flight[i];
        if (k->share > 0 && k->start > f->now && k->start < most)
            most = k->start;
        if (k->share > 0 && k->end > f->now && k->end < most)
            most = k->end;
    }
    return most;
}

static void compute(struct fold *f, double seconds)
{
    while (seconds > 0) {
        double share = kernels_share(f), end = f->now + seconds / share, until = next_change(f, end);
        seconds = until < end ? seconds - (until - f->now) * share : 0;
        f->now = until;
    }
}

/* Forgets collectives that have ended and were waited for. Of a ring of thousands of messages two are left. */
static void forget(struct fold *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->n; i++)
        if (!f->flight[i].waited || f->flight[i].end > f->now)
            f->flight[kept++] = f->flight[i];
    f->n = kept;
}

static int post(struct fold *f, const struct ss_layer_step *s)
{
    int stream = ss_comm_facts(s->comm)->stream;
    struct flight k = {.comm = s->comm, .start = f->now, .share = s->sm_share};
    forget(f);
    for (size_t i = 0; i < f->n; i++)
        if (ss_comm_facts(f->flight[i].comm)->stream == stream && f->flight[i].end > k.start)
            k.start = f->flight[i].end;
    k.end = k.start + s->seconds;
    if (ss_grow(&f->flight, &f->cap, f->n + 1, sizeof k))
        return SS_ERR_NOMEM;
    f->flight[f->n++] = k;
    return SS_OK;
}

/* Waits for the oldest collective of the stream that was not waited for. */
static void wait(struct fold *f, int comm, double by_label[SS_LABEL_COUNT])
{
    const struct ss_comm_facts *facts = ss_comm_facts(comm);
    for (size_t i = 0; i < f->n; i++) {
        struct flight *k = &f->flight[i];
        if (k->waited || ss_comm_facts(k->comm)->stream != facts->stream)
            continue;
        k->waited = 1;
        if (k->end > f->now) {
            by_label[facts->label] += k->end - f->now;
            f->now = k->end;
        }
        break;
    }
}

/* Returns whether the step is a GEMM; a kernel that adds up a weight gradient counts as its GEMM's part. */
static int is_gemm(const struct ss_layer_step *s)
{
    return s->flops > 0 && (s->of_part == SS_PART_ATTENTION_GEMM || s->of_part == SS_PART_MLP_GEMM ||
                            s->of_part == SS_PART_EXPERT_GEMM || s->of_part == SS_PART_LOSS);
}

/* Returns the kernel seconds before the wait for step `at`, collective number `order` of its stream; `waited`
 * collectives are waited for already. *gemms is the share of GEMMs in them. */
static double kernels_beside(const struct ss_step_list *list, size_t at, int order, int waited, double *gemms)
{
    int stream = ss_comm_facts(list->step[at].comm)->stream;
    double seconds = 0, of_gemms = 0;
    for (size_t i = at + 1; i < list->n; i++) {
        const struct ss_layer_step *s = &list->step[i];
        if (s->kind == SS_STEP_COMPUTE && (s->label == SS_LABEL_COMPUTE || s->label == SS_LABEL_RECOMPUTE)) {
            seconds += s->seconds;
            of_gemms += is_gemm(s) ? s->seconds : 0;
        }
        if (s->kind == SS_STEP_WAIT && ss_comm_facts(s->comm)->stream == stream && waited++ == order)
            break;
    }
    *gemms = seconds > 0 ? of_gemms / seconds : 0;
    return seconds;
}

void ss_steps_beside(struct ss_step_list *list, const struct ss_card *card)
{
    int posted[SS_COMM_COUNT] = {0}, waited[SS_COMM_COUNT] = {0}; /* by communicator, one stream each */
    for (size_t i = 0; i < list->n; i++) {
        struct ss_layer_step *s = &list->step[i];
        if (s->kind == SS_STEP_COMPUTE)
            continue;
        int stream = ss_comm_facts(s->comm)->stream;
        waited[stream] += s->kind == SS_STEP_WAIT;
        if (s->kind != SS_STEP_POST)
            continue;
        if (s->sms > 0 || s->slowed > 0) {
            double gemms, kernels = kernels_beside(list, i, posted[stream], waited[stream], &gemms);
            s->sm_share = ss_sm_share_taken(card, s->sms, gemms);
            s->beside = s->slowed > 0 ? fmin(1, kernels / (1 - s->sm_share) / s->slowed) : 0;
            s->seconds += s->beside * (s->slowed - s->seconds);
        }
        posted[stream]++;
    }
}

int ss_steps_fold(const struct ss_step_list *list, double slower, double by_label[SS_LABEL_COUNT])
{
    return ss_steps_fold_beside(list, slower, 0, 0, by_label);
}

int ss_steps_fold_beside(const struct ss_step_list *list, double slower, double held, double until,
                         double by_label[SS_LABEL_COUNT])
{
    struct fold f = {0};
    int status = list->failed || ss_grow(&f.flight, &f.cap, 1, sizeof *f.flight) ? SS_ERR_NOMEM : SS_OK;
    memset(by_label, 0, SS_LABEL_COUNT * sizeof *by_label);
    if (!status && held > 0)
        f.flight[f.n++] = (struct flight){.comm = SS_COMM_DP_CP, .waited = 1, .end = until, .share = held};
    for (size_t i = 0; i < list->n && !status; i++) {
        const struct ss_layer_step *s = &list->step[i];
        int kernels = s->label == SS_LABEL_COMPUTE || s->label == SS_LABEL_RECOMPUTE;
        double from = f.now, pace = kernels ? 1 + slower : 1;
        if (s->kind == SS_STEP_COMPUTE) {
            compute(&f, pace * s->seconds);
            by_label[s->label] += (f.now - from) / pace;
        } else if (s->kind == SS_STEP_POST) {
            status = post(&f, s);
        } else {
            wait(&f, s->comm, by_label);
        }
    }
    free(f.flight);
    return status;
}
