/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison or a search for people and scripts. */
#include "report/common.h"
#include "report/text.h"
#include "study/schedule_order.h"
#include "study/schedule_strip.h"

/* ---- compare ---- */

/* Returns the most that a stage keeps. */
static double most_kept(const struct ss_compare_row *r)
{
    double most = 0;
    for (int s = 0; s < r->stages; s++)
        most = fmax(most, r->activation[s]);
    return most;
}

/* Fills a row for text; a schedule that is refused has a name alone. */
static void fill_row(struct ss_row *to, const struct ss_compare_row *r, double best)
{
    const struct ss_summary *s = &r->summary;
    SS_ADD(to, SS_SAME(r, name));
    if (s->code)
        return;
    SS_ADD(to, SS_SAME(r, chunks), SS_SAME(s, iteration_s), SS_KEY("slower", s->iteration_s / best - 1),
           SS_SAME(s, bubble_fraction), SS_SAME(r, inner_bubble), SS_SAME(s, imbalance_fraction),
           SS_SAME(s, exposed_s), SS_SAME(r, sends), SS_KEY("kept", most_kept(r)),
           SS_KEY("device", s->peak_device), SS_KEY("verdict", ss_outcome_word(s->outcome)));
}

/* Writes the activations of every stage. The table has only the largest. */
static void stage_rows(const struct ss_comparison *c, FILE *out)
{
    fprintf(out, "\nPeak of activations by stage, %s\n",
            c->cluster ? "GiB" : "in microbatches of a whole stage");
    for (int i = 0; i < c->n; i++) {
        const struct ss_compare_row *r = &c->rows[i];
        if (r->summary.code)
            continue;
        fprintf(out, "  %-18s", r->name);
        for (int s = 0; s < r->stages; s++) {
            if (s && s % 8 == 0)
                fprintf(out, "\n  %-18s", "");
            fprintf(out, " %6.4g", c->cluster ? r->activation[s] / SS_GIB : r->activation[s]);
        }
        fputc('\n', out);
    }
}

/* Returns the card's memory, which all rows share. */
static double capacity(const struct ss_comparison *c)
{
    double bytes = 0;
    for (int i = 0; i < c->n; i++)
        bytes = fmax(bytes, c->rows[i].summary.capacity);
    return bytes;
}

