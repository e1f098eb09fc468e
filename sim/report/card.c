/* SPDX-License-Identifier: Apache-2.0 */
#include "report/card.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/job.h"

#define WIDTH 1200.0
#define HEIGHT 675.0
#define MARGIN 40.0
#define TIME_LEFT 96.0 /* the folded iteration */
#define TIME_WIDTH 700.0
#define MEMORY_LEFT 880.0 /* memory of the same stages */
#define MEMORY_WIDTH 280.0
#define ROWS_TOP 146.0
#define ROWS_HEIGHT 214.0
#define MOST_ROWS 16
#define STEPS_TOP 448.0 /* from the ideal to the answer */
#define STEPS_HEIGHT 192.0
#define FOOT_LINE 14.0 /* of long changes, below the steps */
#define STEPS_LEFT 356.0
#define STEPS_WIDTH 560.0
#define LONG_WORDS 34    /* flags of a change that get a line of their own */
#define LEAST_STEP 0.004 /* share of the iteration; smaller steps are one */

struct card {
    struct ss_gantt *k;
    const struct ss_run *run;
    const struct ss_card_steps *steps;
    FILE *out;
    double y;             /* of its top */
    int nrows;            /* drawn rows */
    int cls[MOST_ROWS];   /* [row]: the class that stands for its stage */
    double pitch, height; /* of rows */
};

const char *ss_picture_title(const struct ss_program *p, const struct ss_timeline *t,
                             const struct ss_run *run, char *buf, size_t size)
{
    char time[32];

    ss_text_time(t->iteration_s, time, sizeof time);
    if (run && run->plan)
        snprintf(buf, size, "%s on %d x %s (%s), %s an iteration",
                 run->plan->job->model.name[0] ? run->plan->job->model.name : "model", run->plan->world_size,
                 ss_platform_card(run->plan->platform)->name, ss_platform_name(run->plan->platform), time);
    else
        snprintf(buf, size, "%s, %s an iteration", p->name, time);
    return buf;
}

/* ---- head ---- */

static void put_title(const struct card *c)
{
    const struct ss_summary *u = &c->run->summary;
    const struct ss_plan *plan = c->run->plan;
    char text[400], time[32];

    snprintf(text, sizeof text, "%s%s on %d x %s: %s an iteration, %s",
             c->steps->of > 1 ? (c->steps->index ? "B: " : "A: ") : "",
             plan->job->model.name[0] ? plan->job->model.name : "model", plan->world_size,
             ss_platform_card(plan->platform)->name, ss_text_time(u->iteration_s, time, sizeof time),
             ss_outcome_word(u->outcome));
    ss_svg_text(c->out, MARGIN, c->y + 40, "head", text);
}

static void put_answer(const struct card *c)
{
    const struct ss_summary *u = &c->run->summary;
    const struct ss_plan *plan = c->run->plan;
    const struct ss_scenario *s = c->run->scenario;
    char text[600] = "", time[32], more[96], precision[32];

    if (c->steps->against[0])
        ss_append(text, sizeof text, "%s; ", c->steps->against);
    if (s && s->measured_s > 0)
        ss_append(text, sizeof text, "measured %s (%+.1f %%); ",
                  ss_text_time(s->measured_s, time, sizeof time),
                  ss_error_pct(u->iteration_s, s->measured_s));
    if (u->band_pct > 0)
        ss_append(text, sizeof text, "90 %% of such jobs are within %.1f %% below and %.1f %% above; ",
                  -u->time_low_pct, u->time_high_pct);
    ss_append(text, sizeof text, "MFU %.0f %%; ", 100 * u->mfu);
    ss_append(text, sizeof text, "%.1f of %.1f GiB", u->peak_device / SS_GIB, u->capacity / SS_GIB);
    ss_svg_text(c->out, MARGIN, c->y + 62, "say", text);
    snprintf(text, sizeof text, "%s, %s, %s, %d microbatches of %d, sequence %d, stack %s",
             ss_report_precision(plan->job, precision, sizeof precision),
             ss_report_layout(plan, more, sizeof more), plan->schedule->name, plan->microbatches,
             plan->job->micro_batch, plan->job->seq_length, plan->stack->name);
    ss_svg_text(c->out, MARGIN, c->y + 79, "small muted", text);
}

