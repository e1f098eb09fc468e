/* SPDX-License-Identifier: Apache-2.0 */
/* Writes why a job is slow, for people and as JSON. */
#include "decide/advise.h"
#include "decide/contrast.h"
#include "report/common.h"
#include "report/text.h"

#define BAR_WIDTH 30

/* ---- text ---- */

static void write_answer(const struct ss_summary *u, const struct ss_display *view, FILE *out)
{
    char time[32], mfu[64], tflops[128];

    fputs(ss_text_time(u->iteration_s, time, sizeof time), out);
    fprintf(out, "%s an iteration\n", ss_text_band(u, time));
    ss_put_verdict(ss_outcome_word(u->outcome), view, out);
    fprintf(out, ": %.1f of %.1f GiB\n%s, %s\n", u->peak_device / SS_GIB, u->capacity / SS_GIB,
            ss_text_tflops(u, tflops, sizeof tflops), ss_text_mfu(u, 0, mfu, sizeof mfu));
}

/* What --measured tells, s; 0: nothing. */
static double measured_of(const struct ss_run *run)
{
    return run->scenario ? run->scenario->measured_s : 0;
}

/* Returns 1 where 90 % of such jobs take times on both sides of this one, with what was assumed. */
static int is_within(const struct ss_summary *u, double seconds)
{
    return seconds >= u->iteration_s * (1 + u->time_low_pct / 100) &&
           seconds <= u->iteration_s * (1 + u->time_high_pct / 100);
}

static void write_measured(const struct ss_run *run, FILE *out)
{
    const struct ss_summary *u = &run->summary;
    const double seconds = measured_of(run);
    char time[32];

    if (seconds > 0)
        fprintf(out, "measured %s, %+.1f %%%s\n", ss_text_time(seconds, time, sizeof time),
                100 * (seconds / u->iteration_s - 1),
                !(u->band_pct > 0)      ? ""
                : is_within(u, seconds) ? ": within that band"
                                        : ": beyond that band; stepsim check ranks what may be the cause");
}

static void write_terms(const struct ss_explanation *x, FILE *out)
{
    double total = x->side.summary.iteration_s;
    char bar[BAR_WIDTH + 1];

    fprintf(out, "\nWhere the time goes, against an ideal (stage %d, the busiest)\n", x->side.critical_stage);
    for (int t = 0; t < SS_TERMS; t++) {
        double share = x->term[t] / total;
        int n = (int)lround(share * BAR_WIDTH);
        if (fabs(share) < 5e-4)
            continue;
        n = n < 0 ? 0 : n > BAR_WIDTH ? BAR_WIDTH : n;
        memset(bar, '#', (size_t)n);
        bar[n] = '\0';
        fprintf(out, "  %-42s %9.1f ms %5.1f %%%s%s\n", ss_term_words(t), 1e3 * x->term[t], 100 * share,
                n ? " " : "", bar);
    }
}

/* Writes words for a shell inside a sentence. A word that a shell would change stands in quotes. */
static void write_words(const char *words, FILE *out)
{
    for (const char *p = words; *p;) {
        int n = (int)strcspn(p, " "), quoted = (int)strcspn(p, "(|)*") < n;
        fprintf(out, quoted ? "'%.*s'%s" : "%.*s%s", n, p, p[n] ? " " : "");
        p += n + (p[n] == ' ');
    }
}

/* Writes the two largest terms above the ideal. */
static void write_largest(const struct ss_explanation *x, FILE *out)
{
    int most = -1, next = -1;

    for (int t = SS_TERM_IDEAL + 1; t < SS_TERMS; t++) {
        if (most < 0 || x->term[t] > x->term[most]) {
            next = most;
            most = t;
        } else if (next < 0 || x->term[t] > x->term[next]) {
            next = t;
        }
    }
    fprintf(out, "\nMost is lost to %s (%.1f %%) and %s (%.1f %%).\n", ss_term_words(most),
            100 * x->term[most] / x->side.summary.iteration_s, ss_term_words(next),
            100 * x->term[next] / x->side.summary.iteration_s);
}

/* Returns the words for an elasticity, with the fabric by its own name. */
static const char *words_of(int e, const char *fabric, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s", e == SS_ELASTICITY_FABRIC ? fabric : "",
             e == SS_ELASTICITY_FABRIC ? " " : "", ss_elasticity_words(e));
    return buf;
}

