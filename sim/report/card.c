/* SPDX-License-Identifier: Apache-2.0 */
#include "report/card.h"

#include "report/common.h"
#include "report/svg.h"
#include "report/text.h"
#include "stepsim/job.h"

#define WIDTH 1200.0
#define HEIGHT 675.0 /* of a slide; a narrow card has its parts below each other and is as high as they are */
#define NARROW 1000.0        /* narrower ones are */
#define NARROW_HEIGHT 1320.0 /* of each of two */
#define STAGE 56.0           /* width of "stage 7" before a row */
#define MEMORY_WIDTH 280.0   /* beside the folded iteration */
#define ROWS_HEIGHT 214.0
#define MOST_ROWS 16
#define FOOT 23.0        /* below the steps */
#define LABELS 316.0     /* width of what stands before a step, where it does not stand above */
#define LONG_WORDS 34    /* flags of a change that get a line of their own */
#define LEAST_STEP 0.004 /* share of the iteration; smaller steps are one */

struct card {
    struct ss_gantt *k;
    const struct ss_run *run;
    const struct ss_card_steps *steps;
    FILE *out;
    double y, width, margin, bottom; /* y: of its top */
    int narrow;                      /* 1: its parts stand below each other */
    int nrows;                       /* drawn rows */
    int cls[MOST_ROWS];              /* [row]: the class that stands for its stage */
    double pitch, height;            /* of rows */
    double time_left, time_width;    /* the folded iteration */
    double memory_left, memory_width;
    double steps_left, steps_width; /* from the ideal to the answer */
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

/* Returns how much lower the last line is. */
static double put_title(const struct card *c, FILE *out)
{
    const struct ss_summary *u = &c->run->summary;
    const struct ss_plan *plan = c->run->plan;
    char text[400], time[32];

    snprintf(text, sizeof text, "%s%s on %d x %s: %s an iteration, %s",
             c->steps->of > 1 ? (c->steps->index ? "B: " : "A: ") : "",
             plan->job->model.name[0] ? plan->job->model.name : "model", plan->world_size,
             ss_platform_card(plan->platform)->name, ss_text_time(u->iteration_s, time, sizeof time),
             ss_outcome_word(u->outcome));
    return ss_svg_lines(out, c->margin, c->y + 40, c->width - 2 * c->margin, c->narrow ? "title" : "head",
                        text);
}

/* Writes the answer and the layout below the title. Returns the last line; without a stream it only measures. */
static double put_answer(const struct card *c, FILE *out)
{
    const struct ss_summary *u = &c->run->summary;
    const struct ss_plan *plan = c->run->plan;
    const struct ss_scenario *s = c->run->scenario;
    char text[600] = "", time[32], more[96], precision[32];
    double wide = c->width - 2 * c->margin, y = c->y + 62 + put_title(c, out);

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
    y += ss_svg_lines(out, c->margin, y, wide, "say", text) + 17;
    snprintf(text, sizeof text, "%s, %s, %s, %d microbatches of %d, sequence %d, stack %s",
             ss_report_precision(plan->job, precision, sizeof precision),
             ss_report_layout(plan, more, sizeof more), plan->schedule->name, plan->microbatches,
             plan->job->micro_batch, plan->job->seq_length, plan->stack->name);
    return y + ss_svg_lines(out, c->margin, y, wide, "small muted", text);
}

/* Counts the rows of the steps and sums up those that are too small for one. */
static int count_rows(const struct card *c, double *rest)
{
    const struct ss_card_steps *s = c->steps;
    double whole = c->run->summary.iteration_s;
    int rows = 1 + s->nchanges;

    *rest = 0;
    for (int i = 0; i < s->n; i++) {
        int small = fabs(s->step[i].seconds) < LEAST_STEP * whole;
        *rest += small ? s->step[i].seconds : 0;
        rows += !small;
    }
    *rest = fabs(*rest) > 1e-4 * whole ? *rest : 0;
    return rows + (*rest != 0);
}

/* ---- the folded iteration ---- */

/* Chooses the stages that have a row: all, or some at equal distances. */
static void choose_rows(struct card *c)
{
    const struct ss_program *p = c->k->program;
    const struct ss_record_book *b = &c->k->part[0].book;
    int stages = 0;
    double rest;

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
    c->pitch = fmin(56, (ROWS_HEIGHT - 9.5 * fmin(4, fmax(0, count_rows(c, &rest) - 9))) /
                            (c->nrows ? c->nrows : 1));
    c->height = floor(fmax(c->pitch - 3, 3));
}

/* Draws the legend of the folded iteration. Returns its last line. */
static double put_time_legend(const struct card *c, double y)
{
    const struct ss_gantt *k = c->k;
    unsigned phases = 0;
    struct ss_legend l;
    char buf[8];

    for (int i = 0; i < k->fold.n; i++)
        for (int r = 0; r < c->nrows; r++) {
            const struct ss_lane *lane = &k->part[i].book.lanes[k->part[i].book.first_lane[c->cls[r]]];
            for (size_t b = 0; b < lane->n; b++)
                if (lane->boxes[b].kind == SS_BOX_RUN)
                    phases |= 1u << (k->program->classes[lane->cls].slots[lane->boxes[b].slot].phase + 1);
        }
    ss_legend_begin(&l, c->time_left, c->time_left + c->time_width, y, c->out);
    ss_gantt_legend(&l, phases, c->k->chunks);
    if (phases & 1)
        ss_legend_add(&l, ss_color_phase(-1, 0, 1, buf), "optimizer, start");
    ss_legend_add(&l, ss_tone(SS_TONES_LABEL, SS_LABEL_TP)->color, "exposed communication");
    ss_legend_add(&l, "url(#idle)", "idle");
    return l.y;
}

static void put_stage(const struct card *c, int row, double x, double y)
{
    char text[64];

    snprintf(text, sizeof text, "stage %d", c->k->program->classes[c->cls[row]].stage);
    if (c->pitch >= 11 || row % 2 == 0)
        ss_svg_text(c->out, x - 8, y + c->height / 2 + 4, "small end", text);
}

/* Draws the folded iteration below its name, which stands at y. Returns the top of its rows. */
static double put_timeline(const struct card *c, double y)
{
    struct ss_gantt *k = c->k;
    char text[64];
    double top, bottom;

    k->out = c->out;
    k->bare = 1;
    k->smallest = 0.9;
    ss_gantt_place(k, c->time_left, c->time_width);
    ss_svg_text(c->out, c->margin, y, "part", k->fold.n > 1 ? "The iteration, folded" : "The iteration");
    top = put_time_legend(c, y + 18) + 8;
    bottom = top + c->nrows * c->pitch;
    for (int r = 0; r < c->nrows; r++) {
        put_stage(c, r, c->time_left, floor(top + r * c->pitch));
        ss_gantt_lane(k, k->part[0].book.first_lane[c->cls[r]], floor(top + r * c->pitch), c->height);
    }
    for (int i = 0; i < k->fold.n; i++) {
        ss_svg_time_axis_in(c->out, k->part[i].x, bottom + 3, k->part[i].width, bottom, k->fold.part[i].start,
                            k->fold.part[i].end, 1, k->fold.n > 1 ? SS_GANTT_GAP / 2 : 60);
        if (k->fold.n > 1 &&
            ss_text_width(ss_gantt_part_words(k, i, text), 11) < k->part[i].width + SS_GANTT_GAP)
            ss_svg_text(c->out, k->part[i].x + k->part[i].width / 2, bottom + 33, "small mid",
                        ss_gantt_part_words(k, i, text));
    }
    ss_gantt_breaks(k, top, bottom + 3);
    return top;
}

/* ---- memory ---- */

static double stage_bytes(const struct ss_stage_result *s, int mem)
{
    return mem < SS_MEM_COUNT ? s->memory[mem] : ss_result_beside(s);
}

static void put_memory_row(const struct card *c, const struct ss_stage_result *s, double y, double scale)
{
    const struct ss_summary *u = &c->run->summary;
    double x = c->memory_left, middle = y + c->height / 2;
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
        double low = c->memory_left + s->device * (1 + u->memory_low_pct / 100) * scale,
               high = c->memory_left + s->device * (1 + u->memory_high_pct / 100) * scale,
               tick = fmin(4, c->height / 2);
        fprintf(c->out, "<path class=\"mark\" d=\"M%.2f %.2fH%.2fM%.2f %.2fv%.2fM%.2f %.2fv%.2f\"/>\n", low,
                middle, high, low, middle - tick, 2 * tick, high, middle - tick, 2 * tick);
    }
}

