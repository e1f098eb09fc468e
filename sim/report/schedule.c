/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a schedule as a chart of letters, and the table of all known schedules. */
#include "report/common.h"

int ss_report_schedules(int json, FILE *out, struct ss_error *err)
{
    const struct ss_schedule_facts *facts;
    const char *name, *description;
    struct ss_json *o = json ? ss_json_document("schedule list") : NULL,
                   *list = json ? ss_json_begin_list() : NULL;
    for (int n = 0; ss_schedule_known(n, &name, &description); n++) {
        facts = ss_schedule_known_facts(n);
        if (!json) {
            fprintf(out, "%s%s\n  %s\n", n ? "\n" : "", name, description);
            fprintf(out, "  bubble %s, %s in flight%s%s\n  %s\n", facts->bubble, facts->in_flight,
                    facts->conditions[0] ? "; needs " : "", facts->conditions, facts->source);
            continue;
        }
        SS_ITEM(list,
                SS_OBJECT(SS_KEY("name", name), SS_KEY("description", description), SS_SAME(facts, source),
                          SS_SAME(facts, conditions), SS_SAME(facts, bubble), SS_SAME(facts, in_flight)));
    }
    if (!json) {
        fprintf(
            out,
            "\np ranks, m microbatches, v chunks a rank; F, I, W, B = I + W: times of one chunk, FB of a "
            "pair.\n"
            "In flight: most chunks of microbatches that a rank keeps. Bubble: without a global barrier.\n");
        return ss_report_done(out, err);
    }
    SS_PUT(o, SS_KEY("schedules", list));
    return ss_json_write(o, out, err);
}

/* ---- chart ---- */

struct chart {
    const struct ss_schedule *s;
    const struct ss_schedule_view *view;
    double **start, **end; /* [rank][slot] */
    double *room;
    double makespan, unit; /* unit: columns a second */
    FILE *out;
};

/* Returns the colour of a phase, which is dark for odd chunks. */
static const char *colour(int phase, int chunk)
{
    static const char *const light[] = {"\033[30;104m", "\033[30;102m", "\033[30;106m", "\033[30;103m"};
    static const char *const dark[] = {"\033[97;44m", "\033[97;42m", "\033[97;46m", "\033[97;43m"};
    return (chunk % 2 ? dark : light)[phase];
}

static void times_of(const struct ss_schedule_view *v, const struct ss_schedule *s, double *buffer,
                     const double *duration[SS_PHASE_COUNT])
{
    double t[4];
    t[SS_PHASE_F] = v->times[0];
    t[SS_PHASE_B] = v->times[1] + v->times[2];
    t[SS_PHASE_I] = v->times[1];
    t[SS_PHASE_W] = v->times[2];
    for (int phase = 0; phase < 4; phase++) {
        duration[phase] = buffer + phase * s->chunks;
        for (int c = 0; c < s->chunks; c++)
            buffer[phase * s->chunks + c] = t[phase];
    }
    duration[SS_PHASE_FB] = NULL;
}

/* Writes a label, "F12"; its letter is in lower case for odd chunks, so that chunks are told apart
 * without colours. */
static int label_of(int phase, int chunk, int microbatch, char buf[24])
{
    static const char upper[] = "FBIW", lower[] = "fbiw";
    return snprintf(buf, 24, "%c%d", (chunk % 2 ? lower : upper)[phase], microbatch);
}

/* Writes the columns `from` to `to` - 1, cut to the panel, with the label if there is room for it. */
static void put(const struct chart *x, char *line, unsigned char *paint, int width, double from, double to,
                int phase, int chunk, int microbatch)
{
    int a = (int)lround(from), b = (int)lround(to);
    char label[24];
    int n = label_of(phase, chunk, microbatch, label);
    (void)x;
    for (int c = a < 0 ? 0 : a; c < b && c < width; c++) {
        int at = c - a;
        line[c] = at < n && n <= b - a ? label[at] : at == 0 ? label[0] : '-';
        paint[c] = (unsigned char)(1 + phase * 2 + chunk % 2);
    }
}

