/* SPDX-License-Identifier: Apache-2.0 */
/* Tells how often error bands hold the runs of a source that they were made without, for people and as
 * JSON. */
#include "report/common.h"
#include "study/study_internal.h"

static const char *const names[] = {"time", "memory", "time_of_larger"};

static const char *kind_of(const struct ss_coverage_source *s)
{
    return s->hybrid ? "hybrid" : s->experts ? "mixture" : "dense";
}

static int print(const struct ss_coverage *c, const char *name, const struct ss_display *view, FILE *out)
{
    static const struct ss_column columns[] = {
        {"source", "source", "%-s", 1, 0},    {"models", "models", "%-s", 1, 0},
        {"runs", "runs", "%.0f", 1, 0},       {"weight", "counted", "%.0f", 1, 0},
        {"inside", "inside %", "%.0f", 1, 0}, {"pct", "band +-%", "%.1f", 1, 0}};
    const struct ss_keyed last[] = {SS_KEY("inside", 100 * c->by_source), SS_KEY("inside", 100 * c->by_run)};
    struct ss_grid grid;

    fprintf(out, "%s\n", name);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < c->n + 2; i++) {
        const struct ss_coverage_source *s = &c->sources[i];
        struct ss_row r = {0};
        if (i < c->n)
            SS_ADD(&r, SS_KEY("source", s->name[0] ? s->name : "-"), SS_KEY("models", kind_of(s)),
                   SS_SAME(s, runs), SS_SAME(s, weight), SS_KEY("inside", 100 * s->inside), SS_SAME(s, pct));
        else
            SS_ADD(&r, SS_KEY("source", i == c->n ? "mean of the sources" : "all runs"), SS_KEY("models", ""),
                   SS_KEY_IF(i > c->n, "weight", c->weight), last[i - c->n]);
        ss_grid_row(&grid, &r);
    }
    return ss_grid_end(&grid, view, out);
}

static struct ss_json *source_object(const void *source)
{
    const struct ss_coverage_source *s = source;

    return SS_OBJECT(SS_KEY("source", s->name), SS_KEY("mixtures", (bool)s->experts),
                     SS_KEY("hybrid", (bool)s->hybrid), SS_SAME(s, runs), SS_SAME(s, weight),
                     SS_KEY("inside_pct", 100 * s->inside), SS_KEY("band_pct", s->pct));
}

static struct ss_json *object(const struct ss_coverage *c)
{
    return SS_OBJECT(SS_KEY("by_source_pct", 100 * c->by_source), SS_KEY("by_run_pct", 100 * c->by_run),
                     SS_SAME(c, weight), SS_KEY("sources", SS_LIST(source_object, c->sources, c->n)));
}

int ss_coverage_write(const struct ss_bands *bands, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    const int json = view && view->json;
    struct ss_json *o = json ? ss_json_document("validate") : NULL;
    int rc = SS_OK;

    if (json)
        SS_PUT(o, SS_KEY("claimed_pct", 100 * SS_BAND_SHARE));
    else
        fprintf(
            out,
            "Bands made without a source against that source's runs; they claim %.0f %%. A run of a table "
            "whose runs are not independent counts as less than one.\n",
            100 * SS_BAND_SHARE);
    for (int i = 0; i < 3 && !rc; i++) {
        struct ss_coverage c;
        rc = ss_bands_coverage(bands, i == 1, i == 2, &c, err);
        if (rc)
            break;
        if (i == 2 && !json)
            fprintf(out,
                    "\nBands made of each source's smaller two thirds, by GPUs, against the larger runs.\n");
        if (json)
            SS_PUT(o, SS_KEY(names[i], object(&c)));
        else
            rc = print(&c, i == 2 ? names[0] : names[i], view, out) ? ss_nomem(err) : SS_OK;
        ss_coverage_free(&c);
    }
    if (rc)
        ss_json_free(o);
    return rc ? rc : json ? ss_json_write(o, out, err) : ss_report_done(out, err);
}
