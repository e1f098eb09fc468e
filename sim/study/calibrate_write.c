/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a calibration for people, as JSON, as a platform and as a stack. */
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

static struct ss_json *prop_object(const struct ss_calibration *c, int i)
{
    const struct ss_fit_prop *p = &c->props[i];
    struct ss_json *correlation = ss_json_begin_object();

    for (int k = 0; k < c->nprops; k++)
        SS_PUT(correlation, SS_KEY(c->props[k].id, c->correlation[i][k]));
    return SS_OBJECT(SS_SAME(p, id), SS_KEY("of", p->of_stack ? "stack" : "platform"), SS_KEY("low", p->lo),
                     SS_KEY("high", p->hi), SS_SAME(p, before), SS_SAME(p, after), SS_SAME(p, deviation),
                     SS_TRUTH(p, determined), SS_TRUTH(p, at_bound), SS_KEY("correlation", correlation));
}

static struct ss_json *row_object(const void *row)
{
    const struct ss_fit_row *r = row;
    const int memory = !strcmp(r->kind, "memory");
    const double scale = memory ? 1 / SS_MIB : 1e3;

    return SS_OBJECT(SS_SAME(r, id), SS_KEY_IF(r->run[0], "run", r->run), SS_SAME(r, kind),
                     SS_TRUTH(r, fitted), SS_KEY("unit", memory ? "MiB" : "ms"),
                     SS_KEY("measured", scale * r->measured), SS_KEY("before", scale * r->before),
                     SS_KEY("after", scale * r->after));
}

static struct ss_json *left_out_object(const void *row)
{
    const struct ss_fit_left_out *l = row;
    struct ss_json *o = ss_error_stat_json(&l->error);

    SS_PUT(o, SS_KEY("left_out", l->name), SS_KEY_IF(l->memory.n, "memory", ss_error_stat_json(&l->memory)));
    return o;
}

static struct ss_json *leave_out_object(const struct ss_calibration *c)
{
    return SS_OBJECT(SS_KEY("by", c->leave_out),
                     SS_KEY("groups", SS_LIST(left_out_object, c->left_out, c->nleft_out)),
                     SS_KEY("all", ss_error_stat_json(&c->over_left_out)),
                     SS_KEY_IF(c->memory_left_out.n, "all_memory", ss_error_stat_json(&c->memory_left_out)));
}

int ss_calibration_write_json(const struct ss_calibration *c, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("calibrate"), *props = ss_json_begin_list();

    for (int i = 0; i < c->nprops; i++)
        SS_ITEM(props, prop_object(c, i));
    SS_PUT(o, SS_KEY("before", ss_error_stat_json(&c->before)),
           SS_KEY("after", ss_error_stat_json(&c->after)), SS_KEY("props", props),
           SS_KEY("rows", SS_LIST(row_object, c->rows, c->nrows)), SS_KEY("rows_skipped", c->nskipped),
           SS_KEY_IF(c->leave_out[0], "leave_out", leave_out_object(c)), SS_SAME(c, evaluations),
           SS_KEY("notes", ss_json_notes(&c->notes)));
    return ss_json_write(o, out, err);
}

/* ---- files ---- */

int ss_calibration_write_platform(const struct ss_calibration *c, const char *platform, FILE *out,
                                  struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p;
    char text[64];
    int rc = SS_OK;

    SS_TRY(ss_platform_load(platform, &options, &p, err));
    for (int i = 0; i < c->nprops && !rc; i++)
        if (!c->props[i].of_stack && is_new(&c->props[i]))
            rc = ss_platform_set(p, c->props[i].id,
                                 ss_study_prop_text(c->props[i].id, c->props[i].after, text, sizeof text),
                                 err);
    SS_THEN(rc, ss_platform_write(p, out, err));
    ss_platform_free(p);
    return rc;
}

/* Returns 1 if the stack has a value of its own for this card. */
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
    int rc = SS_OK;

    SS_TRY(ss_platform_load(platform, &options, &p, err));
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
