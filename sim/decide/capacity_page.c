/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a plan of capacity as a page that needs nothing but a browser: answers, picture, table, what was taken. */
#include "decide/capacity_internal.h"
#include "report/common.h"
#include "report/page.h"
#include "report/text.h"

static void answers(const void *plan, FILE *out)
{
    ss_capacity_answers(plan, out);
    ss_capacity_premises(plan, out);
}

/* What a paragraph of one platform is made of. */
struct taken {
    const struct ss_capacity *plan;
    int cluster;
};

static void inputs(const void *what, FILE *out)
{
    const struct taken *t = what;

    ss_capacity_inputs(t->plan, t->cluster, out);
}

static void put_number(FILE *out, double value, const char *form)
{
    char text[32] = "-";

    if (!isnan(value))
        snprintf(text, sizeof text, form, value);
    ss_page_text(out, "<td>", text, "</td>");
}

static int put_row(const struct ss_capacity *c, int i, FILE *out)
{
    const struct ss_capacity_point *p = &c->points[i];
    char time[32], *verdict = NULL;
    size_t size;
    FILE *words = open_memstream(&verdict, &size);

    if (!words)
        return SS_ERR_NOMEM;
    ss_capacity_verdict(c, i, words);
    fclose(words);
    ss_page_text(out, "<tr><td>", c->clusters[p->cluster].platform, "</td>");
    fprintf(out, "<td>%d</td><td>%d</td>", p->nodes, p->gpus);
    if (p->summary.iteration_s > 0) {
        ss_page_text(out, "<td>", p->layout, "</td>");
        fprintf(out, "<td>%d</td><td>%s</td>", p->batch,
                ss_text_time(p->summary.iteration_s, time, sizeof time));
        put_number(out, p->gpu_hours.value / 1000, "%.0f");
        put_number(out, p->time_s.value / 86400, "%.1f");
        put_number(out, p->time_s.low / 86400, "%.1f");
        put_number(out, p->time_s.high / 86400, "%.1f");
        put_number(out, 100 * p->goodput, "%.1f");
        put_number(out, p->energy_j.value / 3.6e9, "%.0f");
        put_number(out, p->usd.value / 1e6, "%.2f");
        ss_page_text(out, "<td>", verdict, "</td></tr>\n");
    } else {
        fputs("<td colspan=\"10\"></td>", out);
        ss_page_text(out, "<td>", verdict, ": ");
        ss_page_text(out, "", p->summary.reason, "</td></tr>\n");
    }
    free(verdict);
    return SS_OK;
}

static int put_table(const struct ss_capacity *c, FILE *out)
{
    static const char *const heads[] =
        SS_VALUES("platform", "nodes", "GPUs", "layout", "batch", "iteration", "thousand GPU-hours", "days",
                  "from", "to (90 % of jobs)", "goodput %", "MWh", "million USD", "verdict");
    int rc = SS_OK;

    fputs("<div class=\"wide\"><table>\n<thead><tr>", out);
    for (size_t i = 0; i < SS_ARRAY_LEN(heads); i++)
        ss_page_text(out, "<th scope=\"col\">", heads[i], "</th>");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < c->npoints && !rc; i++)
        rc = put_row(c, i, out);
    fputs("</tbody>\n</table></div>\n", out);
    return rc;
}

/* Tells of each platform the words of its answer, and what it was taken to be. */
static int put_platforms(const struct ss_capacity *c, FILE *out)
{
    int rc = SS_OK;

    for (int k = 0; k < c->nclusters && !rc; k++) {
        const struct ss_capacity_cluster *at = &c->clusters[k];
        const struct taken t = {c, k};
        ss_page_text(out, "<h3>", at->platform, "</h3>\n");
        if (at->chosen >= 0)
            ss_page_text(out, "<pre style=\"white-space:pre-wrap\">", c->points[at->chosen].flags,
                         "</pre>\n");
        rc = ss_page_paragraphs(inputs, &t, out);
    }
    return rc;
}

int ss_capacity_write_page(const struct ss_capacity *c, double width, FILE *out, struct ss_error *err)
{
    char tokens[32];

    ss_page_open(out, "A plan of capacity");
    ss_page_text(out, "<section id=\"answer\">\n<h1>", c->model, ", ");
    fprintf(out, "%s tokens</h1>\n", ss_report_count(c->tokens, tokens, sizeof tokens));
    int rc = ss_page_paragraphs(answers, c, out);
    fputs("</section>\n<section id=\"picture\">\n<h2>Days and cost over nodes</h2>\n<div class=\"wide\">\n",
          out);
    if (!rc)
        rc = ss_capacity_write_svg(c, width, out, err);
    fputs("</div>\n</section>\n<section id=\"table\">\n<h2>Numbers of nodes</h2>\n", out);
    rc = rc ? rc : put_table(c, out);
    fputs("</section>\n<section id=\"taken\">\n<h2>The answers, and what was taken</h2>\n", out);
    rc = rc ? rc : put_platforms(c, out);
    fprintf(out, "<p class=\"hint\">stepsim %s</p>\n</section>\n", SS_VERSION);
    ss_page_close(out);
    if (rc == SS_ERR_NOMEM)
        return ss_nomem(err);
    return rc ? rc : ss_report_done(out, err);
}
