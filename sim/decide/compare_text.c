/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison for people. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "decide/contrast.h"
#include "report/common.h"
#include "report/text.h"

static int is_refused(const struct ss_side *s)
{
    return s->summary.outcome == SS_OUTCOME_REFUSED;
}

/* Writes a side, and what it stands on where the side above it stands on something else. */
static void write_side(const struct ss_side *s, const struct ss_side *above, char letter, FILE *out)
{
    const struct ss_summary *u = &s->summary;
    char time[32], tflops[128];

    if (s->premises[0] && (!above || strcmp(above->premises, s->premises) != 0))
        fprintf(out, "%s\n", s->premises);
    fprintf(out, "%c  %s\n   ", letter, s->name);
    if (is_refused(s)) {
        fprintf(out, "%s: %s\n", ss_outcome_word(u->outcome), u->reason);
        return;
    }
    fputs(ss_text_time(u->iteration_s, time, sizeof time), out);
    fputs(ss_text_band(u, time), out);
    fprintf(out, ", %.1f tokens/s/GPU", u->tokens_per_s_per_gpu);
    if (u->padding_fraction > 0)
        fprintf(out, " (%.1f %% padding)", 100 * u->padding_fraction);
    fprintf(out, ", %s", ss_text_tflops(u, tflops, sizeof tflops));
    if (ss_text_is_causal(u) && u->tflops_windows_per_gpu < u->tflops_logged_per_gpu)
        fprintf(out, ", %.0f causal", u->tflops_windows_per_gpu);
    fprintf(out, " on %.0f GPU%s, %s: %.1f of %.1f GiB\n", u->gpus, u->gpus > 1 ? "s" : "",
            ss_outcome_word(u->outcome), u->peak_device / SS_GIB, u->capacity / SS_GIB);
}

/* Writes "B is 3.1 % faster than A: ...". */
static void write_answer(const struct ss_contrast *c, int i, FILE *out)
{
    const struct ss_apart *a = &c->apart[i];
    char letter = (char)('A' + i);

    if (is_refused(&c->side[i]))
        return;
    if (c->side[i].tokens != c->side[0].tokens)
        fprintf(out, "An iteration of %c has %.4g times the tokens of A's: speeds are tokens a second.\n",
                letter, c->side[i].tokens / c->side[0].tokens);
    if (a->faster_pct == 0)
        fprintf(out, "%c is as fast as A.\n", letter);
    else
        fprintf(out, "%c is %.2f %% %s than A: %s.\n", letter, fabs(a->faster_pct),
                a->faster_pct > 0 ? "faster" : "slower",
                isnan(a->least_pct) ? "whether that can be told is not known"
                : a->apart          ? "a clear difference"
                                    : "too close to call");
}

/* Writes each reason once, because mostly all sides have the same. */
static void write_reasons(const struct ss_contrast *c, FILE *out)
{
    for (int i = 1; i < c->n; i++) {
        int told = is_refused(&c->side[i]);
        for (int k = 1; k < i; k++)
            told |= !strcmp(c->apart[k].why, c->apart[i].why);
        if (!told && isnan(c->apart[i].least_pct))
            fprintf(out, "Not known: %s.\n", c->apart[i].why);
        else if (!told)
            fprintf(out, "Differences below %.1f %% are too close to call: %s.\n", c->apart[i].least_pct,
                    c->apart[i].why);
    }
}

static void write_head(const struct ss_contrast *c, int table, FILE *out)
{
    static const char *const titles[SS_CONTRAST_TABLES] = {"Time of the busiest stage, ms",
                                                           "Kernels of compute and recompute, ms",
                                                           "Memory of the fullest stage, GiB"};

    fprintf(out, "\n%s (", titles[table]);
    for (int i = 0; i < c->n; i++) {
        int stage = table == SS_CONTRAST_MEMORY ? c->side[i].peak_stage : c->side[i].critical_stage;
        if (is_refused(&c->side[i]))
            fprintf(out, "%s%c refused", i ? ", " : "", 'A' + i);
        else
            fprintf(out, "%s%c %s%d", i ? ", " : "", 'A' + i, i ? "" : "stage ", stage);
    }
    fprintf(out, ")\n%-22s", "");
    for (int i = 0; i < c->n; i++)
        fprintf(out, " %10c", 'A' + i);
    for (int i = 1; i < c->n; i++)
        fprintf(out, "      %c - A", 'A' + i);
    fputs(c->n == 2 ? "   of A\n" : "\n", out);
}

