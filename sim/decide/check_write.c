/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a check for people and as JSON, from the same rows. */
#include "decide/check_internal.h"
#include "report/common.h"
#include "report/text.h"

#define HELPS_SHOWN 3

static double scale_of(int told)
{
    return told == SS_TOLD_MFU ? 100 : told >= SS_TOLD_RATES ? 1 / SS_GIB : 1;
}

static const char *unit_of(int told)
{
    return told == SS_TOLD_MFU ? ", %" : told >= SS_TOLD_RATES ? ", GiB" : "";
}

/* ---- rows ---- */

static struct ss_json *figure_object(const void *row)
{
    const struct ss_check_figure *f = row;

    return SS_OBJECT(SS_KEY("figure", ss_told_key(f->told)),
                     SS_KEY_IF(f->count, "count", ss_flop_count_key(f->count)), SS_SAME(f, measured),
                     SS_SAME(f, predicted),
                     SS_KEY("measured_over_predicted_pct", 100 * (f->measured / f->predicted - 1)));
}

static struct ss_json *suspect_object(const void *row)
{
    const struct ss_suspect *s = row;

    return SS_OBJECT(SS_SAME(s, id), SS_SAME(s, what), SS_SAME(s, change),
                     SS_KEY("iteration_ms", 1e3 * s->seconds), SS_KEY("share_pct", 100 * s->share),
                     SS_TRUTH(s, explains), SS_SAME(s, next));
}

static struct ss_json *advice_object(const void *row)
{
    const struct ss_advice *a = row;

    return SS_OBJECT(SS_SAME(a, change), SS_SAME(a, note),
                     SS_KEY("iteration_ms", 1e3 * a->summary.iteration_s));
}

void ss_check_row(const struct ss_checked *c, struct ss_row *r)
{
    double predicted = c->help.side.summary.iteration_s;

    SS_ADD(r, SS_KEY("verdict", c->timed ? ss_check_key(c->verdict) : ss_check_memory_key(c->verdict)),
           SS_KEY("exit_status", ss_check_status(c)), SS_KEY("predicted_ms", 1e3 * predicted),
           SS_KEY("error_band_pct", c->band_pct), SS_TRUTH(c, band_known),
           SS_KEY_IF(c->timed, "measured_ms", 1e3 * c->measured_s),
           SS_KEY_IF(c->timed, "low_ms", 1e3 * c->low_s), SS_KEY_IF(c->timed, "high_ms", 1e3 * c->high_s),
           SS_KEY_IF(c->timed, "measured_over_predicted_pct", 100 * (c->measured_s / predicted - 1)),
           SS_KEY_IF(c->stored, "memory_verdict", ss_check_memory_key(c->memory_verdict)),
           SS_KEY_IF(c->stored, "memory_low_mib", c->memory_low / SS_MIB),
           SS_KEY_IF(c->stored, "memory_high_mib", c->memory_high / SS_MIB), SS_SAME(c, doubt),
           SS_KEY("simulations", c->runs + 1));
}

/* ---- text ---- */

static void write_first(const struct ss_checked *c, FILE *out)
{
    double predicted = c->help.side.summary.iteration_s;
    char a[32], b[32], low[32], high[32];

    if (c->verdict == SS_CHECK_UNCLEAR) {
        fprintf(out, "%s: %s\n", ss_check_words(c->verdict), c->doubt);
        return;
    }
    if (c->timed)
        fprintf(out,
                "%s: %s an iteration measured, %s predicted (%+.1f %%); 90 %% of such jobs take %s to %s%s\n",
                ss_check_words(c->verdict), ss_text_time(c->measured_s, a, sizeof a),
                ss_text_time(predicted, b, sizeof b), 100 * (c->measured_s / predicted - 1),
                ss_text_time(c->low_s, low, sizeof low), ss_text_time(c->high_s, high, sizeof high),
                c->band_known ? "" : ", as nothing like it was measured");
    for (int i = 0; i < c->nfigures && c->stored; i++) {
        const struct ss_check_figure *f = &c->figure[i];
        if (f->told < SS_TOLD_RATES)
            continue;
        fprintf(out, "%s: %.1f GiB measured, %.1f predicted (%s); such jobs take %.1f to %.1f\n",
                ss_check_memory_words(c->memory_verdict), f->measured / SS_GIB, f->predicted / SS_GIB,
                ss_told_words(f->told), c->memory_low / SS_GIB, c->memory_high / SS_GIB);
        break;
    }
}

