/* SPDX-License-Identifier: Apache-2.0 */
/* Draws all pictures from one replay. The trace is written while it runs, the others from what was
 * recorded. */
#include "stepsim/pictures.h"

#include "report/card.h"
#include "report/common.h"
#include "report/html.h"
#include "report/trace.h"
#include "report/trace_kineto.h"

#define BINS 1500
#define CELLS 4e6 /* the most bins of all classes and links together */
#define BOXES 600000.0

struct album {
    const struct ss_program *program;
    const struct ss_timeline *timeline;
    const struct ss_picture_request *request;
    double makespan; /* s: one body, longer than the iteration where ranks run on into the next one */
    double start, end;
    struct ss_record_book book; /* the whole window, for the page */
    struct ss_gantt gantt;      /* its parts, for the Gantt chart and the card */
    struct ss_bins bins;
    struct ss_trace *trace;
    struct ss_kineto_trace *kineto;
    double told; /* the share that the caller was told last */
};

static void tell(struct album *a, double time)
{
    double share = a->makespan > 0 ? time / a->makespan : 1;

    if (share < a->told + 0.01)
        return;
    a->told = share;
    a->request->progress(a->request->progress_ctx, share < 1 ? share : 1);
}

static void on_span(void *ctx, int cls, int slot, int event, double start, double busy_from, double end)
{
    (void)cls, (void)slot, (void)event, (void)start, (void)busy_from;
    tell(ctx, end);
}

static void on_transfer(void *ctx, int channel, int collective, double start, double end, double bytes)
{
    struct album *a = ctx;

    ss_bins_transfer(&a->bins, channel, collective, start, end, bytes);
}

static void on_memory(void *ctx, int cls, int slot, int event, double time, int mem, double bytes)
{
    struct album *a = ctx;

    (void)slot, (void)event;
    ss_bins_memory(&a->bins, cls, time, mem, bytes);
    for (int i = 0; i < a->gantt.fold.n; i++)
        if (a->gantt.part[i].memory.n)
            ss_bins_memory(&a->gantt.part[i].memory, cls, time, mem, bytes);
}

static int replay(struct album *a, int engine, struct ss_error *err)
{
    const struct ss_picture_request *r = a->request;
    struct ss_observer observers[4 + SS_FOLD_PARTS];
    int n = 0;

    observers[n++] = (struct ss_observer){a, r->progress ? on_span : NULL, on_transfer, on_memory};
    if (r->report)
        observers[n++] = ss_book_observer(&a->book);
    for (int i = 0; i < a->gantt.fold.n; i++)
        observers[n++] = ss_book_observer(&a->gantt.part[i].book);
    if (r->trace && ss_trace_begin(a->program, r->run ? r->run->plan : NULL, a->start, a->end, r->trace,
                                   &a->trace, &observers[n++]))
        return ss_nomem(err);
    if (r->kineto && ss_kineto_trace_begin(a->program, r->run ? r->run->plan : NULL, a->start, a->end,
                                           r->kineto, &a->kineto, &observers[n++]))
        return ss_nomem(err);
    SS_TRY(ss_replay(a->program, engine, observers, n, NULL, err));
    ss_bins_end(&a->bins);
    for (int i = 0; i < a->gantt.fold.n; i++) {
        a->book.failed |= a->gantt.part[i].book.failed;
        if (a->gantt.part[i].memory.n)
            ss_bins_end(&a->gantt.part[i].memory);
    }
    if (a->book.failed || (a->trace && ss_trace_failed(a->trace)))
        return ss_nomem(err);
    return SS_OK;
}

/* Fills in the bytes of a class beside its tensors, as the result counts them. */
static void fill_extra(const struct album *a, struct ss_memory_extra *extra)
{
    const struct ss_run *run = a->request->run;
    double share =
        run && run->plan ? run->plan->stack->fragmentation : a->program->memory_overhead_factor - 1;

    snprintf(extra->name, sizeof extra->name, "context, %s, fragmentation",
             run && run->plan ? ss_platform_library(run->plan->platform)->name : "NCCL");
    extra->low_pct = run ? run->summary.memory_low_pct : NAN;
    extra->high_pct = run ? run->summary.memory_high_pct : NAN;
    extra->capacity = run && run->result ? run->result->capacity : 0;
    for (int c = 0; c < a->program->nclasses; c++) {
        double dynamic = 0;
        for (int m = 0; m < SS_MEM_COUNT; m++)
            dynamic += a->timeline->dynamic_peak[c][m];
        extra->overhead[c] = dynamic * fmax(share, 0);
        if (run && run->plan && c < run->plan->nclasses)
            extra->overhead[c] += ss_plan_overhead_bytes(run->plan, c);
    }
}

