/* SPDX-License-Identifier: Apache-2.0 */
/* A search over layouts for people, scripts and papers. */
#include <stdlib.h>

#include "base/base.h"
#include "report/common.h"
#include "report/table.h"
#include "stepsim/schedule_study.h"
#include "study/schedule_order.h"
#include "study/schedule_strip.h"

static const char *placement(const struct ss_search_layout *r)
{
    return ss_search_placement(r->chunks, r->v_shape);
}

/* Of a shape lengths and memory are in the units that were given. */
static void table_text(const struct ss_search_layouts *l, FILE *out)
{
    struct ss_report_table t = {
        .columns = l->cluster ? ":-1s|pp:4d|placement:-11s|iteration:9t|tokens/s/GPU:  12.4g|order:9t|"
                                "bound:9t|above:6.2f %|bubble:  5.1p %|act GiB:8.1G|dev GiB:8.1G|:-s"
                              : ":-1s|pp:4d|placement:-11s|length:10.6g|bound:10.6g|above:7.2f %|"
                                "bubble:  5.1p %|memory:10.4g"};
    ss_report_table_begin(&t, out);
    for (int i = 0; i < l->n; i++) {
        const struct ss_search_layout *r = &l->rows[i];
        const struct ss_summary *s = &r->summary;
        const double above = ss_search_above_bound(r->length, r->lower_bound);
        const char *mark = i == l->best ? "*" : "";
        if (r->schedule && l->cluster)
            SS_ROW(&t, mark, r->stages, placement(r), s->iteration_s, s->tokens_per_s_per_gpu, r->length,
                   r->lower_bound, above, s->bubble_fraction, r->activation, s->peak_device,
                   ss_outcome_word(s->outcome));
        else if (r->schedule)
            SS_ROW(&t, mark, r->stages, placement(r), r->length, r->lower_bound, above, s->bubble_fraction,
                   r->activation);
    }
}

static int write_text(const struct ss_search_layouts *l, FILE *out, struct ss_error *err)
{
    table_text(l, out);
    for (int i = 0; i < l->n; i++)
        if (!l->rows[i].schedule)
            fprintf(out, "  %4d  %-11s %s: %s\n", l->rows[i].stages, placement(&l->rows[i]),
                    ss_outcome_word(l->rows[i].summary.outcome), l->rows[i].summary.reason);
    if (l->best < 0)
        fputs("\nno layout has an order under the cap\n", out);
    else if (l->cluster)
        fputs("\n* most tokens a second. Order and bound: without communication; above: how far the order "
              "may be "
              "from the best of its layout.\n",
              out);
    else
        fputs("\n* shortest; above: how far the order may be from the best of its layout.\n", out);
    return ss_report_done(out, err);
}

static json_t *row_json(const struct ss_search_layout *r, int cluster)
{
    json_t *o = SS_OBJECT(SS_KEY("pp", r->stages), SS_FIELDS(r, chunks), SS_KEY("placement", placement(r)));
    if (cluster || !r->schedule) /* of a shape no memory is known */
        ss_json_verdict(o, &r->summary);
    if (!r->schedule)
        return o;
    ss_search_order_json(o, r->length, r->lower_bound, r->known, r->known_length);
    if (!cluster) {
        SS_PUT(o, SS_FIELDS(&r->summary, bubble_fraction), SS_KEY("peak", r->activation));
        return o;
    }
    SS_PUT(o, SS_KEY("activations_mib", r->activation / SS_MIB));
    ss_json_metrics(o, -1, &r->summary);
    return o;
}

int ss_search_layouts_write(const struct ss_search_layouts *l, int json, FILE *out, struct ss_error *err)
{
    if (!json)
        return write_text(l, out, err);
    json_t *o = ss_json_document("schedule search"), *rows = json_array();
    for (int i = 0; i < l->n; i++)
        ss_json_append(rows, row_json(&l->rows[i], l->cluster));
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

int ss_search_layouts_svg(const struct ss_search_layouts *l, FILE *out, struct ss_error *err)
{
    return ss_strips_svg(l, l->n, fill_strip, l->cluster, out, err);
}