/* ---- the folded iteration ---- */

/* Chooses the stages that have a row: all, or some at equal distances. */
static void choose_rows(struct card *c)
{
    const struct ss_program *p = c->k->program;
    const struct ss_record_book *b = &c->k->part[0].book;
    int stages = 0;

    for (int i = 0; i < p->nclasses; i++)
        stages = p->classes[i].stage >= stages ? p->classes[i].stage + 1 : stages;
    int rows = stages < MOST_ROWS ? stages : MOST_ROWS;
    for (int r = 0; r < rows; r++) {
        int stage = rows > 1 ? (int)((int64_t)r * (stages - 1) / (rows - 1)) : 0;
        for (int i = 0; i < p->nclasses; i++)
            if (p->classes[i].stage == stage && b->shown[i]) {
                c->cls[c->nrows++] = i;
                break;
            }
    }
    c->pitch = fmin(28, ROWS_HEIGHT / (c->nrows ? c->nrows : 1));
    c->height = floor(fmax(c->pitch - 3, 3));
}

/* Draws the legend of the folded iteration, whose lines end above the rows; `more`: height of the lines behind the first. Returns its
 * last line. */
static double put_time_legend(const struct card *c, unsigned phases, double more, FILE *out)
{
    struct ss_legend l;
    char buf[8];

    ss_legend_begin(&l, TIME_LEFT, TIME_LEFT + TIME_WIDTH, c->y + ROWS_TOP - 8 - more, out);
    ss_gantt_legend(&l, phases, c->k->chunks);
    if (phases & 1)
        ss_legend_add(&l, ss_color_phase(-1, 0, 1, buf), "optimizer, start");
    ss_legend_add(&l, ss_tone(SS_TONES_LABEL, SS_LABEL_TP)->color, "exposed communication");
    ss_legend_add(&l, "url(#idle)", "idle");
    return l.y;
}

static void put_timeline(const struct card *c)
{
    struct ss_gantt *k = c->k;
    unsigned phases = 0;
    char text[64];
    double bottom = c->y + ROWS_TOP + c->nrows * c->pitch;

    k->out = c->out;
    k->bare = 1;
    k->smallest = 0.9;
    ss_gantt_place(k, TIME_LEFT, TIME_WIDTH);
    for (int i = 0; i < k->fold.n; i++)
        for (int r = 0; r < c->nrows; r++) {
            const struct ss_lane *lane = &k->part[i].book.lanes[k->part[i].book.first_lane[c->cls[r]]];
            for (size_t b = 0; b < lane->n; b++)
                if (lane->boxes[b].kind == SS_BOX_RUN)
                    phases |= 1u << (k->program->classes[lane->cls].slots[lane->boxes[b].slot].phase + 1);
        }
    double more = put_time_legend(c, phases, 0, NULL) - put_time_legend(c, 0, 0, NULL);
    put_time_legend(c, phases, more, c->out);
    ss_svg_text(c->out, MARGIN, c->y + ROWS_TOP - 26 - more, "part",
                k->fold.n > 1 ? "The iteration, folded" : "The iteration");
    for (int r = 0; r < c->nrows; r++) {
        double y = floor(c->y + ROWS_TOP + r * c->pitch);
        snprintf(text, sizeof text, "stage %d", k->program->classes[c->cls[r]].stage);
        if (c->pitch >= 11 || r % 2 == 0)
            ss_svg_text(c->out, TIME_LEFT - 8, y + c->height / 2 + 4, "small end", text);
        ss_gantt_lane(k, k->part[0].book.first_lane[c->cls[r]], y, c->height);
    }
    for (int i = 0; i < k->fold.n; i++) {
        ss_svg_time_axis_in(c->out, k->part[i].x, bottom + 3, k->part[i].width, bottom, k->fold.part[i].start,
                            k->fold.part[i].end, 1, k->fold.n > 1 ? SS_GANTT_GAP / 2 : 60);
        if (k->fold.n > 1 &&
            ss_text_width(ss_gantt_part_words(k, i, text), 11) < k->part[i].width + SS_GANTT_GAP)
            ss_svg_text(c->out, k->part[i].x + k->part[i].width / 2, bottom + 33, "small mid",
                        ss_gantt_part_words(k, i, text));
    }
    ss_gantt_breaks(k, c->y + ROWS_TOP, bottom + 3);
}