/* Writes what sets the pace, what would remain without communication or bubble, a better split, and free
 * memory. */
static void write_sentences(const struct ss_explanation *x, const char *fabric, FILE *out)
{
    const struct ss_summary *u = &x->side.summary;
    double waits = u->bubble_fraction + u->imbalance_fraction + u->spread_fraction;
    char a[32], b[32], words[64];
    int pace = 0;

    for (int e = 1; e < SS_ELASTICITIES; e++)
        if (!(fabs(x->elasticity[e]) <= fabs(x->elasticity[pace])))
            pace = isnan(x->elasticity[e]) ? pace : e;
    if (fabs(x->elasticity[pace]) >= 0.5)
        fprintf(out, "What sets the pace: %s.\n", words_of(pace, fabric, words, sizeof words));
    fprintf(out, "With all communication hidden it could take %s, without bubble and waiting %s, at best.\n",
            ss_text_time(u->iteration_s - u->exposed_s, a, sizeof a),
            ss_text_time(u->iteration_s * (1 - waits), b, sizeof b));
    if (x->split.change[0]) {
        fputs("A better split of the layers: ", out);
        write_words(x->split.change, out);
        fprintf(out, " (%+.1f %%).\n", 100 * (x->split.summary.iteration_s / u->iteration_s - 1));
    }
    if (u->outcome == SS_OUTCOME_FITS)
        fprintf(out, "%.1f GiB of the card are free on the fullest stage.\n",
                (u->capacity - u->peak_device) / SS_GIB);
    else
        fprintf(out, "%c%s: %s.\n", toupper(ss_outcome_word(u->outcome)[0]), ss_outcome_word(u->outcome) + 1,
                u->reason);
}

static void write_elasticities(const double *percent, const char *fabric, FILE *out)
{
    char words[64];

    fputs("\nOne per cent more of              changes the time by\n", out);
    for (int e = 0; e < SS_ELASTICITIES; e++)
        if (isnan(percent[e]))
            fprintf(out, "  %-32s %8s\n", words_of(e, fabric, words, sizeof words), "-");
        else
            fprintf(out, "  %-32s %+8.3f %%\n", words_of(e, fabric, words, sizeof words),
                    fabs(percent[e]) < 5e-4 ? 0.0 : percent[e]);
}

static void write_change(const struct ss_explanation *x, const struct ss_advice *a, FILE *out)
{
    char time[32];

    write_words(a->change, out);
    fprintf(out, "\n     %s an iteration (%+.1f %%%s), %.1f GiB (%+.1f), %s%s%s\n",
            ss_text_time(a->summary.iteration_s, time, sizeof time),
            100 * (a->summary.iteration_s / x->side.summary.iteration_s - 1),
            a->apart.apart ? "" : ", too close to call", a->summary.peak_device / SS_GIB,
            (a->summary.peak_device - x->side.summary.peak_device) / SS_GIB,
            a->summary.outcome == SS_OUTCOME_NEAR_LIMIT ? "near limit: it may not fit"
                                                        : ss_outcome_word(a->summary.outcome),
            a->note[0] ? "; " : "", a->note);
}

void ss_advice_text(const struct ss_explanation *x, FILE *out)
{
    for (int i = 0; i < x->nadvice; i++) {
        fprintf(out, "  %d. ", i + 1);
        write_change(x, &x->advice[i], out);
    }
    if (x->together.change[0]) {
        fputs("  Together, as far as each still helps and surely fits:\n     ", out);
        write_change(x, &x->together, out);
    }
}

static void write_advice(const struct ss_explanation *x, FILE *out)
{
    int large = x->side.summary.outcome == SS_OUTCOME_TOO_LARGE;

    if (large)
        fprintf(out, "\n%s\n",
                x->nadvice ? "What makes it fit, cheapest first"
                           : "Nothing that was tried makes it fit, alone or up to three together");
    else
        fprintf(out, "\n%s (%d change%s: %d slower or the same, %d too large, %d refused)\n",
                x->nadvice ? "What helps most" : "No change that was tried helps", x->tried,
                x->tried == 1 ? " applies" : "s apply", x->slower, x->too_large, x->refused);
    ss_advice_text(x, out);
    if (large && !x->nadvice)
        ss_text_smallest(&x->smallest, out);
    fprintf(out, "%d simulations%s; \"stepsim search\" tries all layouts.\n", x->runs + 1,
            large ? " and those of the search for what fits" : "");
}

