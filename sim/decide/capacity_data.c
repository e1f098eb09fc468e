/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of capacity for programs: JSON, and CSV. */
#include "base/base.h"
#include "decide/capacity_internal.h"
#include "report/common.h"

/* None of a point that was not predicted. */
static void add_figures(struct ss_record *r, const struct ss_capacity_point *p)
{
    const double day = 86400, kwh = 3.6e6;
    size_t first = r->n;

    SS_ADD(r, SS_FIELDS(p, iterations), SS_KEY("days", p->time_s.value / day),
           SS_KEY("days_low", p->time_s.low / day), SS_KEY("days_high", p->time_s.high / day),
           SS_KEY("gpu_hours", p->gpu_hours.value), SS_KEY("gpu_hours_low", p->gpu_hours.low),
           SS_KEY("gpu_hours_high", p->gpu_hours.high), SS_FIELDS(p, goodput),
           SS_KEY("energy_kwh", p->energy_j.value / kwh), SS_KEY("energy_kwh_low", p->energy_j.low / kwh),
           SS_KEY("energy_kwh_high", p->energy_j.high / kwh), SS_KEY("usd", p->usd.value),
           SS_KEY("usd_low", p->usd.low), SS_KEY("usd_high", p->usd.high), SS_FIELDS(p, busy_share),
           SS_KEY("checkpoint_gib", p->checkpoint_bytes / SS_GIB), SS_FIELDS(p, checkpoint_s),
           SS_KEY("checkpoint_interval_s", p->interval_s), SS_KEY("failure_interval_h", p->mtbf_s / 3600));
    ss_record_metrics(r, &p->summary);
    if (!(p->summary.iteration_s > 0))
        ss_record_clear(r, first);
}

static json_t *point_object(const void *row)
{
    const struct ss_capacity_point *p = row;
    struct ss_record figures = {0};
    json_t *o =
        SS_OBJECT(SS_FIELDS(p, nodes, gpus), SS_KEY("global_batch", p->batch), SS_FIELDS(p, flags, layout));

    ss_json_verdict(o, &p->summary);
    SS_PUT(o, SS_FLAGS(p, straddles));
    add_figures(&figures, p);
    ss_json_put(o, figures.at);
    return o;
}

static json_t *inputs_object(const struct ss_capacity *c)
{
    return SS_OBJECT(SS_FIELDS(c, model, platform, card), SS_KEY("global_batch", c->asked_batch),
                     SS_KEY("layout", c->layout == SS_CAPACITY_GIVEN ? "given" : "search"),
                     SS_KEY("price_usd_h", ss_known(c->price)), SS_FLAGS(c, price_is_example),
                     SS_FIELDS(c, gpu_w), SS_KEY("idle_share", c->idle), SS_FIELDS(c, node_w, pue),
                     SS_KEY("mtbf_gpu_h", c->mtbf_h), SS_FIELDS(c, restart_s),
                     SS_KEY("storage_bytes_s_node", c->storage));
}

int ss_capacity_json(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    json_t *root = ss_json_document("capacity");

    SS_PUT(root, SS_FIELDS(c, tokens), SS_KEY("deadline_days", ss_known(c->deadline_s / 86400)),
           SS_KEY("budget_usd", ss_known(c->budget_usd)), SS_INDICES(c, chosen, sure, cheapest, knee),
           SS_KEY("inputs", inputs_object(c)), SS_KEY("points", SS_LIST(point_object, c->points, c->npoints)),
           SS_KEY("warnings", ss_json_notes(&c->warnings)));
    return ss_json_write(root, out, err);
}

int ss_capacity_csv(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    static const struct ss_capacity_point none;

    for (int i = -1; i < c->npoints; i++) {
        const struct ss_capacity_point *p = i < 0 ? &none : &c->points[i];
        struct ss_record r = {0};
        SS_ADD(&r, SS_FIELDS(p, nodes), SS_KEY("global_batch", p->batch), SS_FIELDS(p, flags, layout),
               SS_KEY("verdict", ss_outcome_word(p->summary.outcome)));
        add_figures(&r, p);
        ss_record_csv(&r, i < 0, out);
    }
    return ss_report_done(out, err);
}
