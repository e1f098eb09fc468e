/* SPDX-License-Identifier: Apache-2.0 */
/* `program read`: the replay of a program that came without a model. */
#include "report/common.h"
#include "report/text.h"

static double peak_bytes(const struct ss_program *p, const struct ss_timeline *t, int c)
{
    double sum = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++)
        sum += p->classes[c].memory[m] + t->dynamic_peak[c][m];
    return sum;
}

static int json_timeline(const struct ss_program *p, const struct ss_timeline *t, int engine,
                         const struct ss_report_options *opt, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("program"), *classes = json_array();

    ss_json_text(o, "program", p->name);
    ss_json_number(o, "iteration_ms", 1e3 * t->iteration_s);
    for (int c = 0; c < p->nclasses; c++) {
        json_t *entry = json_object();
        ss_json_text(entry, "name", p->classes[c].name);
        ss_json_integer(entry, "stage", p->classes[c].stage);
        ss_json_integer(entry, "count", p->classes[c].count);
        ss_json_set(entry, "breakdown_ms", ss_json_labels(t->spent[c]));
        ss_json_number(entry, "peak_mib", peak_bytes(p, t, c) / SS_MIB);
        ss_json_number(entry, "peak_ms", 1e3 * t->peak_time[c]);
        ss_json_append(classes, entry);
    }
    ss_json_set(o, "classes", classes);
    ss_json_text(o, "engine", ss_engine_name(engine));
    ss_json_integer(o, "events", t->events);
    if (opt->wall_s >= 0) {
        json_t *timing = json_object();
        ss_json_number(timing, "wall_ms", 1e3 * opt->wall_s);
        ss_json_set(o, "timing", timing);
    }
    return ss_json_write(o, out, err);
}

int ss_report_timeline(const struct ss_program *p, const struct ss_timeline *t, int engine,
                       const struct ss_report_options *opt, FILE *out, struct ss_error *err)
{
    char time[32];

    if (opt->json)
        return json_timeline(p, t, engine, opt, out, err);
    fprintf(out, "%s an iteration of %s\n\n", ss_text_time(t->iteration_s, time, sizeof time), p->name);
    fprintf(out, "Class            ranks   busy ms   wait ms   idle ms  peak MiB  at ms\n");
    for (int c = 0; c < p->nclasses; c++) {
        const double *spent = t->spent[c];
        double busy = spent[SS_LABEL_COMPUTE] + spent[SS_LABEL_RECOMPUTE] + spent[SS_LABEL_OPTIMIZER];
        double idle = spent[SS_LABEL_BUBBLE] + spent[SS_LABEL_IMBALANCE];
        fprintf(out, "  %-14s %5d %9.3f %9.3f %9.3f %9.1f  %.3f\n", p->classes[c].name, p->classes[c].count,
                1e3 * busy, 1e3 * (t->iteration_s - busy - idle), 1e3 * idle, peak_bytes(p, t, c) / SS_MIB,
                1e3 * t->peak_time[c]);
    }
    fprintf(out, "\n%s engine, %lld events", ss_engine_name(engine), (long long)t->events);
    if (opt->wall_s >= 0)
        fprintf(out, ", %.0f ms", 1e3 * opt->wall_s);
    fputc('\n', out);
    return ss_report_done(out, err);
}
