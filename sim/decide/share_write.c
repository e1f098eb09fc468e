/* SPDX-License-Identifier: Apache-2.0 */
/* Writes jobs beside each other, for people and as JSON. */
#include "report/common.h"
#include "stepsim/share.h"

static double slower_pct(const struct ss_sharer *s, double seconds)
{
    double pct = 100 * (seconds / s->alone - 1);
    return pct > -1e-7 && pct < 1e-7 ? 0 : pct; /* a difference this small is rounding */
}

static void write_limit(const struct ss_sharing *x, FILE *out)
{
    double sum = 0;

    if (!x->limit.name[0]) {
        fputs("\nThey share no link.\n", out);
        return;
    }
    for (int j = 0; j < x->n; j++)
        sum += x->limit.use[j];
    fprintf(out, "\nThey share %d link%s. Used most: %s, %.1f GB/s, to %.1f %% on average:\n", x->nlinks,
            ss_plural(x->nlinks), x->limit.name, x->limit.bandwidth / 1e9, 100 * sum);
    for (int j = 0; j < x->n; j++)
        if (x->limit.use[j] > 0)
            fprintf(out, "  %5.1f %% by %s\n", 100 * x->limit.use[j], x->sharer[j].name);
}

static int write_text(const struct ss_sharing *x, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    static const struct ss_column columns[] = {
        {"name", "job", "%-s", 1, 0},       {"nodes", "nodes", "%-s", 1, 0},
        {"gpus", "GPUs", "%.0f", 1, 1},     {"alone", "alone", "%11s", 1, 0},
        {"beside", "beside", "%11s", 1, 0}, {"slower", "slower", "%-s", 1, 0}};
    struct ss_grid grid;

    fprintf(out, "%d jobs on %d node%s of %s, %s level, %s engine\n\n", x->n, x->nodes, ss_plural(x->nodes),
            x->platform, ss_level_name(x->level), ss_engine_name(x->engine));
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int j = 0; j < x->n; j++) {
        const struct ss_sharer *s = &x->sharer[j];
        struct ss_row r = {0};
        char slower[64];
        int n = snprintf(slower, sizeof slower, "%+.1f %%", slower_pct(s, s->beside));
        if (lround(10 * slower_pct(s, s->most)) > lround(10 * slower_pct(s, s->least)))
            snprintf(slower + n, sizeof slower - (size_t)n, " (%+.1f to %+.1f %%)", slower_pct(s, s->least),
                     slower_pct(s, s->most));
        SS_ADD(&r, SS_SAME(s, name), SS_SAME(s, nodes), SS_SAME(s, gpus), SS_SAME(s, alone),
               SS_SAME(s, beside), SS_KEY("slower", slower));
        ss_grid_row(&grid, &r);
    }
    int rc = ss_grid_end(&grid, view, out);
    write_limit(x, out);
    fprintf(out, "Mean%s of %d start%s%s; every rank is simulated, %d or more iterations of each job.\n",
            x->starts > 1 ? " and range" : "", x->starts, ss_plural(x->starts),
            x->starts > 1 ? ", each job later than the one before by parts of the shortest iteration"
                          : ", all at once",
            x->sharer[0].iterations);
    return rc ? ss_nomem(err) : ss_report_done(out, err);
}

static int write_json(const struct ss_sharing *x, FILE *out, struct ss_error *err)
{
    struct ss_json *root = ss_json_document("share"), *jobs = ss_json_begin_list();

    for (int j = 0; j < x->n; j++) {
        const struct ss_sharer *s = &x->sharer[j];
        SS_ITEM(jobs, SS_OBJECT(SS_SAME(s, name), SS_SAME(s, nodes), SS_SAME(s, gpus),
                                SS_KEY("alone_ms", 1e3 * s->alone), SS_KEY("beside_ms", 1e3 * s->beside),
                                SS_KEY("least_ms", 1e3 * s->least), SS_KEY("most_ms", 1e3 * s->most),
                                SS_KEY("slower_pct", slower_pct(s, s->beside)), SS_SAME(s, iterations),
                                SS_KEY("limit_use", x->limit.use[j])));
    }
    struct ss_json *limit = x->limit.name[0] ? SS_OBJECT(SS_SAME(&x->limit, name),
                                                         SS_KEY("bandwidth_gbps", x->limit.bandwidth / 1e9))
                                             : ss_json_null();
    SS_PUT(root, SS_SAME(x, platform), SS_SAME(x, nodes), SS_KEY("engine", ss_engine_name(x->engine)),
           SS_KEY("level", ss_level_name(x->level)), SS_SAME(x, starts), SS_KEY("jobs", jobs),
           SS_KEY("shared_links", x->nlinks), SS_KEY("limit", limit));
    return ss_json_write(root, out, err);
}

int ss_sharing_write(const struct ss_sharing *x, const struct ss_display *view, FILE *out,
                     struct ss_error *err)
{
    return view && view->json ? write_json(x, out, err) : write_text(x, view, out, err);
}
