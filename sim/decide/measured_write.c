/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a real iteration beside its prediction, for people and programs. */
#include "decide/contrast.h"
#include "report/common.h"
#include "report/page.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/measured.h"

#define LEADERS 3 /* number of terms that the answer names */

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

/* Finds the terms that are furthest off in the direction in which the whole is off, largest first. */
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
        fprintf(out, ", %s the error band%s",
                m->measured_s >= m->low_s && m->measured_s <= m->high_s ? "within" : "beyond", m->band);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%s %+.*f ms", i ? ", " : ": ", ss_real_term_words(leader[i]), m->measured_s < 1,
                1e3 * more_of(m, leader[i]));
    fputs(".\n", out);
}

static void write_hidden(double seconds, int digits, FILE *out)
{
    if (isnan(seconds))
        fprintf(out, " %10s", "-");
    else
        fprintf(out, " %10.*f", digits, 1e3 * seconds);
}

static void write_row(const struct ss_measured *m, const char *words, double measured, double predicted,
                      int digits, FILE *out)
{
    fprintf(out, "  %-30s %10.*f %10.*f %+10.*f %+7.1f %%", words, digits, 1e3 * measured, digits,
            1e3 * predicted, digits, 1e3 * (measured - predicted),
            100 * (measured - predicted) / m->predicted_s);
}

static int is_transfer(int term)
{
    return term >= SS_REAL_TP && term <= SS_REAL_COPY;
}

static void write_terms(const struct ss_measured *m, int digits, double least, FILE *out)
{
    fputs("\nTime, ms                           measured  predicted       more  of the whole    hidden  "
          "predicted\n",
          out);
    for (int t = 0; t < SS_REAL_COUNT; t++) {
        if (!is_used(m, t, least) && !(m->measured_hidden[t] + m->predicted_hidden[t] >= least))
            continue;
        write_row(m, ss_real_term_words(t), m->measured[t], m->predicted[t], digits, out);
        if (is_transfer(t)) {
            write_hidden(m->measured_hidden[t], digits, out);
            write_hidden(m->predicted_hidden[t], digits, out);
        }
        fputc('\n', out);
    }
    write_row(m, "total", m->measured_s, m->predicted_s, digits, out);
    fputc('\n', out);
}

static void write_works(const struct ss_measured *m, int digits, FILE *out)
{
    fprintf(out, "\nWhat the GPU ran, ms an iteration    exposed     hidden      calls\n");
    for (int w = 0; w < SS_GPU_WORK_COUNT; w++) {
        const struct ss_gpu_time *t = &m->trace.work[w];
        if (t->calls > 0)
            fprintf(out, "  %-32s %10.*f %10.*f %10.0f\n", ss_gpu_work_words(w), digits, 1e3 * t->exposed,
                    digits, 1e3 * t->hidden, t->calls);
    }
    fprintf(out, "  %-32s %10.*f\n", "idle", digits, 1e3 * m->trace.idle);
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
    int digits = m->measured_s >= 1 ? 1 : 3;
    double least = 0.5 * pow(10, -digits - 3);

    write_trace(m, out);
    write_answer(m, out);
    write_hints(m, out);
    write_terms(m, digits, least, out);
    write_works(m, digits, out);
    return ss_report_done(out, err);
}

/* ---- JSON, CSV ---- */

static struct ss_json *times_object(const struct ss_gpu_time *t)
{
    return SS_OBJECT(SS_KEY("exposed_ms", 1e3 * t->exposed), SS_KEY("hidden_ms", 1e3 * t->hidden),
                     SS_SAME(t, calls));
}

static struct ss_json *trace_object(const struct ss_measured *m)
{
    static const char *const by[] = {"steps", "period", "whole"};
    const struct ss_kineto *t = &m->trace;
    struct ss_json *works = ss_json_begin_object(), *labels = ss_json_begin_object();

    for (int w = 0; w < SS_GPU_WORK_COUNT; w++)
        SS_PUT(works, SS_KEY(ss_gpu_work_key(w), times_object(&t->work[w])));
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        if (t->label[l].calls > 0)
            SS_PUT(labels, SS_KEY(ss_label_name(l), times_object(&t->label[l])));
    SS_PUT(labels, SS_KEY("messages", times_object(&t->messages)),
           SS_KEY("unnamed", times_object(&t->unnamed)));
    return SS_OBJECT(SS_KEY("name", m->file), SS_SAME(t, rank), SS_KEY("world_size", t->world),
                     SS_SAME(t, device), SS_SAME(t, kernels), SS_SAME(t, gpu), SS_SAME(t, gpus),
                     SS_KEY("iterations_by", by[t->by]), SS_KEY("iterations_found", t->found),
                     SS_KEY("iterations_used", t->used), SS_KEY("iteration_ms", 1e3 * t->iteration_s),
                     SS_KEY("idle_ms", 1e3 * t->idle), SS_KEY("work", works),
                     SS_KEY("communication", labels));
}