/* ---- memory ---- */

static double stage_bytes(const struct ss_stage_result *s, int mem)
{
    return mem < SS_MEM_COUNT ? s->memory[mem] : ss_result_beside(s);
}

static void put_memory_row(const struct card *c, const struct ss_stage_result *s, double y, double scale)
{
    const struct ss_summary *u = &c->run->summary;
    double x = MEMORY_LEFT, middle = y + c->height / 2;
    char fill[40];

    for (int m = 0; m <= SS_MEM_COUNT; m++) {
        double wide = stage_bytes(s, m) * scale;
        if (!(wide > 0))
            continue;
        fprintf(c->out,
                "<rect class=\"b\" x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" "
                "fill=\"%s\"><title>%s %.1f GiB</title></rect>\n",
                x, y, wide, c->height, ss_tone_fill(ss_tone(SS_TONES_MEMORY, m), fill),
                m < SS_MEM_COUNT ? ss_mem_name(m) : "outside tensors", stage_bytes(s, m) / SS_GIB);
        x += wide;
    }
    if (isfinite(u->memory_low_pct)) {
        double low = MEMORY_LEFT + s->device * (1 + u->memory_low_pct / 100) * scale,
               high = MEMORY_LEFT + s->device * (1 + u->memory_high_pct / 100) * scale,
               tick = fmin(4, c->height / 2);
        fprintf(c->out, "<path class=\"mark\" d=\"M%.2f %.2fH%.2fM%.2f %.2fv%.2fM%.2f %.2fv%.2f\"/>\n", low,
                middle, high, low, middle - tick, 2 * tick, high, middle - tick, 2 * tick);
    }
}

static void put_memory(const struct card *c)
{
    const struct ss_result *r = c->run->result;
    double top = c->y + ROWS_TOP, bottom = top + c->nrows * c->pitch, most = r->capacity;
    struct ss_legend l;
    char text[96];

    for (int s = 0; s < r->nstages; s++)
        most = fmax(most, r->stages[s].device * (1 + fmax(0, c->run->summary.memory_high_pct) / 100));
    double scale = MEMORY_WIDTH / (1.04 * most), limit = MEMORY_LEFT + r->capacity * scale,
           step = ss_round_step(most / SS_GIB, 4);
    ss_svg_text(c->out, MEMORY_LEFT - 50, top - 26, "part", "Memory of each stage");
    for (double at = 0; at * SS_GIB <= most; at += step) {
        snprintf(text, sizeof text, "%g%s", at, at > 0 ? "" : " GiB");
        ss_svg_line(c->out, "grid", MEMORY_LEFT + at * SS_GIB * scale, top, MEMORY_LEFT + at * SS_GIB * scale,
                    bottom + 3);
        ss_svg_text(c->out, MEMORY_LEFT + at * SS_GIB * scale, bottom + 18, "small muted mid", text);
    }
    for (int row = 0; row < c->nrows; row++) {
        int stage = c->k->program->classes[c->cls[row]].stage;
        double y = floor(top + row * c->pitch);
        snprintf(text, sizeof text, "stage %d", stage);
        if (c->pitch >= 11 || row % 2 == 0)
            ss_svg_text(c->out, MEMORY_LEFT - 8, y + c->height / 2 + 4, "small end", text);
        if (stage < r->nstages)
            put_memory_row(c, &r->stages[stage], y, scale);
    }
    ss_svg_line(c->out, "cap", limit, top - 6, limit, bottom + 3);
    snprintf(text, sizeof text, "card %.1f GiB", r->capacity / SS_GIB);
    ss_svg_text(c->out, MEMORY_LEFT + MEMORY_WIDTH, top - 10, "small capt end", text);
    ss_legend_begin(&l, MEMORY_LEFT - 50, WIDTH - MARGIN, bottom + 35, c->out);
    for (int m = 0; m <= SS_MEM_COUNT; m++) {
        double any = 0;
        for (int s = 0; s < r->nstages; s++)
            any = fmax(any, stage_bytes(&r->stages[s], m));
        if (any > 0)
            ss_legend_tone(&l, ss_tone(SS_TONES_MEMORY, m),
                           m < SS_MEM_COUNT ? ss_mem_name(m) : "outside tensors");
    }
}

/* ---- from the ideal to the answer ---- */

