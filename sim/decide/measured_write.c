/* SPDX-License-Identifier: Apache-2.0 */
/* A real iteration beside its prediction, for people and programs. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/contrast.h"
#include "report/chart.h"
#include "report/common.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/table.h"
#include "report/text.h"
#include "stepsim/measured.h"

#define LEADERS 3 /* terms that the answer names */

static double more_of(const struct ss_measured *m, int term)
{
    return m->measured[term] - m->predicted[term];
}

static int is_used(const struct ss_measured *m, int term, double least)
{
    return fabs(m->measured[term]) >= least || fabs(m->predicted[term]) >= least;
}

/* ---- text ---- */

static void write_trace(const struct ss_measured *m, FILE *out)
{
    const struct ss_kineto *t = &m->trace;

    fprintf(out, "measured   %s\n          ", m->file);
    if (t->rank >= 0)
        fprintf(out, " rank %d", t->rank);
    if (t->rank >= 0 && t->world >= 0)
        fprintf(out, " of %d", t->world);
    fprintf(out, "%s%s%s, %ld kernels", t->rank >= 0 ? ", " : " ", t->device[0] ? "" : "one GPU", t->device,
            t->kernels);
    if (t->gpus > 1)
        fprintf(out, " of GPU %d, the one with the most of %d", t->gpu, t->gpus);
    fprintf(out, "; ");
    if (t->by == SS_KINETO_WHOLE)
        fprintf(out, "no step is marked and nothing repeats: the whole trace counts as one iteration\n");
    else if (t->by == SS_KINETO_PERIOD)
        fprintf(out, "the mean of %d of %d iterations, each from a %.60s to the next\n", t->used, t->found,
                t->period);
    else
        fprintf(out, "the mean of %d of %d steps of the profiler\n", t->used, t->found);
    fprintf(out, "predicted  %s\n           stage %d, %s\n\n", m->run, m->stage,
            m->by_rank ? "that of this rank" : "the busiest");
}

/* The terms that are furthest off in the direction of the whole, largest first. */
static int find_leaders(const struct ss_measured *m, int leader[LEADERS])
{
    double sign = m->measured_s >= m->predicted_s ? 1 : -1;
    int n = 0;

    for (; n < LEADERS; n++) {
        leader[n] = -1;
        for (int t = 0; t < SS_REAL_COUNT; t++) {
            int taken = 0;
            for (int k = 0; k < n; k++)
                taken |= leader[k] == t;
            if (!taken && sign * more_of(m, t) > 1e-3 * m->measured_s &&
                (leader[n] < 0 || sign * more_of(m, t) > sign * more_of(m, leader[n])))
                leader[n] = t;
        }
        if (leader[n] < 0)
            break;
    }
    return n;
}

static void write_answer(const struct ss_measured *m, FILE *out)
{
    double more = m->measured_s - m->predicted_s;
    int leader[LEADERS], n = find_leaders(m, leader);
    char time[32];

    fprintf(out, "The iteration takes %s, ", ss_text_time(m->measured_s, time, sizeof time));
    fprintf(out, "%s %s (%.1f %%) than predicted", ss_text_time(fabs(more), time, sizeof time),
            more >= 0 ? "more" : "less", 100 * fabs(more) / m->predicted_s);
    if (m->band_pct > 0)
        fprintf(out, ", %s the error band of %.1f %%",
                100 * fabs(more) <= m->band_pct * m->measured_s ? "within" : "beyond", m->band_pct);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%s %+.*f ms", i ? ", " : ": ", ss_real_term_words(leader[i]), m->measured_s < 1,
                1e3 * more_of(m, leader[i]));
    fputs(".\n", out);
}

static int is_transfer(int term)
{
    return term >= SS_REAL_TP && term <= SS_REAL_COPY;
}