/* Draws memory below its name, which stands at y, its rows below `top`. Returns the last line of its legend. */
static double put_memory(const struct card *c, double y, double top)
{
    const struct ss_result *r = c->run->result;
    double bottom = top + c->nrows * c->pitch, most = r->capacity;
    struct ss_legend l;
    char text[96];

    for (int s = 0; s < r->nstages; s++)
        most = fmax(most, r->stages[s].device * (1 + fmax(0, c->run->summary.memory_high_pct) / 100));
    double scale = c->memory_width / (1.04 * most), limit = c->memory_left + r->capacity * scale,
           step = ss_round_step(most / SS_GIB, 6);
    ss_svg_text(c->out, c->memory_left - STAGE, y, "part", "Memory of each stage");
    for (double at = 0; at * SS_GIB <= most; at += step) {
        snprintf(text, sizeof text, "%g%s", at, at > 0 ? "" : " GiB");
        ss_svg_line(c->out, "grid", c->memory_left + at * SS_GIB * scale, top,
                    c->memory_left + at * SS_GIB * scale, bottom + 3);
        ss_svg_text(c->out, c->memory_left + at * SS_GIB * scale, bottom + 18, "small muted mid", text);
    }
    for (int row = 0; row < c->nrows; row++) {
        int stage = c->k->program->classes[c->cls[row]].stage;
        put_stage(c, row, c->memory_left, floor(top + row * c->pitch));
        if (stage < r->nstages)
            put_memory_row(c, &r->stages[stage], floor(top + row * c->pitch), scale);
    }
    ss_svg_line(c->out, "cap", limit, top - 6, limit, bottom + 3);
    snprintf(text, sizeof text, "card %.1f GiB", r->capacity / SS_GIB);
    ss_svg_text(c->out, c->memory_left + c->memory_width, top - 10, "small capt end", text);
    ss_legend_begin(&l, c->memory_left - STAGE, c->width - c->margin, bottom + 35, c->out);
    for (int m = 0; m <= SS_MEM_COUNT; m++) {
        double any = 0;
        for (int s = 0; s < r->nstages; s++)
            any = fmax(any, stage_bytes(&r->stages[s], m));
        if (any > 0)
            ss_legend_tone(&l, ss_tone(SS_TONES_MEMORY, m),
                           m < SS_MEM_COUNT ? ss_mem_name(m) : "outside tensors");
    }
    return l.y;
}