static void put(double value, const char *format, int digits, FILE *out)
{
    if (isnan(value))
        fprintf(out, " %10s", "-");
    else
        fprintf(out, format, digits, fabs(value) < 0.5 * pow(10, -digits) ? 0.0 : value);
}

static void write_row(const struct ss_contrast *c, const struct ss_contrast_row *row, double scale,
                      int digits, double total, FILE *out)
{
    int any = row->is_total;

    for (int i = 0; i < c->n; i++)
        any |= fabs(row->value[i]) * scale >= 0.5 * pow(10, -digits);
    if (!any)
        return;
    fprintf(out, "  %-20s", row->words);
    for (int i = 0; i < c->n; i++)
        put(row->value[i] * scale, " %10.*f", digits, out);
    for (int i = 1; i < c->n; i++)
        put((row->value[i] - row->value[0]) * scale, " %+10.*f", digits, out);
    if (c->n == 2 && !isnan(row->value[1]))
        put(100 * (row->value[1] - row->value[0]) / total, " %+6.*f %%", 1, out);
    fputc('\n', out);
}

static void write_table(const struct ss_contrast *c, int table, FILE *out)
{
    double scale = table == SS_CONTRAST_MEMORY ? 1 / SS_GIB : 1e3;
    double total =
        table == SS_CONTRAST_MEMORY ? c->side[0].summary.peak_device : c->side[0].summary.iteration_s;
    int digits = total * scale >= 1000 ? 1 : total * scale >= 10 ? 2 : 4;
    struct ss_contrast_row row;

    if (!ss_contrast_has(&c->side[0], table))
        return;
    write_head(c, table, out);
    for (int i = 0; ss_contrast_row(c, table, i, &row); i++)
        write_row(c, &row, scale, digits, total, out);
}

/* Returns 1 if all sides that are not refused have this text among their warnings. */
static int all_have(const struct ss_contrast *c, const char *text)
{
    for (int i = 0; i < c->n; i++) {
        const struct ss_notes *w = c->side[i].warnings;
        int has = is_refused(&c->side[i]);
        for (unsigned long k = 0; w && k < w->n && !has; k++)
            has = !strcmp(w->text[k], text);
        if (!has)
            return 0;
    }
    return 1;
}

/* Writes the warnings that all sides have, or with `common` 0 the warnings of this side that others lack. */
static int write_some(const struct ss_contrast *c, int side, int common, const char *title, FILE *out)
{
    const struct ss_notes *w = c->side[side].warnings;
    struct ss_notes some = {0};
    int rc = SS_OK;

    for (unsigned long k = 0; w && k < w->n && !rc; k++)
        if (all_have(c, w->text[k]) == common)
            rc = ss_notes_add(&some, "%s", w->text[k]);
    if (!rc)
        ss_text_notes(title, &some, 20, out);
    ss_notes_free(&some);
    return rc;
}

static int write_warnings(const struct ss_contrast *c, FILE *out)
{
    int rc = write_some(c, 0, 1, "Warnings", out);

    for (int i = 0; i < c->n && !rc; i++) {
        char title[] = "Warnings of A";
        title[sizeof title - 2] = (char)('A' + i);
        rc = write_some(c, i, 0, title, out);
    }
    return rc;
}

int ss_contrast_text(const struct ss_contrast *c, FILE *out, struct ss_error *err)
{
    for (int i = 0; i < c->n; i++)
        write_side(&c->side[i], i ? &c->side[i - 1] : NULL, (char)('A' + i), out);
    fputc('\n', out);
    for (int i = 1; i < c->n; i++)
        write_answer(c, i, out);
    write_reasons(c, out);
    for (int table = 0; table < SS_CONTRAST_TABLES; table++)
        write_table(c, table, out);
    if (write_warnings(c, out))
        return ss_nomem(err);
    return ss_report_done(out, err);
}
