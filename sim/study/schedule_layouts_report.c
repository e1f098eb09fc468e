/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a search over layouts for people, scripts and papers. */
#include <stdlib.h>

#include "base/base.h"
#include "report/common.h"
#include "report/text.h"
#include "stepsim/schedule_study.h"
#include "study/schedule_order.h"
#include "study/schedule_strip.h"

static const char *placement(const struct ss_search_layout *r)
{
    return ss_search_placement(r->chunks, r->v_shape);
}

static void row_text(const struct ss_search_layouts *l, const struct ss_search_layout *r, FILE *out)
{
    char time[32], order[32], bound[32];
    const struct ss_summary *s = &r->summary;
    fprintf(out, "%c %4d  %-11s %9s  %12.4g %9s %9s %6.2f %%  %5.1f %% %8.1f %8.1f  %s\n",
            l->best >= 0 && r == &l->rows[l->best] ? '*' : ' ', r->stages, placement(r),
            ss_text_time(s->iteration_s, time, sizeof time), s->tokens_per_s_per_gpu,
            ss_text_time(r->length, order, sizeof order), ss_text_time(r->lower_bound, bound, sizeof bound),
            ss_search_above_bound(r->length, r->lower_bound), 100 * s->bubble_fraction,
            r->activation / SS_GIB, s->peak_device / SS_GIB, ss_outcome_word(s->outcome));
}

/* Writes a shape: lengths and memory are in the units that were given. */
static void shape_text(const struct ss_search_layouts *l, const struct ss_search_layout *r, FILE *out)
{
    fprintf(out, "%c %4d  %-11s %10.6g %10.6g %7.2f %%  %5.1f %% %10.4g\n",
            l->best >= 0 && r == &l->rows[l->best] ? '*' : ' ', r->stages, placement(r), r->length,
            r->lower_bound, ss_search_above_bound(r->length, r->lower_bound),
            100 * r->summary.bubble_fraction, r->activation);
}

static int write_text(const struct ss_search_layouts *l, FILE *out, struct ss_error *err)
{
    fputs(l->cluster
              ? "    pp  placement   iteration  tokens/s/GPU     order     bound    above   bubble  act GiB  "
                "dev GiB\n"
              : "    pp  placement       length      bound     above   bubble     memory\n",
          out);
    for (int i = 0; i < l->n; i++)
        if (l->rows[i].schedule)
            (l->cluster ? row_text : shape_text)(l, &l->rows[i], out);
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
    json_t *o = SS_OBJECT(SS_KEY("pp", r->stages), SS_SAME(r, chunks), SS_KEY("placement", placement(r)));
    if (cluster || !r->schedule) /* of a shape no memory is known */
        ss_json_verdict(o, &r->summary);
    if (!r->schedule)
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

int ss_search_layouts_svg(const struct ss_search_layouts *l, double width, FILE *out, struct ss_error *err)
{
    return ss_strips_svg(l, l->n, fill_strip, l->cluster, width, out, err);
}
