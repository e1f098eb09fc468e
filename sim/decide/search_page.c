/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a search as a page that needs nothing but a browser: the best of each group, picture, front, what is too close to call, and what the text says. */
#include "decide/search_internal.h"
#include "report/common.h"
#include "report/page.h"
#include "report/text.h"

#define TEXT_WIDTH 110 /* columns of the text */
#define TEXT_TOP 5     /* layouts that the text has of each group */

/* Writes the fastest layout of a group that surely fits, with its flags. */
static void put_best(const struct ss_find_result *f, int g, FILE *out)
{
    const struct ss_find_group *group = &f->groups[g];
    char time[32], band[32], words[sizeof group->flags];

    fprintf(out, "<h3>%d node%s", group->nodes, ss_plural(group->nodes));
    if (ss_find_group_words(group, words, sizeof words)[0])
        ss_page_text(out, ", ", words, "");
    fputs("</h3>\n", out);
    if (group->best < 0) {
        fprintf(out, "<p>None of %lld layouts surely fits.</p>\n",
                (long long)(group->layouts - group->refused));
        return;
    }
    const struct ss_find_point *p = &f->points[group->best];
    fprintf(out, "<p><b>%s%s</b>, MFU %.1f %%, %.1f GiB; %d other%s too close to call</p>\n",
            ss_text_time(p->summary.iteration_s, time, sizeof time), ss_text_band(&p->summary, band),
            100 * p->summary.mfu, p->summary.peak_device / SS_GIB, group->like_best,
            ss_plural(group->like_best));
    ss_page_text(out, "<pre style=\"white-space:pre-wrap\">", p->flags[0] ? p->flags : "the job as it is",
                 "</pre>\n");
}

/* Writes the layouts that trade time for memory, and those too close to the best to call. */
static void put_table(const struct ss_find_result *f, FILE *out)
{
    static const char *const heads[] = {"nodes", "GPUs",  "layout", "iteration", "MFU %",
                                        "GiB",   "front", "best",   "verdict"};
    char layout[200], time[32];

    fputs("<div class=\"wide\"><table>\n<thead><tr>", out);
    for (size_t i = 0; i < SS_ARRAY_LEN(heads); i++)
        ss_page_text(out, "<th scope=\"col\">", heads[i], "</th>");
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int i = 0; i < f->npoints; i++) {
        const struct ss_find_point *p = &f->points[i];
        const struct ss_find_group *g = &f->groups[p->group];
        if (!p->front && !p->like_best && i != g->best && i != g->near)
            continue;
        fprintf(out, "<tr><td>%d</td><td>%d</td>", g->nodes, g->gpus);
        ss_page_text(out, "<td>", ss_find_layout(p, layout, sizeof layout), "</td>");
        fprintf(out, "<td>%s</td><td>%.1f</td><td>%.1f</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                ss_text_time(p->summary.iteration_s, time, sizeof time), 100 * p->summary.mfu,
                p->summary.peak_device / SS_GIB, p->front ? "yes" : "",
                i == g->best   ? "the best"
                : p->like_best ? "too close to call"
                               : "",
                ss_outcome_word(p->summary.outcome));
    }
    fputs("</tbody>\n</table></div>\n", out);
}

static int put_text(const struct ss_find_result *f, FILE *out, struct ss_error *err)
{
    const struct ss_display view = {.width = TEXT_WIDTH};
    char *text = NULL;
    size_t n;
    FILE *words = open_memstream(&text, &n);

    SS_NEED(words, err);
    int rc = ss_find_write(f, &view, TEXT_TOP, words, err);
    if (fclose(words) && !rc)
        rc = ss_nomem(err);
    if (!rc)
        ss_page_text(out, "<div class=\"wide\"><pre>", text, "</pre></div>\n");
    free(text);
    return rc;
}

int ss_find_write_page(const struct ss_find_result *f, double width, FILE *out, struct ss_error *err)
{
    ss_page_open(out, "A search of layouts");
    fputs("<section id=\"answer\">\n<h1>The fastest layouts</h1>\n", out);
    if (f->premises[0])
        ss_page_text(out, "<p>", f->premises, "</p>\n");
    for (int g = 0; g < f->ngroups; g++)
        put_best(f, g, out);
    fputs("</section>\n<section id=\"picture\">\n<h2>Memory over time</h2>\n<div class=\"wide\">\n", out);
    int rc = ss_find_write_svg(f, width, out, err);
    fputs("</div>\n</section>\n<section id=\"text\">\n<h2>What was found</h2>\n", out);
    SS_THEN(rc, put_text(f, out, err));
    fputs("</section>\n<section id=\"table\">\n<h2>Layouts that trade time for memory, or are too close to "
          "call</h2>\n",
          out);
    put_table(f, out);
    fprintf(out, "<p class=\"hint\">stepsim %s</p>\n</section>\n", SS_VERSION);
    ss_page_close(out);
    return rc ? rc : ss_report_done(out, err);
}