static void term_row(struct ss_report_table *t, const struct ss_measured *m, const char *words,
                     double measured, double predicted, struct ss_cell hidden, struct ss_cell expected)
{
    SS_ROW(t, words, measured, predicted, measured - predicted, (measured - predicted) / m->predicted_s,
           hidden, expected);
}

static void term_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_measured *m = of;
    const double least = 0.5 * pow(10, -t->decimals - 3);

    for (int i = 0; i < SS_REAL_COUNT; i++)
        if (is_used(m, i, least) || m->measured_hidden[i] + m->predicted_hidden[i] >= least)
            term_row(t, m, ss_real_term_words(i), m->measured[i], m->predicted[i],
                     is_transfer(i) ? SS_CELL(m->measured_hidden[i]) : SS_NO_CELL,
                     is_transfer(i) ? SS_CELL(m->predicted_hidden[i]) : SS_NO_CELL);
    term_row(t, m, "total", m->measured_s, m->predicted_s, SS_NO_CELL, SS_NO_CELL);
}

static void work_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_measured *m = of;

    for (int w = 0; w < SS_GPU_WORK_COUNT; w++) {
        const struct ss_gpu_time *g = &m->trace.work[w];
        if (g->calls > 0)
            SS_ROW(t, ss_gpu_work_words(w), g->exposed, g->hidden, g->calls);
    }
    SS_ROW(t, "idle", m->trace.idle, SS_NO_CELL, SS_NO_CELL);
}

static void write_terms(const struct ss_measured *m, enum ss_report_form form, FILE *out)
{
    struct ss_report_table t = {.columns = "Time, ms:-30s|measured:10.*m|predicted:10.*m|more:+10.*m|"
                                           "of the whole:+7.1p %|hidden:10.*m|hidden, predicted:17.*m",
                                .indent = 2,
                                .decimals = m->measured_s >= 1 ? 1 : 3};
    ss_report_table_write(&t, form, term_rows, m, out);
}

static void write_works(const struct ss_measured *m, enum ss_report_form form, FILE *out)
{
    struct ss_report_table t = {
        .columns = "What the GPU ran, ms an iteration:-32s|exposed:10.*m|hidden:10.*m|calls:10.0f",
        .indent = 2,
        .decimals = m->measured_s >= 1 ? 1 : 3};
    ss_report_table_write(&t, form, work_rows, m, out);
}

static void write_hints(const struct ss_measured *m, FILE *out)
{
    if (!m->named)
        fputs("The trace does not name its process groups: tp, cp, ep and dp are one term.\n", out);
    if (m->guessed)
        fputs("Sends and receives have no group: they are taken as the pipeline's.\n", out);
    if (m->predicted[SS_REAL_PP] + m->measured[SS_REAL_PP] > 0)
        fputs("A receive is a kernel that runs while it waits: compare the sum of messages and idle.\n", out);
    if (m->trace.world >= 0 && m->trace.world != m->world)
        fprintf(out, "The trace is of %d ranks, the prediction of %d.\n", m->trace.world, m->world);
}

static int write_text(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    write_trace(m, out);
    write_answer(m, out);
    write_hints(m, out);
    fputc('\n', out);
    write_terms(m, SS_FORM_TEXT, out);
    fputc('\n', out);
    write_works(m, SS_FORM_TEXT, out);
    return ss_report_done(out, err);
}

/* ---- JSON, CSV ---- */

static json_t *times_object(const struct ss_gpu_time *t)
{
    return SS_OBJECT(SS_KEY("exposed_ms", 1e3 * t->exposed), SS_KEY("hidden_ms", 1e3 * t->hidden),
                     SS_FIELDS(t, calls));
}

