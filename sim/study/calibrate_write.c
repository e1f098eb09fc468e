/* SPDX-License-Identifier: Apache-2.0 */
/* A calibration for people, as JSON, as a platform and as a stack. */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "study/calibrate.h"

static void print_stat(const char *name, const struct ss_error_stat *s, FILE *out)
{
    fprintf(out, "  %-24s mean %6.2f  median %6.2f  worst %6.1f  bias %+6.2f %%  of %d\n", name, s->mean_abs,
            s->median_abs, s->worst_abs, s->bias, s->n);
}

static int count_rows(const struct ss_calibration *c, int fitted)
{
    int n = 0;

    for (int i = 0; i < c->nrows; i++)
        n += c->rows[i].fitted == fitted;
    return n;
}

static void print_rows(const struct ss_calibration *c, int fitted, FILE *out)
{
    for (int i = 0; i < c->nrows; i++) {
        const struct ss_fit_row *r = &c->rows[i];
        if (r->fitted != fitted)
            continue;
        double scale = !strcmp(r->kind, "memory") ? 1 / SS_MIB : 1e3;
        char name[200];
        snprintf(name, sizeof name, "%s%s%s", r->run, r->run[0] ? " " : "", r->id);
        fprintf(out, "  %-40s %-6s %12.3f %s %+8.1f %% -> %+6.1f %%\n", name, r->kind, scale * r->measured,
                !strcmp(r->kind, "memory") ? "MiB" : "ms ", ss_error_pct(r->before, r->measured),
                ss_error_pct(r->after, r->measured));
    }
}

static int is_new(const struct ss_fit_prop *p)
{
    return p->determined || p->after != p->before;
}

static void print_prop(const struct ss_fit_prop *p, FILE *out)
{
    char before[64], after[64], deviation[64], lo[64], hi[64];

    fprintf(out, "  %-32s %12s -> %12s", p->id, ss_study_prop_text(p->id, p->before, before, sizeof before),
            ss_study_prop_text(p->id, p->after, after, sizeof after));
    if (p->determined)
        fprintf(out, " +- %-12s", ss_study_prop_text(p->id, p->deviation, deviation, sizeof deviation));
    else
        fprintf(out, " %-15s", "not determined");
    fprintf(out, " in %s..%s%s%s\n", ss_study_prop_text(p->id, p->lo, lo, sizeof lo),
            ss_study_prop_text(p->id, p->hi, hi, sizeof hi), p->at_bound ? ", at its bound" : "",
            !p->determined && is_new(p) ? ", but not what it was" : "");
}

static void print_correlation(const struct ss_calibration *c, FILE *out)
{
    if (c->nprops < 2)
        return;
    fprintf(out, "\nCorrelation (near 1 or -1: the data know only a mix of the two)\n");
    for (int i = 0; i < c->nprops; i++) {
        fprintf(out, "  %2d %-32s", i + 1, c->props[i].id);
        for (int k = 0; k <= i; k++)
            fprintf(out, " %5.2f", c->correlation[i][k]);
        fputc('\n', out);
    }
}

int ss_calibration_write_text(const struct ss_calibration *c, FILE *out, struct ss_error *err)
{
    fprintf(out, "Errors\n");
    print_stat("before", &c->before, out);
    print_stat("after", &c->after, out);
    fprintf(out, "\nNumbers, with standard deviation\n");
    for (int i = 0; i < c->nprops; i++)
        print_prop(&c->props[i], out);
    print_correlation(c, out);
    fprintf(out, "\nRows used (%d; %d others are of another platform, kind, quality or outcome)\n",
            count_rows(c, 1), c->nskipped);
    print_rows(c, 1, out);
    if (count_rows(c, 0)) {
        fprintf(out, "\nTimers in no fit; predicted are the last rank's\n");
        print_rows(c, 0, out);
    }
    if (c->leave_out[0]) {
        fprintf(out, "\nTimes predicted by the fit of all others, leaving out one %s at a time\n",
                c->leave_out);
        for (int i = 0; i < c->nleft_out; i++)
            print_stat(c->left_out[i].name, &c->left_out[i].error, out);
        print_stat("all", &c->over_left_out, out);
    }
    if (c->memory_left_out.n) {
        fprintf(out, "\nTheir memory, likewise\n");
        for (int i = 0; i < c->nleft_out; i++)
            if (c->left_out[i].memory.n)
                print_stat(c->left_out[i].name, &c->left_out[i].memory, out);
        print_stat("all", &c->memory_left_out, out);
    }
    for (unsigned long i = 0; i < c->notes.n; i++)
        fprintf(out, "note: %s\n", c->notes.text[i]);
    if (c->notes.lost)
        return ss_nomem(err);
    return ss_report_done(out, err);
}

/* ---- JSON ---- */

static json_t *stat_object(const struct ss_error_stat *s)
{
    json_t *o = json_object();

    ss_json_integer(o, "n", s->n);
    ss_json_number(o, "mean_abs_pct", s->mean_abs);
    ss_json_number(o, "median_abs_pct", s->median_abs);
    ss_json_number(o, "worst_abs_pct", s->worst_abs);
    ss_json_number(o, "bias_pct", s->bias);
    return o;
}

