/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as one page that needs nothing but a browser: the answer, the picture, the table, the words. */
#include "base/base.h"
#include "report/common.h"
#include "report/page.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

static void answer(const void *sweep, FILE *out)
{
    ss_sweep_answer(sweep, out);
}

static void words(const struct ss_request *base, FILE *out)
{
    char text[4096];

    fputs("</section>\n<section id=\"job\">\n<h2>The job</h2>\n<p>Words that all combinations have; those of "
          "the table "
          "stand behind them.</p>\n",
          out);
    ss_markup(out, "<pre style=\"white-space:pre-wrap\">%s</pre>\n",
              ss_request_text(base, 0, text, sizeof text));
    fprintf(out, "<p class=\"hint\">stepsim %s</p>\n", SS_VERSION);
}

int ss_sweep_write_page(const struct ss_sweep *s, const struct ss_request *base, FILE *out,
                        struct ss_error *err)
{
    ss_page_open(out, "A sweep");
    fputs("<section id=\"answer\">\n<h1>A sweep</h1>\n", out);
    if (ss_page_paragraphs(answer, s, out))
        return ss_nomem(err);
    fputs("</section>\n<section id=\"picture\">\n<h2>Side by side</h2>\n<div class=\"wide\">\n", out);
    int rc = ss_sweep_write_svg(s, out, err);
    fputs("</div>\n</section>\n<section id=\"table\">\n<h2>All figures that decide</h2>\n", out);
    ss_sweep_table(s, true, out);
    words(base, out);
    fputs("</section>\n", out);
    ss_page_close(out);
    return rc ? rc : ss_report_done(out, err);
}