static void put_slot(const struct chart *x, int rank, int i, double left, char *line, unsigned char *paint,
                     int width)
{
    const struct ss_slot *slot = &x->s->slots[rank][i];
    double a = (x->start[rank][i] - left) * x->unit, b = (x->end[rank][i] - left) * x->unit;
    if (b <= 0 || a >= width)
        return;
    if (slot->phase != SS_PHASE_FB) {
        put(x, line, paint, width, a, b, slot->phase, slot->chunk, slot->microbatch);
        return;
    }
    double cut = a + x->view->times[0] * x->unit;
    put(x, line, paint, width, a, cut, SS_PHASE_F, slot->chunk, slot->microbatch);
    put(x, line, paint, width, cut, b, SS_PHASE_B, slot->chunk2, slot->microbatch2);
}

static void print_line(const struct chart *x, int rank, const char *line, const unsigned char *paint,
                       int width)
{
    int last = width;
    while (last > 0 && !paint[last - 1])
        last--;
    fprintf(x->out, "%4d  ", rank);
    for (int c = 0, on = 0; c < last; c++) {
        if (x->view->color && paint[c] != on)
            fputs(paint[c] ? colour((paint[c] - 1) / 2, (paint[c] - 1) % 2) : "\033[0m", x->out);
        on = paint[c];
        fputc(paint[c] ? line[c] : x->view->color ? ' ' : '.', x->out);
    }
    fputs(x->view->color && last ? "\033[0m\n" : "\n", x->out);
}

static int draw(struct chart *x, int width, struct ss_error *err)
{
    char *line = ss_calloc((size_t)width + 1, 1);
    unsigned char *paint = ss_calloc((size_t)width + 1, 1);
    int all = (int)lround(ceil(x->makespan * x->unit - 1e-9));
    for (int at = 0; line && paint && at < all; at += width) {
        double left = at / x->unit;
        int columns = all - at < width ? all - at : width;
        fprintf(x->out, "%stime %g\n", at ? "\n" : "", left);
        for (int r = 0; r < x->s->stages; r++) {
            memset(paint, 0, (size_t)width);
            for (int i = 0; i < x->s->nslots[r]; i++)
                put_slot(x, r, i, left, line, paint, columns);
            print_line(x, r, line, paint, columns);
        }
    }
    int rc = line && paint ? SS_OK : ss_nomem(err);
    SS_FREE(line, paint);
    return rc;
}

/* Chooses the unit so that the shortest slot has room for its label and a blank, and that a slot has a
 * whole number of columns if possible. */
static double choose_unit(const struct chart *x)
{
    double shortest = INFINITY;
    int digits = 1;
    for (int m = x->s->microbatches - 1; m >= 10; m /= 10)
        digits++;
    for (int k = 0; k < 3; k++)
        if (x->view->times[k] > 0)
            shortest = fmin(shortest, x->view->times[k]);
    return isfinite(shortest) ? (digits + 1) / shortest : 1;
}

static void summary(const struct chart *x, const double *bubble)
{
    const struct ss_schedule *s = x->s;
    double worst = 0;
    int most = 0;
    for (int r = 0; r < s->stages; r++) {
        worst = fmax(worst, bubble[r]);
        most = ss_schedule_in_flight(s, r) > most ? ss_schedule_in_flight(s, r) : most;
    }
    fprintf(x->out, "%s: %d ranks, %d chunk%s a rank, %d microbatches%s\n", s->name, s->stages, s->chunks,
            ss_plural(s->chunks), ss_schedule_microbatches(s),
            s->pipelines > 1 ? ", half from each end" : "");
    fprintf(x->out, "F %g, I %g, W %g, B %g%s; length %g, bubble inside a rank %g, at most %d in flight\n\n",
            x->view->times[0], x->view->times[1], x->view->times[2], x->view->times[1] + x->view->times[2],
            s->chunks > 1 ? " of a chunk" : "", x->makespan, worst, most);
}