static json_t *trace_object(const struct ss_measured *m)
{
    static const char *const by[] = {"steps", "period", "whole"};
    const struct ss_kineto *t = &m->trace;
    json_t *works = json_object(), *labels = json_object();

    for (int w = 0; w < SS_GPU_WORK_COUNT; w++)
        SS_PUT(works, SS_KEY(ss_gpu_work_key(w), times_object(&t->work[w])));
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        if (t->label[l].calls > 0)
            SS_PUT(labels, SS_KEY(ss_label_name(l), times_object(&t->label[l])));
    SS_PUT(labels, SS_KEY("messages", times_object(&t->messages)),
           SS_KEY("unnamed", times_object(&t->unnamed)));
    return SS_OBJECT(SS_KEY("name", m->file), SS_FIELDS(t, rank), SS_KEY("world_size", t->world),
                     SS_FIELDS(t, device, kernels, gpu, gpus), SS_KEY("iterations_by", by[t->by]),
                     SS_KEY("iterations_found", t->found), SS_KEY("iterations_used", t->used),
                     SS_KEY("iteration_ms", 1e3 * t->iteration_s), SS_KEY("idle_ms", 1e3 * t->idle),
                     SS_KEY("work", works), SS_KEY("communication", labels));
}

static int write_json(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("compare"), *terms = json_object();

    for (int t = 0; t < SS_REAL_COUNT; t++)
        SS_PUT(terms, SS_KEY(ss_real_term_key(t), SS_OBJECT(SS_KEY("measured_ms", 1e3 * m->measured[t]),
                                                            SS_KEY("predicted_ms", 1e3 * m->predicted[t]),
                                                            SS_KEY("more_ms", 1e3 * more_of(m, t)),
                                                            SS_KEY_IF(is_transfer(t), "measured_hidden_ms",
                                                                      1e3 * m->measured_hidden[t]),
                                                            SS_KEY_IF(is_transfer(t), "predicted_hidden_ms",
                                                                      1e3 * m->predicted_hidden[t]))));
    SS_PUT(root, SS_KEY("trace", trace_object(m)),
           SS_KEY("prediction", SS_OBJECT(SS_KEY("name", m->run), SS_FIELDS(m, stage),
                                          SS_KEY("of_the_rank", (bool)m->by_rank),
                                          SS_KEY("iteration_ms", 1e3 * m->predicted_s),
                                          SS_KEY("error_band_pct", m->band_pct))),
           SS_KEY("groups_named", (bool)m->named), SS_KEY("messages_guessed", (bool)m->guessed),
           SS_KEY("terms", terms));
    return ss_json_write(root, out, err);
}

static void csv_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_measured *m = of;

    for (int i = 0; i < SS_REAL_COUNT; i++)
        SS_ROW(t, "time", ss_real_term_key(i), "ms", m->measured[i], m->predicted[i]);
    SS_ROW(t, "time", "total", "ms", m->measured_s, m->predicted_s);
}

static int write_csv(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    struct ss_report_table t = {.columns = "::table|::term|::unit|::measured:m|::predicted:m"};

    ss_report_table_write(&t, SS_FORM_CSV, csv_rows, m, out);
    return ss_report_done(out, err);
}

/* ---- SVG ---- */

/* A label whose colour the term has; each one once. */
static const char *color_of(int term)
{
    static const int label[SS_REAL_COUNT] = {[SS_REAL_GEMM] = SS_LABEL_COMPUTE,
                                             [SS_REAL_ATTENTION] = SS_LABEL_RECOMPUTE,
                                             [SS_REAL_ELEMENTWISE] = SS_LABEL_SPREAD,
                                             [SS_REAL_OPTIMIZER] = SS_LABEL_OPTIMIZER,
                                             [SS_REAL_TP] = SS_LABEL_TP,
                                             [SS_REAL_CP] = SS_LABEL_CP,
                                             [SS_REAL_EP] = SS_LABEL_EP,
                                             [SS_REAL_DP] = SS_LABEL_DP,
                                             [SS_REAL_COLLECTIVES] = SS_LABEL_OTHER,
                                             [SS_REAL_PP] = SS_LABEL_PP,
                                             [SS_REAL_COPY] = SS_LABEL_OFFLOAD,
                                             [SS_REAL_IDLE] = SS_LABEL_BUBBLE};

    return ss_color_label(label[term]);
}

