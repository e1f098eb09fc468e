/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan of capacity for programs: as JSON or CSV. */
#include "decide/capacity_internal.h"
#include "report/common.h"

/* Fills the row of a point for JSON and CSV. A point that was not predicted has no figures. */
static void fill_row(struct ss_row *r, const struct ss_capacity *c, const struct ss_capacity_point *p)
{
    const double day = 86400, kwh = 3.6e6;

    SS_ADD(r, SS_KEY("platform", c->clusters[p->cluster].platform), SS_SAME(p, nodes), SS_SAME(p, gpus),
           SS_KEY("global_batch", p->batch), SS_SAME(p, flags), SS_SAME(p, layout));
    ss_row_verdict(r, &p->summary);
    SS_ADD(r, SS_TRUTH(p, straddles));
    if (!(p->summary.iteration_s > 0))
        return;
    SS_ADD(r, SS_SAME(p, iterations), SS_KEY("days", p->time_s.value / day),
           SS_KEY("days_low", p->time_s.low / day), SS_KEY("days_high", p->time_s.high / day),
           SS_KEY("gpu_hours", p->gpu_hours.value), SS_KEY("gpu_hours_low", p->gpu_hours.low),
           SS_KEY("gpu_hours_high", p->gpu_hours.high), SS_SAME(p, goodput),
           SS_KEY("energy_kwh", p->energy_j.value / kwh), SS_KEY("energy_kwh_low", p->energy_j.low / kwh),
           SS_KEY("energy_kwh_high", p->energy_j.high / kwh), SS_KEY("usd", p->usd.value),
           SS_KEY("usd_low", p->usd.low), SS_KEY("usd_high", p->usd.high), SS_SAME(p, busy_share),
           SS_KEY("checkpoint_gib", p->checkpoint_bytes / SS_GIB), SS_SAME(p, checkpoint_s),
           SS_KEY("checkpoint_interval_s", p->interval_s), SS_KEY("failure_interval_h", p->mtbf_s / 3600));
    ss_row_metrics(r, &p->summary);
}

static struct ss_json *points_array(const struct ss_capacity *c)
{
    struct ss_json *list = ss_json_begin_list();

    for (int i = 0; i < c->npoints; i++) {
        struct ss_row r = {0};
        fill_row(&r, c, &c->points[i]);
        for (size_t k = r.n; k-- > 3;) /* it is among the metrics, too */
            if (!strcmp(r.at[k].key, "gpus"))
                r.at[k].cell = SS_NO_CELL;
        SS_ITEM(list, ss_json_object(r.at));
    }
    return list;
}

/* What a plan takes of a platform. */
static struct ss_json *inputs_object(const struct ss_capacity *c, const struct ss_capacity_cluster *k)
{
    return SS_OBJECT(
        SS_SAME(c, model), SS_SAME(k, platform), SS_SAME(k, card), SS_KEY("global_batch", c->asked_batch),
        SS_KEY("layout", c->layout == SS_CAPACITY_GIVEN ? "given" : "search"),
        SS_KEY("price_usd_h", ss_known(k->price)), SS_TRUTH(k, price_is_example),
        SS_KEY("price_basis", k->basis), SS_SAME(k, gpu_w), SS_KEY("idle_share", k->idle), SS_SAME(k, node_w),
        SS_SAME(k, pue), SS_KEY("mtbf_gpu_h", k->mtbf_h), SS_SAME(k, restart_s),
        SS_KEY("storage_bytes_s_node", k->storage), SS_KEY("rack_nodes", k->rack));
}

static struct ss_json *platform_object(const struct ss_capacity *c, const struct ss_capacity_cluster *k)
{
    static const char *const looks[] = {"listed", "every", "layouts"};

    return SS_OBJECT(SS_SAME(k, platform), SS_KEY_IF(k->premises[0], "premises", k->premises),
                     SS_KEY("chosen", ss_cell_index(k->chosen)), SS_KEY("sure", ss_cell_index(k->sure)),
                     SS_KEY("cheapest", ss_cell_index(k->cheapest)), SS_KEY("knee", ss_cell_index(k->knee)),
                     SS_KEY("look", looks[k->look]), SS_SAME(k, numbers), SS_SAME(k, hopeless),
                     SS_SAME(k, planned), SS_KEY("least_gpu_hours", ss_known(k->least_gpu_s / 3600)),
                     SS_KEY("inputs", inputs_object(c, k)));
}

static struct ss_json *platforms_array(const struct ss_capacity *c)
{
    struct ss_json *list = ss_json_begin_list();

    for (int k = 0; k < c->nclusters; k++)
        SS_ITEM(list, platform_object(c, &c->clusters[k]));
    return list;
}

int ss_capacity_json(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    const struct ss_capacity_cluster *k = &c->clusters[0];
    struct ss_json *root = ss_json_document("capacity");

    SS_PUT(root, SS_SAME(c, tokens), SS_KEY("deadline_days", ss_known(c->deadline_s / 86400)),
           SS_KEY("budget_usd", ss_known(c->budget_usd)), SS_KEY("chosen", ss_cell_index(k->chosen)),
           SS_KEY("sure", ss_cell_index(k->sure)), SS_KEY("cheapest", ss_cell_index(k->cheapest)),
           SS_KEY("knee", ss_cell_index(k->knee)), SS_KEY("inputs", inputs_object(c, k)),
           SS_KEY("platforms", platforms_array(c)), SS_KEY("points", points_array(c)),
           SS_KEY("fixes", ss_json_notes(&c->fixes)), SS_KEY("warnings", ss_json_notes(&c->warnings)));
    return ss_json_write(root, out, err);
}

int ss_capacity_csv(const struct ss_capacity *c, FILE *out, struct ss_error *err)
{
    static const char *const keys[] = SS_VALUES(
        "platform", "nodes", "global_batch", "flags", "layout", "verdict", "iterations", "days", "days_low",
        "days_high", "gpu_hours", "gpu_hours_low", "gpu_hours_high", "goodput", "energy_kwh",
        "energy_kwh_low", "energy_kwh_high", "usd", "usd_low", "usd_high", "busy_share", "checkpoint_gib",
        "checkpoint_s", "checkpoint_interval_s", "failure_interval_h", NULL);

    ss_row_csv(NULL, keys, SS_ARRAY_LEN(keys), out);
    for (int i = 0; i < c->npoints; i++) {
        struct ss_row r = {0};
        fill_row(&r, c, &c->points[i]);
        ss_row_csv(&r, keys, SS_ARRAY_LEN(keys), out);
    }
    return ss_report_done(out, err);
}