static json_t *prop_object(const struct ss_calibration *c, int i)
{
    const struct ss_fit_prop *p = &c->props[i];
    json_t *o = json_object(), *correlation = json_object();

    ss_json_text(o, "id", p->id);
    ss_json_text(o, "of", p->of_stack ? "stack" : "platform");
    ss_json_number(o, "low", p->lo);
    ss_json_number(o, "high", p->hi);
    ss_json_number(o, "before", p->before);
    ss_json_number(o, "after", p->after);
    ss_json_number(o, "deviation", p->deviation);
    ss_json_flag(o, "determined", p->determined);
    ss_json_flag(o, "at_bound", p->at_bound);
    for (int k = 0; k < c->nprops; k++)
        ss_json_number(correlation, c->props[k].id, c->correlation[i][k]);
    ss_json_set(o, "correlation", correlation);
    return o;
}

static json_t *row_object(const struct ss_fit_row *r)
{
    double scale = !strcmp(r->kind, "memory") ? 1 / SS_MIB : 1e3;
    json_t *o = json_object();

    ss_json_text(o, "id", r->id);
    if (r->run[0])
        ss_json_text(o, "run", r->run);
    ss_json_text(o, "kind", r->kind);
    ss_json_flag(o, "fitted", r->fitted);
    ss_json_text(o, "unit", !strcmp(r->kind, "memory") ? "MiB" : "ms");
    ss_json_number(o, "measured", scale * r->measured);
    ss_json_number(o, "before", scale * r->before);
    ss_json_number(o, "after", scale * r->after);
    return o;
}

int ss_calibration_write_json(const struct ss_calibration *c, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("calibrate"), *props = json_array(), *rows = json_array(),
           *left = json_array();

    ss_json_set(o, "before", stat_object(&c->before));
    ss_json_set(o, "after", stat_object(&c->after));
    for (int i = 0; i < c->nprops; i++)
        ss_json_append(props, prop_object(c, i));
    ss_json_set(o, "props", props);
    for (int i = 0; i < c->nrows; i++)
        ss_json_append(rows, row_object(&c->rows[i]));
    ss_json_set(o, "rows", rows);
    ss_json_integer(o, "rows_skipped", c->nskipped);
    if (c->leave_out[0]) {
        json_t *object = json_object();
        ss_json_text(object, "by", c->leave_out);
        for (int i = 0; i < c->nleft_out; i++) {
            json_t *one = stat_object(&c->left_out[i].error);
            ss_json_text(one, "left_out", c->left_out[i].name);
            if (c->left_out[i].memory.n)
                ss_json_set(one, "memory", stat_object(&c->left_out[i].memory));
            ss_json_append(left, one);
        }
        ss_json_set(object, "groups", left);
        ss_json_set(object, "all", stat_object(&c->over_left_out));
        if (c->memory_left_out.n)
            ss_json_set(object, "all_memory", stat_object(&c->memory_left_out));
        ss_json_set(o, "leave_out", object);
    } else {
        ss_json_free(left);
    }
    ss_json_integer(o, "evaluations", c->evaluations);
    ss_json_set(o, "notes", ss_json_notes(&c->notes));
    return ss_json_write(o, out, err);
}

/* ---- files ---- */

int ss_calibration_write_platform(const struct ss_calibration *c, const char *platform, FILE *out,
                                  struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p;
    char text[64];
    int rc = ss_platform_load(platform, &options, &p, err);

    if (rc)
        return rc;
    for (int i = 0; i < c->nprops && !rc; i++)
        if (!c->props[i].of_stack && is_new(&c->props[i]))
            rc = ss_platform_set(p, c->props[i].id,
                                 ss_study_prop_text(c->props[i].id, c->props[i].after, text, sizeof text),
                                 err);
    SS_THEN(rc, ss_platform_write(p, out, err));
    ss_platform_free(p);
    return rc;
}

/* Does the stack have a value of its own for this card? */
static int of_card(const char *id, const struct ss_stack *here, const struct ss_stack *elsewhere)
{
    return ss_study_prop_get(id, NULL, here) != ss_study_prop_get(id, NULL, elsewhere);
}

int ss_calibration_write_stack(const struct ss_calibration *c, const char *name, const char *base,
                               const char *platform, FILE *out, struct ss_error *err)
{
    struct ss_platform_options options = {.nodes = 1, .asker = ss_simgrid_ask_routes};
    struct ss_stack here, elsewhere;
    struct ss_platform *p;
    char text[64], card[64];
    int rc = ss_platform_load(platform, &options, &p, err);

    if (rc)
        return rc;
    ss_copy(card, sizeof card, ss_platform_card(p)->name);
    ss_platform_free(p);
    card[strcspn(card, "-")] = '\0'; /* its family */
    if ((rc = ss_stack_load(base, card, &here, err)) != 0 ||
        (rc = ss_stack_load(base, NULL, &elsewhere, err)) != 0)
        return rc;

    fputs("<?xml version=\"1.0\"?>\n<stack name=\"", out);
    ss_xml_escape(out, name);
    fputs("\" base=\"", out);
    ss_xml_escape(out, base);
    fputs("\">\n", out);
    for (int i = 0; i < c->nprops; i++)
        if (c->props[i].of_stack && is_new(&c->props[i])) {
            fprintf(out, "  <prop id=\"%s\"", c->props[i].id);
            if (of_card(c->props[i].id, &here, &elsewhere))
                fprintf(out, " card=\"%s\"", card);
            fprintf(out, " value=\"%s\"/>\n",
                    ss_study_prop_text(c->props[i].id, c->props[i].after, text, sizeof text));
        }
    fputs("</stack>\n", out);
    return ss_report_done(out, err);
}