static int draw(struct album *a, int engine, const struct ss_memory_extra *extra, struct ss_error *err)
{
    const struct ss_picture_request *r = a->request;
    FILE *const written[] = {r->gantt, r->memory, r->report, r->trace, r->kineto, r->card};
    char title[256], memory_title[300];
    int rc = SS_OK;

    ss_picture_title(a->program, a->timeline, r->run, title, sizeof title);
    snprintf(memory_title, sizeof memory_title, "%s: memory of each stage, GiB", title);

    if (r->trace)
        ss_trace_end(a->trace, &a->bins, a->makespan);
    if (r->kineto)
        ss_kineto_trace_end(a->kineto, a->makespan);
    if (r->gantt) {
        a->gantt.out = r->gantt;
        ss_svg_gantt(&a->gantt, title, r->width);
    }
    if (r->memory)
        ss_svg_memory(&a->gantt, a->timeline, extra, memory_title, r->width, r->memory);
    if (r->card)
        rc = ss_card_write(&a->gantt, r->run, r->steps, r->width, r->card);
    if (!rc && r->report) {
        struct ss_page page = {a->program, a->timeline, r->run,    r->options, &a->book,     &a->bins, extra,
                               engine,     r->report,   &a->gantt, r->steps,   memory_title, r->width};
        rc = ss_html_page(&page, err);
    }
    for (size_t i = 0; !rc && i < SS_ARRAY_LEN(written); i++)
        if (written[i])
            rc = ss_report_done(written[i], err);
    return rc;
}

/* Sets the window that is drawn. Returns 0, or 1 where it is behind the end of the iteration. */
static int set_window(struct album *a, struct ss_fold *fold)
{
    const struct ss_picture_request *r = a->request;

    a->start = 0;
    a->end = a->makespan;
    if (!(r->window_end > r->window_start))
        return 0;
    a->start = fmax(0, fmin(r->window_start, a->end));
    a->end = fmin(r->window_end, a->end);
    memset(fold, 0, sizeof *fold);
    fold->n = 1;
    fold->part[0].start = a->start;
    fold->part[0].end = a->end;
    return !(a->end > a->start);
}

/* Divides the bins of the whole among the parts, by their length. */
static int init_memory(struct album *a)
{
    const struct ss_fold *fold = &a->gantt.fold;
    double all = 0;
    int rc = SS_OK;

    for (int i = 0; i < fold->n; i++)
        all += fold->part[i].end - fold->part[i].start;
    for (int i = 0; i < fold->n && !rc; i++) {
        double share = all > 0 ? (fold->part[i].end - fold->part[i].start) / all : 1;
        rc = ss_bins_init(&a->gantt.part[i].memory, a->program, fold->part[i].start, fold->part[i].end,
                          1 + (int)(share * (a->bins.n - 1)));
    }
    return rc;
}

static int init(struct album *a, const struct ss_fold *fold)
{
    const struct ss_program *p = a->program;
    const struct ss_picture_request *r = a->request;
    double bins = CELLS / (p->nclasses + p->nlinks + 1);
    int rc = ss_bins_init(&a->bins, p, a->start, a->end, bins > BINS ? BINS : bins > 50 ? (int)bins : 50);

    SS_THEN(rc, ss_book_init(&a->book, p, a->start, a->end, a->makespan, BOXES));
    if (!rc && (r->gantt || r->card || r->steps || r->memory || r->report)) {
        a->gantt.timeline = a->timeline;
        a->gantt.color = r->color;
        a->gantt.row = 24;
        a->gantt.lanes = r->window_end > r->window_start;
        rc = ss_gantt_init(&a->gantt, p, fold, a->makespan, BOXES);
        SS_THEN(rc, ss_gantt_pairs(&a->gantt, r->run ? r->run->schedule : NULL));
        SS_THEN(rc, r->memory || r->report ? init_memory(a) : SS_OK);
    }
    return rc;
}

static int draw_all(const struct ss_program *program, const struct ss_timeline *timeline, int engine,
                    const struct ss_picture_request *request, struct ss_error *err)
{
    struct album a = {.program = program, .timeline = timeline, .request = request};
    int folded = !request->whole && !(request->window_end > request->window_start) &&
                 (request->gantt || request->card || request->steps || request->memory);
    struct ss_memory_extra extra = {0};
    struct ss_fold fold;
    int rc =
        ss_fold_find(program, folded, &fold, &a.makespan, err); /* how far time goes, before it is drawn */

    if (rc)
        return rc;
    if (set_window(&a, &fold))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0,
                       "the window begins at %.6g s, behind the iteration's end at %.6g s",
                       request->window_start, a.makespan);
    rc = init(&a, &fold);
    if (!rc && !(extra.overhead = ss_calloc((size_t)program->nclasses + 1, sizeof *extra.overhead)))
        rc = SS_ERR_NOMEM;
    if (rc) {
        rc = ss_fail(err, rc, NULL, 0, "out of memory for the pictures of %s", program->name);
    } else {
        fill_extra(&a, &extra);
        rc = replay(&a, engine, err);
        SS_THEN(rc, draw(&a, engine, &extra, err));
    }
    free(extra.overhead);
    ss_trace_free(a.trace);
    ss_kineto_trace_free(a.kineto);
    ss_book_free(&a.book);
    ss_gantt_free(&a.gantt);
    ss_bins_free(&a.bins);
    return rc;
}

/* The slots of a loop are told one by one, because each has its own place in the pictures. */
int ss_pictures_draw(const struct ss_program *program, const struct ss_timeline *timeline, int engine,
                     const struct ss_picture_request *request, struct ss_error *err)
{
    struct ss_program whole;
    int rc = ss_program_unroll(program, &whole, err);
    SS_THEN(rc, draw_all(&whole, timeline, engine, request, err));
    ss_program_unroll_free(&whole);
    return rc;
}