/* ---- from the ideal to the answer ---- */

/* A row of the steps: words, a bar, figures; or the bar below both in a narrow card. */
struct step_row {
    const struct card *c;
    double y, high, scale; /* y: of the bar, which is so high */
};

static void put_bar(const struct step_row *r, double from, double seconds, const char *attributes)
{
    fprintf(r->c->out, "<rect %s x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%g\"/>\n", attributes,
            r->c->steps_left + from * r->scale, r->y, fmax(seconds * r->scale, 0.6), r->high);
}

static void put_tone(const struct step_row *r, double from, double seconds, int tone)
{
    char fill[40], attributes[64];

    snprintf(attributes, sizeof attributes, "class=\"b\" fill=\"%s\"",
             ss_tone_fill(ss_tone(SS_TONES_STEP, tone), fill));
    put_bar(r, from, seconds, attributes);
}

/* Writes the words of a row, and its figures behind the end of its bar, in s, or at the right. */
static void put_words(const struct step_row *r, const char *words, double end, const char *figures,
                      const char *kind)
{
    const struct card *c = r->c;
    double base = c->narrow ? r->y - 5 : r->y + r->high / 2 + 4.5, right = c->width - c->margin;
    char class_name[48];

    snprintf(class_name, sizeof class_name, strstr(kind, "bold") ? "%s bold" : "%s", c->narrow ? "" : "end");
    ss_svg_text(c->out, c->narrow ? c->margin : c->steps_left - 12, base, class_name, words);
    snprintf(class_name, sizeof class_name, c->narrow ? "small %s end" : "small %s", kind);
    ss_svg_text(c->out, c->narrow ? right : c->steps_left + end * r->scale + 8, base, class_name, figures);
}

