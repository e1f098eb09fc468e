/* SPDX-License-Identifier: Apache-2.0 */
/* Tries known schedules of a job on the placements that a search leaves out. */
#include "base/base.h"
#include "study/schedule_order.h"

/* Keeps the shortest schedule that beats the order that was found. */
static void take(const struct ss_search *own, const struct ss_schedule *s, double length,
                 struct ss_search_result *r)
{
    double best = r->other[0] ? r->other_length : r->length;

    if (!s || length >= best * (1 - 1e-9))
        return;
    ss_copy(r->other, sizeof r->other, s->name);
    r->other_length = length;
    r->other_chunks = own->chunks;
    r->other_v = own->v_shape;
}

static int try_placement(const struct ss_scenario *s, const struct ss_search *q,
                         const struct ss_search_layout *row, struct ss_search_result *r, struct ss_error *err)
{
    struct ss_scenario *placed = NULL;
    struct ss_schedule *known = NULL;
    struct ss_search *own = NULL;
    struct ss_measure m;
    double length = 0;
    int rc = ss_search_layout_build(s, row, &placed, err);

    SS_THEN(rc, ss_search_from_job(placed, row->v_shape, &own, err));
    if (!rc) {
        own->split = q->split;
        own->barrier = own->barrier && q->barrier;
        rc = ss_search_limit(own, q->limit, err);
    }
    if (!rc) {
        rc = ss_search_known(own, &known, &length, &m);
        if (rc)
            ss_fail(err, rc, NULL, 0, "no memory to search schedules of %d stages", own->stages);
        else
            take(own, known, length, r);
    }
    ss_schedule_free(known);
    ss_search_free(own);
    ss_scenario_free(placed);
    return rc;
}

int ss_search_other(const struct ss_scenario *s, const struct ss_search *q, struct ss_search_result *r,
                    struct ss_error *err)
{
    const struct ss_search_layout rows[] = {{.stages = q->stages, .chunks = 1},
                                            {.stages = q->stages, .chunks = 2},
                                            {.stages = q->stages, .chunks = 2, .v_shape = 1}};
    struct ss_error why = {0};

    for (size_t i = 0; q->stages > 1 && i < SS_ARRAY_LEN(rows); i++) {
        if (rows[i].chunks == q->chunks && rows[i].v_shape == q->v_shape)
            continue;
        int rc = try_placement(s, q, &rows[i], r, &why);
        if (rc && !ss_status_refuses(rc)) {
            if (err)
                *err = why;
            return rc;
        }
    }
    return SS_OK;
}