static double put_step(const struct card *c, const char *words, double from, double seconds, int tone,
                       double y, double scale)
{
    double x = STEPS_LEFT + from * scale, wide = fabs(seconds) * scale, whole = c->run->summary.iteration_s;
    char text[96], time[32], fill[40];

    if (seconds < 0)
        x -= wide;
    ss_svg_text(c->out, STEPS_LEFT - 12, y + 12, "end", words);
    fprintf(c->out, "<rect class=\"b\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"15\" fill=\"%s\"/>\n", x,
            y, fmax(wide, 0.6), ss_tone_fill(ss_tone(SS_TONES_STEP, tone), fill));
    snprintf(text, sizeof text, "%s%s, %.1f %%", seconds < 0 ? "-" : "",
             ss_text_time(fabs(seconds), time, sizeof time), 100 * seconds / whole);
    ss_svg_text(c->out, x + wide + 8, y + 12, "small muted", text);
    return from + seconds;
}

/* Draws the answer with the band of such jobs, and what was measured. */
static void put_total(const struct card *c, double y, double scale)
{
    const struct ss_summary *u = &c->run->summary;
    const struct ss_scenario *s = c->run->scenario;
    double end = STEPS_LEFT + u->iteration_s * scale, at = end;
    char time[32], text[96];

    ss_svg_text(c->out, STEPS_LEFT - 12, y + 12, "end bold", "this iteration");
    fprintf(c->out, "<rect class=\"total\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"15\"/>\n",
            STEPS_LEFT, y, u->iteration_s * scale);
    if (u->band_pct > 0) {
        double low = STEPS_LEFT + u->iteration_s * (1 + u->time_low_pct / 100) * scale;
        at = STEPS_LEFT + u->iteration_s * (1 + u->time_high_pct / 100) * scale;
        fprintf(c->out, "<path class=\"mark\" d=\"M%.2f %.2fH%.2fM%.2f %.2fv10M%.2f %.2fv10\"/>\n", low,
                y + 7.5, at, low, y + 2.5, at, y + 2.5);
    }
    if (s && s->measured_s > 0)
        fprintf(c->out,
                "<circle class=\"mark bgfill\" cx=\"%.2f\" cy=\"%.2f\" "
                "r=\"4.5\"><title>measured</title></circle>\n",
                STEPS_LEFT + s->measured_s * scale, y + 7.5);
    snprintf(text, sizeof text, "%s%s", ss_text_time(u->iteration_s, time, sizeof time),
             s && s->measured_s > 0 ? "; circle: measured" : "");
    ss_svg_text(c->out, at + 8, y + 12, "small bold", text);
}

/* Draws a change that helps: what remains, and what it wins back. */
static void put_change(const struct card *c, int i, double y, double scale)
{
    double whole = c->run->summary.iteration_s, seconds = c->steps->change[i].seconds,
           x = STEPS_LEFT + seconds * scale;
    char fill[40], text[96], time[32], words[64];
    size_t n = strlen(c->steps->change[i].words);

    if (n > LONG_WORDS)
        snprintf(words, sizeof words, "with change %d, below", i + 1);
    else
        snprintf(words, sizeof words, "with %.40s", c->steps->change[i].words);
    ss_svg_text(c->out, STEPS_LEFT - 12, y + 12, "end", words);
    fprintf(c->out, "<rect class=\"total\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"15\"/>\n",
            STEPS_LEFT, y, seconds * scale);
    fprintf(c->out, "<rect class=\"b\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"15\" fill=\"%s\"/>\n", x,
            y, fmax(0, (whole - seconds) * scale), ss_tone_fill(ss_tone(SS_TONES_STEP, SS_TONE_WINS), fill));
    snprintf(text, sizeof text, "%s, %+.1f %%, %s", ss_text_time(seconds, time, sizeof time),
             100 * (seconds / whole - 1), ss_outcome_word(c->steps->change[i].outcome));
    ss_svg_text(c->out, STEPS_LEFT + whole * scale + 8, y + 12, "small capt", text);
}

/* Writes the changes that have no room beside their bars, over as many lines as they need. Returns the number of lines; without a
 * stream it only counts them. */