static double put_step(const struct step_row *r, const char *words, double from, double seconds, int tone)
{
    double whole = r->c->run->summary.iteration_s, left = seconds < 0 ? from + seconds : from;
    char text[96], time[32];

    put_tone(r, left, fabs(seconds), tone);
    snprintf(text, sizeof text, "%s%s, %.1f %%", seconds < 0 ? "-" : "",
             ss_text_time(fabs(seconds), time, sizeof time), 100 * seconds / whole);
    put_words(r, words, left + fabs(seconds), text, "muted");
    return from + seconds;
}

/* Draws the answer with the band of such jobs, and what was measured. */
static void put_total(const struct step_row *r)
{
    const struct card *c = r->c;
    const struct ss_summary *u = &c->run->summary;
    const struct ss_scenario *s = c->run->scenario;
    double end = u->iteration_s, middle = r->y + r->high / 2;
    char time[32], text[96];

    put_bar(r, 0, u->iteration_s, "class=\"total\"");
    if (u->band_pct > 0) {
        double low = c->steps_left + u->iteration_s * (1 + u->time_low_pct / 100) * r->scale, at;
        end = u->iteration_s * (1 + u->time_high_pct / 100);
        at = c->steps_left + end * r->scale;
        fprintf(c->out, "<path class=\"mark\" d=\"M%.2f %.2fH%.2fM%.2f %.2fv10M%.2f %.2fv10\"/>\n", low,
                middle, at, low, middle - 5, at, middle - 5);
    }
    if (s && s->measured_s > 0)
        fprintf(c->out,
                "<circle class=\"mark bgfill\" cx=\"%.2f\" cy=\"%.2f\" "
                "r=\"4.5\"><title>measured</title></circle>\n",
                c->steps_left + s->measured_s * r->scale, middle);
    snprintf(text, sizeof text, "%s%s", ss_text_time(u->iteration_s, time, sizeof time),
             s && s->measured_s > 0 ? "; circle: measured" : "");
    put_words(r, "this iteration", end, text, "bold");
}

/* Draws a change that helps: what remains, and what it wins back. */
static void put_change(const struct step_row *r, int i)
{
    const struct card *c = r->c;
    double whole = c->run->summary.iteration_s, seconds = c->steps->change[i].seconds;
    char text[96], time[32], words[64];

    if (strlen(c->steps->change[i].words) > LONG_WORDS)
        snprintf(words, sizeof words, "with change %d, below", i + 1);
    else
        snprintf(words, sizeof words, "with %.40s", c->steps->change[i].words);
    put_bar(r, 0, seconds, "class=\"total\"");
    put_tone(r, seconds, fmax(0, whole - seconds), SS_TONE_WINS);
    snprintf(text, sizeof text, "%s, %+.1f %%, %s", ss_text_time(seconds, time, sizeof time),
             100 * (seconds / whole - 1), ss_outcome_word(c->steps->change[i].outcome));
    put_words(r, words, whole, text, "capt");
}

/* Writes the changes that have no room beside their bars, the first at y. Returns the height of their lines; without a stream it only
 * measures. */
static double put_long_changes(const struct card *c, double y, FILE *out)
{
    double height = 0;
    char text[400];

    for (int i = 0; i < c->steps->nchanges; i++) {
        if (strlen(c->steps->change[i].words) <= LONG_WORDS)
            continue;
        snprintf(text, sizeof text, "change %d: %s", i + 1, c->steps->change[i].words);
        height +=
            14 + ss_svg_lines(out, c->margin, y + height, c->width - 2 * c->margin - 90, "small muted", text);
    }
    return height;
}

