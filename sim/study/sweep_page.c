/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a sweep as a page that needs nothing but a browser: the answer, the picture, the table, the
 * words. */
#include "report/common.h"
#include "report/page.h"
#include "report/text.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

static void answer(const void *sweep, FILE *out)
{
    ss_sweep_answer(sweep, out);
}

static void table_head(const struct ss_sweep *s, int priced, int causal, FILE *out)
{
    fputs("<div class=\"wide\"><table>\n<thead><tr>", out);
    for (int f = 0; f < s->nflags; f++)
        ss_page_text(out, "<th scope=\"col\">", s->flags[f].name, "</th>");
    fputs("<th scope=\"col\">GPUs</th><th scope=\"col\">iteration</th><th scope=\"col\">&#177; %</th>"
          "<th scope=\"col\">MFU %</th>",
          out);
    fputs(causal ? "<th scope=\"col\">causal %</th>" : "", out);
    fputs("<th scope=\"col\">tokens/s/GPU</th><th scope=\"col\">bubble %</th><th scope=\"col\">GiB</th>",
          out);
    fprintf(out, "%s<th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n",
            priced ? "<th scope=\"col\">USD</th>" : "");
}

static void table_row(const struct ss_sweep *s, const struct ss_sweep_row *row, int priced, int causal,
                      FILE *out)
{
    const struct ss_summary *u = &row->summary;
    char time[32];

    fputs("<tr>", out);
    for (int f = 0; f < s->nflags; f++)
        ss_page_text(out, "<td>", s->flags[f].value[row->at[f]], "</td>");
    if (u->outcome == SS_OUTCOME_REFUSED) {
        fprintf(out, "<td colspan=\"%d\"></td>", 7 + priced + causal);
    } else {
        fprintf(out, "<td>%.0f</td><td>%s</td><td>", u->gpus,
                ss_text_time(u->iteration_s, time, sizeof time));
        fputs(ss_text_band(u, time), out);
        fprintf(out, "</td><td>%.1f</td>", 100 * u->mfu);
        if (causal)
            fprintf(out, "<td>%.1f</td>", 100 * ss_text_causal_mfu(u));
        fprintf(out, "<td>%.1f</td><td>%.1f</td><td>%.1f</td>", u->tokens_per_s_per_gpu,
                100 * u->bubble_fraction, u->peak_device / SS_GIB);
        if (priced)
            fprintf(out, "<td>%.3f</td>", u->usd_per_iteration);
    }
    ss_page_text(out, "<td>", ss_outcome_word(u->outcome), u->reason[0] ? ": " : "");
    ss_page_text(out, "", u->reason, "</td></tr>\n");
}

static void words(const struct ss_request *base, FILE *out)
{
    char text[4096];

    fputs("</section>\n<section id=\"job\">\n<h2>The job</h2>\n<p>Words that all combinations have; those of "
          "the table "
          "stand behind them.</p>\n",
          out);
    ss_page_text(out, "<pre style=\"white-space:pre-wrap\">", ss_request_text(base, 0, text, sizeof text),
                 "</pre>\n");
    fprintf(out, "<p class=\"hint\">stepsim %s</p>\n", SS_VERSION);
}

int ss_sweep_write_page(const struct ss_sweep *s, const struct ss_request *base, double width, FILE *out,
                        struct ss_error *err)
{
    int priced = ss_sweep_is_priced(s), causal = ss_sweep_is_causal(s);

    ss_page_open(out, "A sweep");
    fputs("<section id=\"answer\">\n<h1>A sweep</h1>\n", out);
    SS_NEED(!ss_page_paragraphs(answer, s, out), err);
    fputs("</section>\n<section id=\"picture\">\n<h2>Side by side</h2>\n<div class=\"wide\">\n", out);
    int rc = ss_sweep_write_svg(s, width, out, err);
    fputs("</div>\n</section>\n<section id=\"table\">\n<h2>All figures that decide</h2>\n", out);
    table_head(s, priced, causal, out);
    for (int i = 0; i < ss_sweep_shown(s); i++)
        table_row(s, &s->rows[i], priced, causal, out);
    fputs("</tbody>\n</table></div>\n", out);
    words(base, out);
    fputs("</section>\n", out);
    ss_page_close(out);
    return rc ? rc : ss_report_done(out, err);
}