static int write_json(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    struct ss_json *root = ss_json_document("compare"), *terms = ss_json_begin_object();

    for (int t = 0; t < SS_REAL_COUNT; t++) {
        struct ss_json *o =
            SS_OBJECT(SS_KEY("measured_ms", 1e3 * m->measured[t]),
                      SS_KEY("predicted_ms", 1e3 * m->predicted[t]), SS_KEY("more_ms", 1e3 * more_of(m, t)));
        if (is_transfer(t))
            SS_PUT(o, SS_KEY("measured_hidden_ms", 1e3 * m->measured_hidden[t]),
                   SS_KEY("predicted_hidden_ms", 1e3 * m->predicted_hidden[t]));
        SS_PUT(terms, SS_KEY(ss_real_term_key(t), o));
    }
    SS_PUT(
        root, SS_KEY("trace", trace_object(m)),
        SS_KEY("prediction",
               SS_OBJECT(SS_KEY("name", m->run), SS_SAME(m, stage), SS_KEY("of_the_rank", (bool)m->by_rank),
                         SS_KEY("iteration_ms", 1e3 * m->predicted_s), SS_KEY("error_band_pct", m->band_pct),
                         SS_KEY("low_ms", 1e3 * m->low_s), SS_KEY("high_ms", 1e3 * m->high_s))),
        SS_KEY("groups_named", (bool)m->named), SS_KEY("messages_guessed", (bool)m->guessed),
        SS_KEY("terms", terms));
    return ss_json_write(root, out, err);
}

static int write_csv(const struct ss_measured *m, FILE *out, struct ss_error *err)
{
    fputs("table,term,unit,measured,predicted\n", out);
    for (int t = 0; t < SS_REAL_COUNT; t++)
        fprintf(out, "time,%s,ms,%.10g,%.10g\n", ss_real_term_key(t), 1e3 * m->measured[t],
                1e3 * m->predicted[t]);
    fprintf(out, "time,total,ms,%.10g,%.10g\n", 1e3 * m->measured_s, 1e3 * m->predicted_s);
    return ss_report_done(out, err);
}

/* ---- SVG ---- */

/* Returns the colour of a term: that of a label, each of which is taken once. */
static const char *color_of(int term, char buf[40])
{
    static const int label[SS_REAL_COUNT] = {[SS_REAL_GEMM] = SS_LABEL_COMPUTE,
                                             [SS_REAL_ATTENTION] = SS_LABEL_RECOMPUTE,
                                             [SS_REAL_ELEMENTWISE] = SS_LABEL_RECOMPUTE,
                                             [SS_REAL_OPTIMIZER] = SS_LABEL_OPTIMIZER,
                                             [SS_REAL_TP] = SS_LABEL_TP,
                                             [SS_REAL_CP] = SS_LABEL_CP,
                                             [SS_REAL_EP] = SS_LABEL_EP,
                                             [SS_REAL_DP] = SS_LABEL_DP,
                                             [SS_REAL_COLLECTIVES] = SS_LABEL_OTHER,
                                             [SS_REAL_PP] = SS_LABEL_PP,
                                             [SS_REAL_COPY] = SS_LABEL_OFFLOAD,
                                             [SS_REAL_IDLE] = SS_LABEL_BUBBLE};

    return ss_tone_fill(ss_tone(SS_TONES_LABEL, label[term]), buf);
}

/* Draws a bar below its name, which begins at y. Returns its lower end. */
static double draw_bar(const double *term, const char *name, double y, double width, double scale, FILE *out)
{
    char title[160], time[32], fill[40];
    double x = SS_CONTRAST_LEFT;

    y += 6 + ss_svg_lines(out, SS_CONTRAST_LEFT, y, width, "small", name);
    for (int t = 0; t < SS_REAL_COUNT; t++) {
        if (!out || !(term[t] > 0))
            continue;
        snprintf(title, sizeof title, "%s: %s", ss_real_term_words(t),
                 ss_text_time(term[t], time, sizeof time));
        ss_contrast_box(x, y, term[t] * scale, color_of(t, fill), title, out);
        x += term[t] * scale;
    }
    return y + 22;
}

static double draw_legend(const struct ss_measured *m, double y, double width, FILE *out)
{
    struct ss_legend l;
    char fill[40];

    ss_legend_begin(&l, SS_CONTRAST_LEFT, SS_CONTRAST_LEFT + width, y, out);
    for (int t = 0; t < SS_REAL_COUNT; t++)
        if (is_used(m, t, 1e-12))
            ss_legend_add(&l, color_of(t, fill), ss_real_term_words(t));
    return l.y;
}