static void write_source(const struct ss_checked *c, FILE *out)
{
    const struct ss_measurement *m = &c->measured;

    if (m->unread)
        fprintf(out,
                "%d line%s of the log look%s like a speed and %s not read, the first of them %d: \"%s\"\n",
                m->unread, m->unread > 1 ? "s" : "", m->unread > 1 ? "" : "s", m->unread > 1 ? "are" : "is",
                m->unread_line, m->unread_text);
    if (m->passes)
        fprintf(out, "an iteration of the log is one of %d microbatches: its time is taken %d times\n",
                m->passes, m->passes);
    if (!m->iterations)
        return;
    fprintf(out, "log of %s: ", ss_logger_name(m->logger));
    if (m->whole_run)
        fputs("a mean over the whole run, its first iterations included\n", out);
    else if (m->used < m->iterations)
        fprintf(out, "median of %d of %d iterations, without the first %d, spread %.1f %%\n", m->used,
                m->iterations, m->iterations - m->used, 100 * m->spread);
    else
        fprintf(out, "%d iteration%s, the first ones among them\n", m->iterations,
                m->iterations > 1 ? "s" : "");
}

/* Writes what widens the band of a run that is inside of it for that alone. */
static void write_width(const struct ss_checked *c, const struct ss_run *run, FILE *out)
{
    const struct ss_assumed *a = run->assumed;
    const double predicted = run->summary.iteration_s, narrow = c->band_pct / 100;
    char low[32], high[32], text[512];

    if (!a || c->verdict != SS_CHECK_AS_PREDICTED || !c->timed ||
        (c->measured_s >= predicted / (1 + narrow) && c->measured_s <= predicted / (1 - narrow)))
        return;
    fprintf(out, "told all, such a job takes %s to %s; what is not told may cost the rest:\n",
            ss_text_time(predicted / (1 + narrow), low, sizeof low),
            ss_text_time(predicted / (1 - narrow), high, sizeof high));
    for (int i = 0; i < a->shown; i++)
        fprintf(out, "  %s: %s\n", a->things[i].flags, ss_text_without(&a->things[i], text, sizeof text));
}

static int write_figures(const struct ss_checked *c, const struct ss_display *view, FILE *out)
{
    static const struct ss_column columns[] = {{"what", "", "%-s", 1, 0},
                                               {"measured", "measured", "%.5g", 1, 0},
                                               {"predicted", "predicted", "%.5g", 1, 0},
                                               {"off", "", "%+.1f %%", 1, 0}};
    struct ss_grid grid;

    fputc('\n', out);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < c->nfigures; i++) {
        const struct ss_check_figure *f = &c->figure[i];
        const double scale = scale_of(f->told);
        char words[128];
        snprintf(words, sizeof words, "%s%s%s%s", ss_told_words(f->told), unit_of(f->told),
                 f->count ? ": " : "", f->count ? ss_flop_count_words(f->count) : "");
        struct ss_row r = {0};
        SS_ADD(&r, SS_KEY("what", words), SS_KEY("measured", scale * f->measured),
               SS_KEY("predicted", scale * f->predicted),
               SS_KEY("off", 100 * (f->measured / f->predicted - 1)));
        ss_grid_row(&grid, &r);
    }
    int rc = ss_grid_end(&grid, view, out);
    if (c->doubt[0] && !c->contradicts)
        fprintf(out, "%c%s.\n", c->doubt[0] & ~0x20, c->doubt + 1);
    return rc;
}