static int compare_text(const struct ss_comparison *c, const struct ss_display *view, FILE *out,
                        struct ss_error *err)
{
    static const struct ss_column steps[] = {{"name", "schedule", "%-s", 1, 0},
                                             {"chunks", "v", "%.0f", 1, 1},
                                             {"iteration_s", "iteration", "%.6g", 1, 0},
                                             {"bubble_fraction", "bubble", "%.2f %%", 100, 0},
                                             {"inner_bubble", "inside a rank", "%.6g", 1, 0},
                                             {"kept", "in flight", "%.4g", 1, 0},
                                             {"sends", "sends", "%.0f", 1, 1}};
    char device[32];
    const struct ss_column times[] = {{"name", "schedule", "%-s", 1, 0},
                                      {"chunks", "v", "%.0f", 1, 2},
                                      {"iteration_s", "iteration", "%9s", 1, 0},
                                      {"slower", "slower", "%+.1f %%", 100, 0},
                                      {"bubble_fraction", "bubble", "%.1f %%", 100, 0},
                                      {"imbalance_fraction", "imbalance", "%.1f %%", 100, 0},
                                      {"exposed_s", "exposed", "%.1f ms", 1e3, 2},
                                      {"sends", "sends", "%.0f", 1, 3},
                                      {"kept", "act\nGiB", "%.1f", 1 / SS_GIB, 0},
                                      {"device", device, "%.1f", 1 / SS_GIB, 0},
                                      {"verdict", "verdict", "%-s", 1, 0}};
    struct ss_grid grid;
    double best = INFINITY;
    int rc = SS_OK;
    snprintf(device, sizeof device, "GiB of\n%.1f", capacity(c) / SS_GIB);
    for (int i = 0; i < c->n; i++)
        if (!c->rows[i].summary.code)
            best = fmin(best, c->rows[i].summary.iteration_s);
    if (c->cluster)
        ss_grid_begin(&grid, times, SS_ARRAY_LEN(times));
    else
        ss_grid_begin(&grid, steps, SS_ARRAY_LEN(steps));
    for (int refused = 0; refused < 2; refused++)
        for (int i = 0; i < c->n; i++) {
            const struct ss_summary *s = &c->rows[i].summary;
            struct ss_row r = {0};
            fill_row(&r, &c->rows[i], best);
            if (refused && s->code)
                ss_grid_span(&grid, &r, "chunks", "%s: %s", ss_outcome_word(s->outcome), s->reason);
            else if (!refused && !s->code)
                ss_grid_row(&grid, &r);
        }
    rc = ss_grid_end(&grid, view, out);
    if (best < INFINITY)
        stage_rows(c, out);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

/* Returns an array with a number for each stage. */
static struct ss_json *stages_array(const double *values, int n, double scale)
{
    struct ss_json *list = ss_json_begin_list();
    for (int s = 0; s < n; s++)
        SS_ITEM(list, values[s] * scale);
    return list;
}

static struct ss_json *row_json(const struct ss_comparison *c, const struct ss_compare_row *r)
{
    struct ss_json *o = SS_OBJECT(SS_KEY("schedule", r->name));
    if (c->cluster || r->summary.code) /* of integers no memory is known */
        ss_json_verdict(o, &r->summary);
    if (r->summary.code)
        return o;
    SS_PUT(o, SS_SAME(r, chunks));
    if (c->cluster)
        ss_json_metrics(o, -1, &r->summary);
    else
        SS_PUT(o, SS_KEY("iteration", r->summary.iteration_s), SS_SAME(&r->summary, bubble_fraction),
               SS_KEY("bubble_inside_rank", r->inner_bubble));
    SS_PUT(o, SS_KEY("in_flight_chunks", r->in_flight), SS_SAME(r, sends),
           SS_KEY(c->cluster ? "activations_mib" : "activations_in_flight",
                  stages_array(r->activation, r->stages, c->cluster ? 1 / SS_MIB : 1)));
    return o;
}

int ss_comparison_write(const struct ss_comparison *c, const struct ss_display *view, FILE *out,
                        struct ss_error *err)
{
    if (!view || !view->json)
        return compare_text(c, view, out, err);
    struct ss_json *o = ss_json_document("schedule compare"), *rows = ss_json_begin_list();
    for (int i = 0; i < c->n; i++)
        SS_ITEM(rows, row_json(c, &c->rows[i]));
    if (capacity(c) > 0) /* of a job that some schedule runs */
        SS_PUT(o, SS_KEY("capacity_mib", capacity(c) / SS_MIB));
    SS_PUT(o, SS_KEY("schedules", rows));
    return ss_json_write(o, out, err);
}

static const struct ss_schedule_strip *fill_strip(const void *rows, int i, struct ss_schedule_strip *shown,
                                                  const struct ss_summary **summary)
{
    const struct ss_comparison *c = rows;
    const struct ss_compare_row *r = &c->rows[i];
    ss_copy(shown->name, sizeof shown->name, r->name);
    for (int s = 0; r->strip && s < r->stages; s++)
        shown->kept = fmax(shown->kept, r->activation[s] / (c->cluster ? SS_GIB : 1));
    *summary = &r->summary;
    return r->strip;
}

int ss_comparison_svg(const struct ss_comparison *c, double width, FILE *out, struct ss_error *err)
{
    return ss_strips_svg(c, c->n, fill_strip, c->cluster, width, out, err);
}

/* ---- search ---- */

const char *ss_search_placement(int chunks, int v_shape)
{
    return v_shape ? "v" : chunks > 1 ? "interleaved" : "one chunk";
}

double ss_search_above_bound(double length, double lower_bound)
{
    return lower_bound > 0 ? fmax(0, 100 * (length / lower_bound - 1)) : 0;
}

void ss_search_order_json(struct ss_json *o, double length, double lower_bound, const char *known,
                          double known_length)
{
    SS_PUT(o, SS_KEY("length", length), SS_KEY("lower_bound", lower_bound),
           SS_KEY("above_bound_pct", ss_search_above_bound(length, lower_bound)),
           SS_KEY_IF(known[0], "best_known", known), SS_KEY_IF(known[0], "best_known_length", known_length));
}

static int search_json(const struct ss_search *q, const struct ss_search_result *r, FILE *out,
                       struct ss_error *err)
{
    struct ss_json *o = ss_json_document("schedule search");
    SS_PUT(o, SS_KEY("objective", q->barrier ? "makespan" : "longest rank"), SS_SAME(q, chunks),
           SS_KEY("placement", ss_search_placement(q->chunks, q->v_shape)));
    ss_search_order_json(o, r->length, r->lower_bound, r->known, r->known_length);
    if (r->other[0])
        SS_PUT(o, SS_KEY("shorter_known", r->other),
               SS_KEY("shorter_known_placement", ss_search_placement(r->other_chunks, r->other_v)),
               SS_KEY("shorter_known_length", r->other_length));
    SS_PUT(o, SS_KEY("peak_by_rank", stages_array(r->peak, r->stages, 1)));
    if (q->growth > 0) {
        struct ss_json *device = ss_json_begin_list();
        for (int s = 0; s < r->stages; s++)
            SS_ITEM(device, ss_search_device(q, s, r->peak[s]) / SS_MIB);
        SS_PUT(o, SS_KEY("device_mib_by_rank", device), SS_KEY("cap_mib", q->limit / SS_MIB));
    }
    SS_PUT(o, SS_SAME(r, tried), SS_SAME(q, seed));
    return ss_json_write(o, out, err);
}

/* Writes a length: in seconds for a job, else in the unit of the given times. */
static const char *length_text(const struct ss_search *q, double length, char *buf, size_t size)
{
    if (q->growth > 0)
        return ss_text_time(length, buf, size);
    snprintf(buf, size, "%.6g", length);
    return buf;
}

/* Writes the peak of each rank, in lines of 80 columns. */
static void peaks_text(const struct ss_search *q, const struct ss_search_result *r, FILE *out)
{
    int column = fprintf(out, q->growth > 0 ? "memory by rank, GiB:" : "peak by rank, in units of --memory:");
    char text[48];

    for (int s = 0; s < r->stages; s++) {
        int n = q->growth > 0
                    ? snprintf(text, sizeof text, " %.1f", ss_search_device(q, s, r->peak[s]) / SS_GIB)
                    : snprintf(text, sizeof text, " %.4g", r->peak[s]);
        if (column + n > 80)
            column = fprintf(out, "\n   ") - 1;
        fputs(text, out);
        column += n;
    }
    if (q->growth > 0)
        fprintf(out, ", of %.1f", q->limit / SS_GIB);
    fputc('\n', out);
}

/* "two chunks a rank on a V" */
static const char *placement_text(int chunks, int v_shape, char *buf, size_t size)
{
    if (chunks < 3)
        snprintf(buf, size, "%s a rank%s", chunks < 2 ? "one chunk" : "two chunks", v_shape ? " on a V" : "");
    else
        snprintf(buf, size, "%d chunks a rank", chunks);
    return buf;
}

/* Bound, known schedules and other placements, which a bound of this one says nothing of. */
static void bounds_text(const struct ss_search *q, const struct ss_search_result *r, FILE *out)
{
    char text[32], placed[40], other[40];
    placement_text(q->chunks, q->v_shape, placed, sizeof placed);
    fprintf(out,
            "lower bound %s under this cap: the order is at most %.2f %% above the best there is of %s\n",
            length_text(q, r->lower_bound, text, sizeof text),
            ss_search_above_bound(r->length, r->lower_bound), placed);
    if (r->known[0])
        fprintf(out, "best known of %s under the cap: %s, %s%s\n", placed, r->known,
                length_text(q, r->known_length, text, sizeof text),
                r->length < r->known_length ? "" : ", which is not beaten");
    else
        fprintf(out, "no known schedule of %s stays under the cap\n", placed);
    if (r->other[0])
        fprintf(out, "%s of %s is shorter under the cap, %s: --layouts searches other placements\n", r->other,
                placement_text(r->other_chunks, r->other_v, other, sizeof other),
                length_text(q, r->other_length, text, sizeof text));
}

int ss_search_write(const struct ss_search *q, const struct ss_search_result *r, int json, FILE *out,
                    struct ss_error *err)
{
    char text[32];
    if (json)
        return search_json(q, r, out, err);
    fprintf(out, "%s %s\n", length_text(q, r->length, text, sizeof text),
            q->barrier ? "from the first start to the last end" : "the longest rank");
    bounds_text(q, r, out);
    peaks_text(q, r, out);
    fprintf(out, "list scheduling with local search, %d orders tried, seed %llu\n", r->tried,
            (unsigned long long)q->seed);
    return ss_report_done(out, err);
}
