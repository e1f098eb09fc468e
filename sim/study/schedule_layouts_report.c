/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a search over layouts for people, scripts and papers. */
#include "report/common.h"
#include "report/text.h"
#include "study/schedule_order.h"
#include "study/schedule_strip.h"

static const char *placement(const struct ss_search_layout *r)
{
    return ss_search_placement(r->chunks, r->v_shape);
}

/* Fills a row for text; a layout without an order has its shape alone. */
static void fill_row(struct ss_row *to, const struct ss_search_layouts *l, const struct ss_search_layout *r)
{
    const struct ss_summary *s = &r->summary;
    SS_ADD(to, SS_KEY("best", l->best >= 0 && r == &l->rows[l->best] ? "*" : ""), SS_KEY("pp", r->stages),
           SS_KEY("placement", placement(r)));
    if (!r->found)
        return;
    SS_ADD(to, SS_SAME(s, iteration_s), SS_SAME(s, tokens_per_s_per_gpu), SS_SAME(r, length),
           SS_KEY("bound", r->lower_bound), SS_KEY("above", ss_search_above_bound(r->length, r->lower_bound)),
           SS_SAME(s, bubble_fraction), SS_SAME(r, activation), SS_KEY("device", s->peak_device),
           SS_KEY("verdict", ss_outcome_word(s->outcome)));
}

static int write_text(const struct ss_search_layouts *l, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    /* lengths and memory of a shape are in the units that were given */
    static const struct ss_column shapes[] = {{"best", "", "%-s", 1, 0},
                                              {"pp", "pp", "%.0f", 1, 0},
                                              {"placement", "placement", "%-s", 1, 0},
                                              {"length", "length", "%.6g", 1, 0},
                                              {"bound", "bound", "%.6g", 1, 0},
                                              {"above", "above", "%.2f %%", 1, 0},
                                              {"bubble_fraction", "bubble", "%.1f %%", 100, 0},
                                              {"activation", "memory", "%.4g", 1, 0}};
    static const struct ss_column times[] = {{"best", "", "%-s", 1, 0},
                                             {"pp", "pp", "%.0f", 1, 0},
                                             {"placement", "placement", "%-s", 1, 0},
                                             {"iteration_s", "iteration", "%9s", 1, 0},
                                             {"tokens_per_s_per_gpu", "tokens\n/s/GPU", "%.4g", 1, 0},
                                             {"length", "order", "%9s", 1, 2},
                                             {"bound", "bound", "%9s", 1, 2},
                                             {"above", "above", "%.2f %%", 1, 0},
                                             {"bubble_fraction", "bubble", "%.1f %%", 100, 0},
                                             {"activation", "act\nGiB", "%.1f", 1 / SS_GIB, 0},
                                             {"device", "GPU\nGiB", "%.1f", 1 / SS_GIB, 0},
                                             {"verdict", "verdict", "%-s", 1, 0}};
    struct ss_grid grid;
    if (l->cluster)
        ss_grid_begin(&grid, times, SS_ARRAY_LEN(times));
    else
        ss_grid_begin(&grid, shapes, SS_ARRAY_LEN(shapes));
    for (int refused = 0; refused < 2; refused++)
        for (int i = 0; i < l->n; i++) {
            const struct ss_summary *s = &l->rows[i].summary;
            struct ss_row r = {0};
            fill_row(&r, l, &l->rows[i]);
            if (refused && !l->rows[i].found)
                ss_grid_span(&grid, &r, l->cluster ? "iteration_s" : "length", "%s: %s",
                             ss_outcome_word(s->outcome), s->reason);
            else if (!refused && l->rows[i].found)
                ss_grid_row(&grid, &r);
        }
    int rc = ss_grid_end(&grid, view, out);
    if (l->best < 0)
        fputs("\nno layout has an order under the cap\n", out);
    else if (l->cluster)
        fputs("\n* most tokens a second. Order and bound: without communication; above: how far the order "
              "may be "
              "from the best of its layout.\n",
              out);
    else
        fputs("\n* shortest; above: how far the order may be from the best of its layout.\n", out);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

static struct ss_json *row_json(const struct ss_search_layout *r, int cluster)
{
    struct ss_json *o =
        SS_OBJECT(SS_KEY("pp", r->stages), SS_SAME(r, chunks), SS_KEY("placement", placement(r)));
    if (cluster || !r->found) /* of a shape no memory is known */
        ss_json_verdict(o, &r->summary);
    if (!r->found)
        return o;
    ss_search_order_json(o, r->length, r->lower_bound, r->known, r->known_length);
    if (!cluster) {
        SS_PUT(o, SS_SAME(&r->summary, bubble_fraction), SS_KEY("peak", r->activation));
        return o;
    }
    SS_PUT(o, SS_KEY("activations_mib", r->activation / SS_MIB));
    ss_json_metrics(o, -1, &r->summary);
    return o;
}

int ss_search_layouts_write(const struct ss_search_layouts *l, const struct ss_display *view, FILE *out,
                            struct ss_error *err)
{
    if (!view || !view->json)
        return write_text(l, view, out, err);
    struct ss_json *o = ss_json_document("schedule search"), *rows = ss_json_begin_list();
    for (int i = 0; i < l->n; i++)
        SS_ITEM(rows, row_json(&l->rows[i], l->cluster));
    SS_PUT(o, SS_KEY("layouts", rows), SS_KEY_IF(l->best >= 0, "best", l->best));
    return ss_json_write(o, out, err);
}

static const struct ss_schedule_strip *fill_strip(const void *rows, int i, struct ss_schedule_strip *shown,
                                                  const struct ss_summary **summary)
{
    const struct ss_search_layouts *l = rows;
    const struct ss_search_layout *r = &l->rows[i];
    snprintf(shown->name, sizeof shown->name, "pp %d, %s", r->stages, placement(r));
    shown->kept = r->activation / (l->cluster ? SS_GIB : 1);
    *summary = &r->summary;
    return r->strip;
}

int ss_search_layouts_svg(const struct ss_search_layouts *l, double width, FILE *out, struct ss_error *err)
{
    return ss_strips_svg(l, l->n, fill_strip, l->cluster, width, out, err);
}