static void write_suspects(const struct ss_checked *c, FILE *out)
{
    char time[32];

    if (c->nsuspects)
        fprintf(out, "\nSuspects, the likeliest first\n");
    for (int i = 0; i < c->nsuspects; i++) {
        const struct ss_suspect *s = &c->suspect[i];
        fprintf(out, "  %d. %s\n", i + 1, s->what);
        if (!isnan(s->seconds))
            fprintf(out, "     %s: %s an iteration, %.0f %% of the difference%s\n", s->change,
                    ss_text_time(s->seconds, time, sizeof time), 100 * s->share,
                    s->explains    ? ""
                    : s->share > 1 ? ", more than there is"
                                   : ", not all of it");
        fprintf(out, "     measure: %s\n", s->next);
    }
}

static void write_help(const struct ss_checked *c, FILE *out)
{
    const struct ss_explanation *x = &c->help;
    char time[32];

    if (c->verdict != SS_CHECK_SLOWER || !x->nadvice)
        return;
    fputs("\nWhat helps such a job in any case (predicted)\n", out);
    for (int i = 0; i < x->nadvice && i < HELPS_SHOWN; i++)
        fprintf(out, "  %s: %s (%+.1f %%)\n", x->advice[i].change,
                ss_text_time(x->advice[i].summary.iteration_s, time, sizeof time),
                100 * (x->advice[i].summary.iteration_s / x->side.summary.iteration_s - 1));
}

static int write_text(const struct ss_checked *c, const struct ss_run *run, int brief,
                      const struct ss_display *view, FILE *out, struct ss_error *err)
{
    const struct ss_summary *u = &run->summary;
    struct ss_notes warnings = {0};

    write_first(c, out);
    if (brief)
        return ss_report_done(out, err);
    if (u->outcome != SS_OUTCOME_FITS)
        fprintf(out, "memory of the job as told: %s, %.1f of %.1f GiB: %s\n", ss_outcome_word(u->outcome),
                u->peak_device / SS_GIB, u->capacity / SS_GIB, u->reason);
    write_width(c, run, out);
    write_source(c, out);
    ss_text_job(run->plan, out);
    int rc = write_figures(c, view, out);
    write_suspects(c, out);
    write_help(c, out);
    fprintf(out, "%d simulation%s.\n", c->runs + 1, c->runs ? "s" : "");
    if (rc)
        return ss_nomem(err);
    rc = ss_side_warn(run, &warnings, err);
    ss_text_notes("Warnings", &warnings, 20, out);
    ss_notes_free(&warnings);
    return rc ? rc : ss_report_done(out, err);
}

/* ---- JSON ---- */

static struct ss_json *log_object(const struct ss_measurement *m)
{
    return SS_OBJECT(SS_SAME(m, file), SS_KEY("logger", ss_logger_name(m->logger)), SS_SAME(m, iterations),
                     SS_SAME(m, used), SS_TRUTH(m, whole_run), SS_KEY("spread_pct", 100 * m->spread),
                     SS_SAME(m, passes), SS_SAME(m, unread), SS_SAME(m, unread_line));
}

static int write_json(const struct ss_checked *c, const struct ss_run *run, FILE *out, struct ss_error *err)
{
    const struct ss_explanation *x = &c->help;
    struct ss_notes warnings = {0};
    struct ss_row r = {0};
    struct ss_json *root = ss_json_document("check");
    int rc = ss_side_warn(run, &warnings, err);

    ss_check_row(c, &r);
    ss_json_put(root, r.at);
    SS_PUT(root, SS_KEY("figures", SS_LIST(figure_object, c->figure, c->nfigures)),
           SS_KEY("suspects", SS_LIST(suspect_object, c->suspect, c->nsuspects)),
           SS_KEY("help", SS_LIST(advice_object, x->advice, x->nadvice)),
           SS_KEY_IF(c->measured.iterations, "log", log_object(&c->measured)),
           SS_KEY("warnings", ss_json_notes(&warnings)));
    ss_notes_free(&warnings);
    if (rc)
        ss_json_free(root);
    return rc ? rc : ss_json_write(root, out, err);
}

int ss_check_write(const struct ss_checked *c, const struct ss_run *run, enum ss_check_form form,
                   const struct ss_display *view, FILE *out, struct ss_error *err)
{
    return form == SS_CHECK_JSON ? write_json(c, run, out, err)
                                 : write_text(c, run, form == SS_CHECK_BRIEF, view, out, err);
}