static void draw_bar(const struct ss_chart *k, const double *term, const char *name, double y)
{
    struct ss_chart_part parts[SS_REAL_COUNT];

    for (int t = 0; t < SS_REAL_COUNT; t++)
        parts[t] = (struct ss_chart_part){ss_real_term_words(t), color_of(t), term[t]};
    ss_chart_bar(k, y, SS_CONTRAST_BAR, "", parts, SS_REAL_COUNT, false);
    ss_svg_text(k->out, k->x, y - 6, "small", name);
}

/* Two rows, for all terms do not fit into one. */
static void draw_legend(const struct ss_measured *m, FILE *out)
{
    struct ss_legend rows[] = {ss_legend_at(out, SS_CONTRAST_LEFT, 46, INFINITY),
                               ss_legend_at(out, SS_CONTRAST_LEFT, 46 + SS_LEGEND_ROW, INFINITY)};

    for (int t = 0; t < SS_REAL_COUNT; t++)
        if (is_used(m, t, 1e-12))
            ss_legend_key(&rows[t >= SS_REAL_TP], color_of(t), ss_real_term_words(t));
}

static int write_svg(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    const struct ss_chart k = {
        out, SS_CONTRAST_LEFT, 84, SS_CONTRAST_WIDTH, 116, .across.to = fmax(m->measured_s, m->predicted_s)};
    char name[400], time[32];

    ss_svg_begin(out, 2 * SS_CONTRAST_LEFT + SS_CONTRAST_WIDTH, 240, "A real iteration and its prediction",
                 "A bar of the measured iteration by term, and one of the predicted one.");
    ss_svg_text(out, SS_CONTRAST_LEFT, 28, "title", "Where the iteration goes");
    draw_legend(m, out);
    ss_chart_seconds(&k);
    snprintf(name, sizeof name, "measured: %s (%s)", m->file, ss_text_time(m->measured_s, time, sizeof time));
    draw_bar(&k, m->measured, name, 108);
    snprintf(name, sizeof name, "predicted: %s (%s)", m->run,
             ss_text_time(m->predicted_s, time, sizeof time));
    draw_bar(&k, m->predicted, name, 166);
    ss_svg_end(out);
    return ss_report_done(out, err);
}

/* ---- the page ---- */

static void write_words(const void *measured, FILE *out)
{
    write_answer(measured, out);
    write_hints(measured, out);
}

int ss_measured_page(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    ss_page_open(out, "A real iteration and its prediction");
    fputs("<section id=\"answer\">\n<h1>A real iteration and its prediction</h1>\n", out);
    if (ss_page_paragraphs(write_words, m, out))
        return ss_nomem(err);
    fputs("</section>\n<section id=\"picture\">\n<h2>Side by side</h2>\n<div class=\"wide\">\n", out);
    int rc = write_svg(m, out, err);
    fputs("</div>\n</section>\n<section id=\"table\">\n<h2>Term by term</h2>\n", out);
    write_terms(m, SS_FORM_PAGE, out);
    fputs("</section>\n<section id=\"trace\">\n<h2>The trace</h2>\n", out);
    ss_markup(out, "<p>%s</p>\n", m->file);
    write_works(m, SS_FORM_PAGE, out);
    fprintf(out, "<p class=\"hint\">stepsim %s</p>\n</section>\n", SS_VERSION);
    ss_page_close(out);
    return rc ? rc : ss_report_done(out, err);
}

int ss_measured_write(const struct ss_measured *m, enum ss_contrast_form form, FILE *out,
                      struct ss_error *err)
{
    switch (form) {
    case SS_CONTRAST_TEXT: return write_text(m, out, err);
    case SS_CONTRAST_JSON: return write_json(m, out, err);
    case SS_CONTRAST_CSV: return write_csv(m, out, err);
    case SS_CONTRAST_SVG: return write_svg(m, out, err);
    }
    return SS_ERR_USAGE;
}
