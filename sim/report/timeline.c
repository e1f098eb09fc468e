/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `program read` prints: the replay of a program that came without a model. */
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
    struct ss_json *o = ss_json_document("program"), *classes = ss_json_begin_list();

    for (int c = 0; c < p->nclasses; c++)
        SS_ITEM(classes,
                SS_OBJECT(SS_SAME(&p->classes[c], name), SS_SAME(&p->classes[c], stage),
                          SS_SAME(&p->classes[c], count), SS_KEY("breakdown_ms", ss_json_labels(t->spent[c])),
                          SS_KEY("peak_mib", peak_bytes(p, t, c) / SS_MIB),
                          SS_KEY("peak_ms", 1e3 * t->peak_time[c])));
    SS_PUT(o, SS_KEY("program", p->name), SS_KEY("iteration_ms", 1e3 * t->iteration_s),
           SS_KEY("classes", classes), SS_KEY("engine", ss_engine_name(engine)), SS_SAME(t, events),
           SS_KEY_IF(opt->wall_s >= 0, "timing", SS_OBJECT(SS_KEY("wall_ms", 1e3 * opt->wall_s))));
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
