/* SPDX-License-Identifier: Apache-2.0 */
/* How often error bands hold the runs of a source that they were made without: for people and as JSON. */
#include "base/base.h"
#include "report/common.h"
#include "report/table.h"
#include "stepsim/bands.h"
#include "study/study_internal.h"

static const char *const names[] = {"time", "memory"};

static void source_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_coverage *c = of;

    for (int i = 0; i < c->n; i++) {
        const struct ss_coverage_source *s = &c->sources[i];
        SS_ROW(t, s->name[0] ? s->name : "-", s->experts ? "mixture" : "dense", s->name, (bool)s->experts,
               s->runs, s->weight, s->inside, s->pct);
    }
}

static void print(const struct ss_coverage *c, struct ss_report_table *t, FILE *out)
{
    ss_report_table_write(t, SS_FORM_TEXT, source_rows, c, out);
    fprintf(out, "  %-24s %-8s %6s %8s %9.1f\n", "mean of the sources", "", "", "", 100 * c->by_source);
    fprintf(out, "  %-24s %-8s %6s %8.0f %9.1f\n", "all runs", "", "", c->weight, 100 * c->by_run);
}

static json_t *object(const struct ss_coverage *c, struct ss_report_table *t)
{
    return SS_OBJECT(SS_KEY("by_source_pct", 100 * c->by_source), SS_KEY("by_run_pct", 100 * c->by_run),
                     SS_FIELDS(c, weight), SS_KEY("sources", ss_report_table_json(t, source_rows, c)));
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
    for (int memory = 0; memory < 2 && !rc; memory++) {
        struct ss_report_table t = {
            .columns = "  source:-24s|models: -8s|::source|::mixtures|runs:6d:runs|"
                       "counted:8.0f:weight|inside %:9.0p:inside_pct:p|band +-%:8.1f:band_pct",
            .indent = 2};
        struct ss_coverage c;
        rc = ss_bands_coverage(bands, memory, &c, err);
        if (rc)
            break;
        if (json)
            SS_PUT(o, SS_KEY(names[memory], object(&c, &t)));
        else {
            fprintf(out, "%s\n", names[memory]);
            print(&c, &t, out);
        }
        ss_coverage_free(&c);
    }
    if (rc)
        ss_json_free(o);
    return rc ? rc : json ? ss_json_write(o, out, err) : ss_report_done(out, err);
}
