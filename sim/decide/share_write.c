/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs beside each other, for people and as JSON. */
#include <math.h>

#include "base/base.h"
#include "report/common.h"
#include "report/table.h"
#include "stepsim/plan.h"
#include "stepsim/replay.h"
#include "stepsim/share.h"

static double slower_pct(const struct ss_sharer *s, double seconds)
{
    double pct = 100 * (seconds / s->alone - 1);
    return pct > -1e-7 && pct < 1e-7 ? 0 : pct; /* rounding of many iterations */
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
            x->nlinks == 1 ? "" : "s", x->limit.name, x->limit.bandwidth / 1e9, 100 * sum);
    for (int j = 0; j < x->n; j++)
        if (x->limit.use[j] > 0)
            fprintf(out, "  %5.1f %% by %s\n", 100 * x->limit.use[j], x->sharer[j].name);
}

static void job_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_sharing *x = of;

    for (int j = 0; j < x->n; j++) {
        const struct ss_sharer *s = &x->sharer[j];
        char slower[96];
        int n = snprintf(slower, sizeof slower, "%+.1f %%", slower_pct(s, s->beside));
        if (lround(10 * slower_pct(s, s->most)) > lround(10 * slower_pct(s, s->least)))
            snprintf(slower + n, sizeof slower - (size_t)n, " (%+.1f to %+.1f %%)", slower_pct(s, s->least),
                     slower_pct(s, s->most));
        SS_ROW(t, s->name, s->nodes, s->gpus, s->alone, s->beside, slower, s->least, s->most,
               slower_pct(s, s->beside), s->iterations, x->limit.use[j]);
    }
}

/* What a text and JSON have of each job. */
static const struct ss_report_table jobs = {
    .columns = "job:-3*s:name|nodes:-5*s:nodes|GPUs:5d:gpus|alone:11t:alone_ms:m|"
               "beside:11t:beside_ms:m|slower:-s|::least_ms:m|::most_ms:m|::slower_pct|"
               "::iterations|::limit_use"};

static int write_text(const struct ss_sharing *x, FILE *out, struct ss_error *err)
{
    struct ss_report_table t = jobs;

    fprintf(out, "%d jobs on %d nodes of %s, %s level, %s engine\n\n", x->n, x->nodes, x->platform,
            ss_level_name(x->level), ss_engine_name(x->engine));
    ss_report_table_write(&t, SS_FORM_TEXT, job_rows, x, out);
    write_limit(x, out);
    fprintf(out, "Mean%s of %d start%s%s; every rank is simulated, %d or more iterations of each job.\n",
            x->starts > 1 ? " and range" : "", x->starts, x->starts == 1 ? "" : "s",
            x->starts > 1 ? ", each job later than the one before by parts of the shortest iteration"
                          : ", all at once",
            x->sharer[0].iterations);
    return ss_report_done(out, err);
}

static int write_json(const struct ss_sharing *x, FILE *out, struct ss_error *err)
{
    struct ss_report_table t = jobs;
    json_t *root = ss_json_document("share"), *limit = json_null();

    if (x->limit.name[0])
        limit = SS_OBJECT(SS_FIELDS(&x->limit, name), SS_KEY("bandwidth_gbps", x->limit.bandwidth / 1e9));
    SS_PUT(root, SS_FIELDS(x, platform, nodes), SS_KEY("engine", ss_engine_name(x->engine)),
           SS_KEY("level", ss_level_name(x->level)), SS_FIELDS(x, starts),
           SS_KEY("jobs", ss_report_table_json(&t, job_rows, x)), SS_KEY("shared_links", x->nlinks),
           SS_KEY("limit", limit));
    return ss_json_write(root, out, err);
}

int ss_sharing_write(const struct ss_sharing *x, int json, FILE *out, struct ss_error *err)
{
    return json ? write_json(x, out, err) : write_text(x, out, err);
}