static int write_text(const struct ss_explanation *x, const struct ss_run *run, const struct ss_display *view,
                      FILE *out, struct ss_error *err)
{
    const char *fabric = ss_platform_fabric(run->plan->platform);
    struct ss_notes warnings = {0};

    write_answer(&x->side.summary, view, out);
    write_measured(run, out);
    ss_text_job(run->plan, out);
    write_terms(x, out);
    write_largest(x, out);
    write_sentences(x, fabric, out);
    ss_text_parts(run, out);
    int rc = ss_text_kernels(run, view, out);
    write_elasticities(x->elasticity, fabric, out);
    write_advice(x, out);
    rc = rc ? ss_nomem(err) : ss_side_warn(run, &warnings, err);
    ss_text_notes("Warnings", &warnings, 20, out);
    ss_notes_free(&warnings);
    return rc ? rc : ss_report_done(out, err);
}

/* ---- JSON ---- */

static struct ss_json *advice_object(const struct ss_explanation *x, const struct ss_advice *a)
{
    struct ss_json *o =
        SS_OBJECT(SS_SAME(a, change), SS_SAME(a, note),
                  SS_KEY("time_pct", 100 * (a->summary.iteration_s / x->side.summary.iteration_s - 1)),
                  SS_KEY("apart", ss_apart_cell(&a->apart)));

    ss_json_verdict(o, &a->summary);
    ss_json_metrics(o, -1, &a->summary);
    return o;
}

static struct ss_json *change_object(const struct ss_explanation *x, const struct ss_advice *a)
{
    return a->change[0] ? advice_object(x, a) : ss_json_null();
}

struct ss_json *ss_advice_array(const struct ss_explanation *x)
{
    struct ss_json *advice = ss_json_begin_list();

    for (int i = 0; i < x->nadvice; i++)
        SS_ITEM(advice, advice_object(x, &x->advice[i]));
    return advice;
}

struct ss_json *ss_advice_together(const struct ss_explanation *x)
{
    return change_object(x, &x->together);
}

static int write_json(const struct ss_explanation *x, const struct ss_run *run, FILE *out,
                      struct ss_error *err)
{
    struct ss_notes warnings = {0};
    struct ss_json *root = ss_json_document("explain");
    int rc = ss_side_warn(run, &warnings, err);

    ss_json_verdict(root, &x->side.summary);
    ss_json_metrics(root, -1, &x->side.summary);
    SS_PUT(root, SS_KEY_IF(measured_of(run) > 0, "measured_ms", 1e3 * measured_of(run)),
           SS_KEY_IF(measured_of(run) > 0, "within_band", (bool)is_within(&run->summary, measured_of(run))),
           SS_SAME(&x->side, critical_stage),
           SS_KEY("terms_ms", ss_json_named(SS_TERMS, ss_term_key, x->term, 1e3)),
           SS_KEY("elasticity_pct", ss_json_named(SS_ELASTICITIES, ss_elasticity_name, x->elasticity, 1)),
           SS_KEY_IF(run->compute, "compute", ss_json_compute(run)), SS_KEY("simulations", x->runs + 1),
           SS_KEY("changes", SS_OBJECT(SS_SAME(x, tried), SS_SAME(x, slower), SS_SAME(x, too_large),
                                       SS_SAME(x, refused))),
           SS_KEY("advice", ss_advice_array(x)), SS_KEY("together", ss_advice_together(x)),
           SS_KEY("split", change_object(x, &x->split)), SS_KEY("warnings", ss_json_notes(&warnings)));
    ss_notes_free(&warnings);
    if (rc)
        ss_json_free(root);
    return rc ? rc : ss_json_write(root, out, err);
}

int ss_explanation_write(const struct ss_explanation *x, const struct ss_run *run,
                         const struct ss_display *view, FILE *out, struct ss_error *err)
{
    return view && view->json ? write_json(x, run, out, err) : write_text(x, run, view, out, err);
}