/* Draws the steps below y, as high as they need or as there is room. Returns the last line of the card. */
static double put_steps(const struct card *c, double y)
{
    const struct ss_card_steps *s = c->steps;
    double whole = c->run->summary.iteration_s, rest, at = 0, high = c->run->summary.time_high_pct;
    struct step_row r = {
        .c = c, .scale = c->steps_width / fmax(whole * (1 + (high > 0 ? high / 100 : 0)), s->longest)};
    int rows = count_rows(c, &rest);
    double foot = put_long_changes(c, 0, NULL), most = c->narrow ? 38 : 32;
    char text[400];

    snprintf(text, sizeof text,
             "Where the time goes, from the FLOP of the model at the card's peak to the answer%s",
             c->run->result->nstages > 1 ? " (the busiest stage," : "");
    if (c->run->result->nstages > 1)
        ss_append(text, sizeof text, " %d)", s->stage);
    y += ss_svg_lines(c->out, c->margin, y, c->width - 2 * c->margin, "part", text) + 12;
    double room = c->bottom - FOOT + 14 - foot - y, pitch = room > 0 ? fmin(most, room / rows) : most,
           above = c->narrow ? 17 : 0,
           bottom = c->bottom > 0 ? c->bottom : y + rows * most + foot + FOOT - 14;
    r.high = fmax(4, fmin(18, pitch - above - 7));
    r.y = y + above;
    for (int i = 0; i < s->n; i++)
        if (fabs(s->step[i].seconds) >= LEAST_STEP * whole) {
            at = put_step(&r, s->step[i].words, at, s->step[i].seconds, s->step[i].tone);
            r.y += pitch;
        }
    if (rest != 0) {
        put_step(&r, "all else", at, rest, SS_TONE_HOST);
        r.y += pitch;
    }
    put_total(&r);
    for (int i = 0; i < s->nchanges; i++) {
        r.y += pitch;
        put_change(&r, i);
    }
    put_long_changes(c, bottom - foot + (foot > 0 ? 14 : 0), c->out);
    return bottom;
}

/* ---- the card ---- */

static void place(struct card *c)
{
    c->narrow = c->width < NARROW;
    c->margin = c->narrow ? 24 : 40;
    c->time_left = c->margin + STAGE;
    c->memory_width = c->narrow ? c->width - 2 * c->margin - STAGE : MEMORY_WIDTH;
    c->memory_left = c->width - c->margin - c->memory_width;
    c->time_width = (c->narrow ? c->width - c->margin : c->memory_left - STAGE - 28) - c->time_left;
    c->steps_left = c->margin + (c->narrow ? 0 : LABELS);
    c->steps_width = c->narrow ? c->width - 2 * c->margin : c->width - c->margin - 244 - c->steps_left;
}

/* Draws all but the frame. Returns the last line. */
static double put_parts(const struct card *c)
{
    double y = put_answer(c, c->out) + 41, top = put_timeline(c, y), low = top + c->nrows * c->pitch + 33,
           memory;

    memory = c->narrow ? put_memory(c, low + 36, low + 62) : put_memory(c, y, top);
    return put_steps(c, fmax(low, memory) + 36);
}

int ss_card_write(struct ss_gantt *k, const struct ss_run *run, const struct ss_card_steps *steps,
                  double width, FILE *out)
{
    struct card c = {.k = k, .run = run, .steps = steps, .width = width > 0 ? width : WIDTH};
    int of = steps->of > 1 ? steps->of : 1;
    double height = c.width < NARROW ? NARROW_HEIGHT : HEIGHT, last;
    char title[256], *parts = NULL;
    size_t size;

    c.y = height * steps->index;
    c.bottom = c.width < NARROW && of == 1 ? 0 : c.y + height - 14;
    place(&c);
    choose_rows(&c);
    c.out = open_memstream(&parts, &size);
    last = c.out ? put_parts(&c) : 0;
    if (!c.out || fclose(c.out)) {
        free(parts);
        return SS_ERR_NOMEM;
    }
    if (steps->index == 0) {
        ss_picture_title(k->program, k->timeline, run, title, sizeof title);
        ss_svg_begin(out, c.width, of > 1 ? height * of : last + 14, title,
                     "The folded iteration by pipeline stage; memory of each stage with the range of such "
                     "jobs and the limit of "
                     "the card; the time from the FLOP of the model at the card's peak to the answer.");
        ss_svg_tones(out, SS_TONES_MEMORY);
        ss_svg_tones(out, SS_TONES_STEP);
    }
    fputs(parts, out);
    free(parts);
    if (steps->index + 1 >= of) {
        snprintf(title, sizeof title, "stepsim %s", ss_version());
        ss_svg_text(out, c.width - c.margin, last, "small muted end", title);
        ss_svg_end(out);
    }
    return SS_OK;
}
