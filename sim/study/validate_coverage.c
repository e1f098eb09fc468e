/* SPDX-License-Identifier: Apache-2.0 */
/* Tells how often error bands hold the runs of a source that they were made without, for people and as
 * JSON. */
#include "base/base.h"
#include "report/common.h"
#include "stepsim/bands.h"
#include "study/study_internal.h"

static const char *const names[] = {"time", "memory", "time_of_larger"};

static const char *kind_of(const struct ss_coverage_source *s)
{
    return s->hybrid ? "hybrid" : s->experts ? "mixture" : "dense";
}

static void print(const struct ss_coverage *c, const char *name, FILE *out)
{
    fprintf(out, "%s\n  %-24s %-8s %6s %8s %9s %8s\n", name, "source", "models", "runs", "counted",
            "inside %", "band +-%");
    for (int i = 0; i < c->n; i++) {
        const struct ss_coverage_source *s = &c->sources[i];
        fprintf(out, "  %-24s %-8s %6d %8.0f %9.0f %8.1f\n", s->name[0] ? s->name : "-", kind_of(s), s->runs,
                s->weight, 100 * s->inside, s->pct);
    }
    fprintf(out, "  %-24s %-8s %6s %8s %9.1f\n", "mean of the sources", "", "", "", 100 * c->by_source);
    fprintf(out, "  %-24s %-8s %6s %8.0f %9.1f\n", "all runs", "", "", c->weight, 100 * c->by_run);
}

static json_t *source_object(const void *source)
{
    const struct ss_coverage_source *s = source;

    return SS_OBJECT(SS_KEY("source", s->name), SS_KEY("mixtures", (bool)s->experts),
                     SS_KEY("hybrid", (bool)s->hybrid), SS_SAME(s, runs), SS_SAME(s, weight),
                     SS_KEY("inside_pct", 100 * s->inside), SS_KEY("band_pct", s->pct));
}

static json_t *object(const struct ss_coverage *c)
{
    return SS_OBJECT(SS_KEY("by_source_pct", 100 * c->by_source), SS_KEY("by_run_pct", 100 * c->by_run),
                     SS_SAME(c, weight), SS_KEY("sources", SS_LIST(source_object, c->sources, c->n)));
}

int ss_coverage_write(const struct ss_bands *bands, int json, FILE *out, struct ss_error *err)
{
    json_t *o = json ? ss_json_document("validate") : NULL;
    int rc = SS_OK;

    if (json)
        SS_PUT(o, SS_KEY("claimed_pct", 100 * SS_BAND_SHARE));
    else
        fprintf(
            out,
            "Bands made without a source against that source's runs; they claim %.0f %%. A run of a table "
            "whose runs\nare not independent counts as less than one.\n",
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
            print(&c, i == 2 ? names[0] : names[i], out);
        ss_coverage_free(&c);
    }
    if (rc)
        ss_json_free(o);
    return rc ? rc : json ? ss_json_write(o, out, err) : ss_report_done(out, err);
}