static int put_long_changes(const struct card *c, FILE *out)
{
    int lines = 0, all = out ? put_long_changes(c, NULL) : 0;

    for (int i = 0; i < c->steps->nchanges; i++) {
        const char *at = c->steps->change[i].words;
        char text[400], one[400];
        if (strlen(at) <= LONG_WORDS)
            continue;
        snprintf(text, sizeof text, "change %d:", i + 1);
        while (*at) {
            size_t n = strcspn(at, " ");
            ss_copy(one, sizeof one, text);
            ss_append(one, sizeof one, " %.*s", (int)n, at);
            if (ss_text_width(one, 11) > WIDTH - 2 * MARGIN - 90) {
                if (out)
                    ss_svg_text(out, MARGIN, c->y + HEIGHT - 14 - FOOT_LINE * (all - 1 - lines),
                                "small muted", text);
                lines++;
                one[0] = '\0';
                ss_append(one, sizeof one, "    %.*s", (int)n, at);
            }
            ss_copy(text, sizeof text, one);
            at += n;
            at += strspn(at, " ");
        }
        if (out)
            ss_svg_text(out, MARGIN, c->y + HEIGHT - 14 - FOOT_LINE * (all - 1 - lines), "small muted", text);
        lines++;
    }
    return lines;
}

static void put_steps(const struct card *c)
{
    const struct ss_card_steps *s = c->steps;
    double whole = c->run->summary.iteration_s, rest = 0, at = 0, y = c->y + STEPS_TOP + 12;
    double high = c->run->summary.time_high_pct,
           scale = STEPS_WIDTH / fmax(whole * (1 + (high > 0 ? high / 100 : 0)), s->longest);
    int rows = 1 + s->nchanges;
    char text[400];

    snprintf(text, sizeof text,
             "Where the time goes, from the FLOP of the model at the card's peak to the answer%s",
             c->run->result->nstages > 1 ? " (the busiest stage," : "");
    if (c->run->result->nstages > 1)
        ss_append(text, sizeof text, " %d)", s->stage);
    ss_svg_text(c->out, MARGIN, c->y + STEPS_TOP, "part", text);
    for (int i = 0; i < s->n; i++) {
        int small = fabs(s->step[i].seconds) < LEAST_STEP * whole;
        rest += small ? s->step[i].seconds : 0;
        rows += !small;
    }
    double pitch = fmin(22, (STEPS_HEIGHT - FOOT_LINE * put_long_changes(c, NULL)) /
                                (rows + (fabs(rest) > 1e-4 * whole)));
    for (int i = 0; i < s->n; i++)
        if (fabs(s->step[i].seconds) >= LEAST_STEP * whole) {
            at = put_step(c, s->step[i].words, at, s->step[i].seconds, s->step[i].tone, y, scale);
            y += pitch;
        }
    if (fabs(rest) > 1e-4 * whole) {
        put_step(c, "all else", at, rest, SS_TONE_HOST, y, scale);
        y += pitch;
    }
    put_total(c, y, scale);
    for (int i = 0; i < s->nchanges; i++)
        put_change(c, i, y += pitch, scale);
    put_long_changes(c, c->out);
}

void ss_card_write(struct ss_gantt *k, const struct ss_run *run, const struct ss_card_steps *steps, FILE *out)
{
    struct card c = {.k = k, .run = run, .steps = steps, .out = out, .y = HEIGHT * steps->index};
    char title[256];
    int of = c.steps->of > 1 ? c.steps->of : 1;

    if (c.steps->index == 0) {
        ss_picture_title(k->program, k->timeline, c.run, title, sizeof title);
        ss_svg_begin(out, WIDTH, HEIGHT * of, title,
                     "The folded iteration by pipeline stage; memory of each stage with the range of such "
                     "jobs and the limit of "
                     "the card; the time from the FLOP of the model at the card's peak to the answer.");
        ss_svg_tones(out, SS_TONES_MEMORY);
        ss_svg_tones(out, SS_TONES_STEP);
    }
    choose_rows(&c);
    put_title(&c);
    put_answer(&c);
    put_timeline(&c);
    put_memory(&c);
    put_steps(&c);
    if (c.steps->index + 1 >= of) {
        snprintf(title, sizeof title, "stepsim %s", ss_version());
        ss_svg_text(out, WIDTH - MARGIN, HEIGHT * of - 14, "small muted end", title);
        ss_svg_end(out);
    }
}