/* Draws both bars below y. Returns the lower end; without a stream it only measures. */
static double draw_bars(const struct ss_measured *m, double y, double width, FILE *out)
{
    double scale = width / fmax(m->measured_s, m->predicted_s);
    char name[400], time[32];

    snprintf(name, sizeof name, "measured: %s (%s)", m->file, ss_text_time(m->measured_s, time, sizeof time));
    y = draw_bar(m->measured, name, y + 18, width, scale, out);
    snprintf(name, sizeof name, "predicted: %s (%s)", m->run,
             ss_text_time(m->predicted_s, time, sizeof time));
    return draw_bar(m->predicted, name, y + 30, width, scale, out);
}

int ss_measured_write_svg(const struct ss_measured *m, double width, FILE *out, struct ss_error *err)
{
    double wide = (width > 0 ? width : SS_CONTRAST_USUAL) - 2 * SS_CONTRAST_LEFT,
           top = draw_legend(m, 54, wide, NULL) + 30, bottom = draw_bars(m, top, wide, NULL) + 12;

    ss_svg_begin(out, 2 * SS_CONTRAST_LEFT + wide, bottom + 40, "A real iteration and its prediction",
                 "A bar of the measured iteration by term, and one of the predicted one.");
    ss_svg_tones(out, SS_TONES_LABEL);
    ss_svg_text(out, SS_CONTRAST_LEFT, 28, "title", "Where the iteration goes");
    draw_legend(m, 54, wide, out);
    ss_svg_time_axis(out, SS_CONTRAST_LEFT, bottom, wide, top, 0, fmax(m->measured_s, m->predicted_s), 1);
    draw_bars(m, top, wide, out);
    ss_svg_end(out);
    return ss_report_done(out, err);
}

/* ---- the page ---- */

static void write_words(const void *measured, FILE *out)
{
    write_answer(measured, out);
    write_hints(measured, out);
}

static void write_cells(const char *words, const double *ms, int n, int digits, FILE *out)
{
    ss_page_text(out, "<tr><th scope=\"row\">", words, "</th>");
    for (int i = 0; i < n; i++)
        if (isnan(ms[i]))
            fputs("<td></td>", out);
        else
            fprintf(out, "<td>%.*f</td>", digits, 1e3 * ms[i]);
    fputs("</tr>\n", out);
}

static void write_page_terms(const struct ss_measured *m, int digits, FILE *out)
{
    fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">term, ms</th><th "
          "scope=\"col\">measured</th>"
          "<th scope=\"col\">predicted</th><th scope=\"col\">more</th><th scope=\"col\">hidden</th>"
          "<th scope=\"col\">hidden, predicted</th></tr></thead>\n<tbody>\n",
          out);
    for (int t = 0; t < SS_REAL_COUNT; t++) {
        const double ms[] = {m->measured[t], m->predicted[t], more_of(m, t),
                             is_transfer(t) ? m->measured_hidden[t] : NAN,
                             is_transfer(t) ? m->predicted_hidden[t] : NAN};
        if (is_used(m, t, 1e-9))
            write_cells(ss_real_term_words(t), ms, 5, digits, out);
    }
    const double all[] = {m->measured_s, m->predicted_s, m->measured_s - m->predicted_s, NAN, NAN};
    write_cells("total", all, 5, digits, out);
    fputs("</tbody>\n</table></div>\n", out);
}

static void write_page_works(const struct ss_measured *m, int digits, FILE *out)
{
    fputs("<div class=\"wide\"><table>\n<thead><tr><th scope=\"col\">what the GPU ran, ms</th>"
          "<th scope=\"col\">exposed</th><th scope=\"col\">hidden</th></tr></thead>\n<tbody>\n",
          out);
    for (int w = 0; w < SS_GPU_WORK_COUNT; w++) {
        const double ms[] = {m->trace.work[w].exposed, m->trace.work[w].hidden};
        if (m->trace.work[w].calls > 0)
            write_cells(ss_gpu_work_words(w), ms, 2, digits, out);
    }
    const double idle[] = {m->trace.idle, NAN};
    write_cells("idle", idle, 2, digits, out);
    fputs("</tbody>\n</table></div>\n", out);
}

int ss_measured_page(const struct ss_measured *m, double width, FILE *out, struct ss_error *err)
{
    int digits = m->measured_s >= 1 ? 1 : 3;

    ss_page_open(out, "A real iteration and its prediction");
    fputs("<section id=\"answer\">\n<h1>A real iteration and its prediction</h1>\n", out);
    SS_NEED(!ss_page_paragraphs(write_words, m, out), err);
    fputs("</section>\n<section id=\"picture\">\n<h2>Side by side</h2>\n<div class=\"wide\">\n", out);
    int rc = ss_measured_write_svg(m, width, out, err);
    fputs("</div>\n</section>\n<section id=\"table\">\n<h2>Term by term</h2>\n", out);
    write_page_terms(m, digits, out);
    fputs("</section>\n<section id=\"trace\">\n<h2>The trace</h2>\n", out);
    ss_page_text(out, "<p>", m->file, "</p>\n");
    write_page_works(m, digits, out);
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
    }
    return SS_ERR_USAGE;
}