static struct ss_json *slot_object(const struct ss_slot *slot, double start, double end)
{
    const int pair = slot->phase == SS_PHASE_FB;

    return SS_OBJECT(SS_KEY("phase", ss_phase_name(slot->phase)), SS_SAME(slot, chunk),
                     SS_SAME(slot, microbatch), SS_KEY_IF(pair, "chunk2", slot->chunk2),
                     SS_KEY_IF(pair, "microbatch2", slot->microbatch2), SS_KEY("start", start),
                     SS_KEY("end", end));
}

static int show_json(const struct chart *x, const double *bubble, struct ss_error *err)
{
    const struct ss_schedule *s = x->s;
    struct ss_json *o = ss_json_document("schedule show"), *ranks = ss_json_begin_list();
    for (int r = 0; r < s->stages; r++) {
        struct ss_json *slots = ss_json_begin_list();
        for (int i = 0; i < s->nslots[r]; i++)
            SS_ITEM(slots, slot_object(&s->slots[r][i], x->start[r][i], x->end[r][i]));
        SS_ITEM(ranks, SS_OBJECT(SS_KEY("bubble", bubble[r]),
                                 SS_KEY("in_flight", ss_schedule_in_flight(s, r)), SS_KEY("slots", slots)));
    }
    SS_PUT(o, SS_KEY("schedule", s->name), SS_SAME(s, stages), SS_SAME(s, chunks),
           SS_KEY("microbatches", ss_schedule_microbatches(s)),
           SS_KEY("pipelines", s->pipelines > 1 ? s->pipelines : 1), SS_KEY("p2p", ss_p2p_name(s->p2p)),
           SS_KEY("length", x->makespan), SS_KEY("ranks", ranks));
    return ss_json_write(o, x->out, err);
}

static int show(struct chart *x, double *bubble, double *buffer, struct ss_error *err)
{
    const double *duration[SS_PHASE_COUNT];
    times_of(x->view, x->s, buffer, duration);
    int rc = ss_schedule_times(x->s, duration, x->start, x->end, err);
    SS_THEN(rc, ss_schedule_bubble(x->s, duration, bubble, err));
    for (int r = 0; !rc && r < x->s->stages; r++)
        if (x->s->nslots[r])
            x->makespan = fmax(x->makespan, x->end[r][x->s->nslots[r] - 1]);
    if (rc || x->view->json)
        return rc ? rc : show_json(x, bubble, err);
    int width = x->view->width - 6;
    x->unit = choose_unit(x);
    summary(x, bubble);
    rc = draw(x, width < 20 ? 20 : width, err);
    return rc ? rc : ss_report_done(x->out, err);
}

int ss_report_schedule(const struct ss_schedule *s, const struct ss_schedule_view *view, FILE *out,
                       struct ss_error *err)
{
    struct chart x = {.s = s, .view = view, .out = out};
    size_t p = (size_t)s->stages, n = 0;
    for (size_t r = 0; r < p; r++)
        n += (size_t)s->nslots[r];
    x.room = ss_calloc(2 * n + p + 4 * (size_t)s->chunks, sizeof *x.room);
    x.start = ss_calloc(2 * p, sizeof *x.start);
    int rc = x.room && x.start ? SS_OK : ss_nomem(err);
    if (!rc) {
        x.end = x.start + p;
        for (size_t r = 0, at = 0; r < p; at += (size_t)s->nslots[r++]) {
            x.start[r] = x.room + at;
            x.end[r] = x.room + n + at;
        }
        rc = show(&x, x.room + 2 * n, x.room + 2 * n + p, err);
    }
    SS_FREE(x.start, x.room);
    return rc;
}
